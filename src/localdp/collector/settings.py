"""What an operator can set, and the limits that hold without being set."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE, GIBIBYTE = 1 << 20, 1 << 30


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
    read_time: float = 30.0
    """A connection is cut when its reader is this late, and reads less than 16 KiB a second."""
    rate: float = 200.0
    """Requests a second for each address, with bursts of ten times as many; 0 means no limit.

    Every 64 KiB of a body count as one request more."""
    day_bytes: int = 4 * GIBIBYTE
    """Bytes of uploads that one plan takes on one day; 0 means no limit, as for the next two."""
    plan_bytes: int = 40 * GIBIBYTE
    """Bytes of uploads that are kept of one plan."""
    database_bytes: int = 200 * GIBIBYTE
    """Bytes of the whole database, beyond which it takes no more uploads."""
    most_items: int = 10_000_000
    """Items of a plan that may be created here."""
    most_pairs: int = 20_000
    """Items of a plan whose reports must each be compared with every item (`olh`, `blh`): counting takes so long."""
    fold_every: float = 0.5
    """The pause between two rounds of counting, if little is waiting."""
    publish_every: float = 60.0
    """The pause between two looks at what can be published for those who read by SQL; 0 publishes nothing."""
    keep_days: int | None = None
    """Days after which the bodies of counted uploads are dropped; None keeps them."""
    answer_time: float = 1.0
    """How long an analyst's request waits for uploads that are not counted yet."""
    longest_answer: float = 60.0
    """A question of an analyst that takes longer is stopped, and answered with 503."""
    threads: int = 6
    """Threads that answer analysts."""
