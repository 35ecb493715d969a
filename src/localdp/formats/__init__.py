"""The bytes of what is sent and saved: reports, batches, aggregates, canonical JSON."""
