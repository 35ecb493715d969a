"""Formats of what is sent and saved: reports, batches, aggregates, canonical JSON. Plans are not known here."""
