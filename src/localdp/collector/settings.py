"""What an operator can set, and the limits that hold without being set."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Settings:
    """The limits of one collector process. Times are in seconds, sizes in bytes."""

    database: str = "localdp.db"
    most_body: int = 8 * MEBIBYTE
    """The longest body of a request."""
    most_reports: int = 100_000
    """Reports in one upload to a plan that needs no token: so that a stranger cannot send millions in one request."""
    most_waiting: int = 20_000
    """Uploads that wait for the writer; more are answered with 429."""
    most_memory: int = 256 * MEBIBYTE
    """What all bodies that are being read or wait for the writer take together; more are answered with 429."""
    most_connections: int = 4_000
    """Open connections; more are answered with 503."""
    request_time: float = 30.0
    """A request that takes longer to arrive is answered with 408, and its connection is closed."""
    rate: float = 0.0
    """Requests a second for each address, with bursts of ten times as many; 0 means no limit."""
    most_items: int = 10_000_000
    """Items of a plan that may be created here."""
    fold_every: float = 0.5
    """The pause between two rounds of counting, if little is waiting."""
    keep_days: int | None = None
    """Days after which the bodies of counted uploads are dropped; None keeps them."""
    answer_time: float = 2.0
    """How long an analyst's request waits for uploads that are not counted yet."""
    threads: int = 4
    """Threads that answer analysts."""
