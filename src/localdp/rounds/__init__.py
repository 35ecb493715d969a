"""What surveys in several rounds share: who answers which round, and the state of a survey on the disk."""
