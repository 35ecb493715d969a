"""The collector: reports come in over HTTP, and estimates go out."""
