"""The table of aggregates: the counts of each plan and UTC day."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from localdp.collector.storage.database import Session
from localdp.types import Counts


@dataclass(frozen=True)
class Day:
    """A day of a plan, without its counts. The version changes whenever the counts do."""

    day: int
    n: int
    suspect: int
    version: int


def add(session: Session, plan: int, day: int, n: int, counts: Counts, suspect: int = 0) -> None:
    """Add counts to the aggregate of a day. `suspect` of the n reports look forged."""
    session.execute(
        "INSERT INTO aggregates (plan, day, n, suspect, version, counts) VALUES (?, ?, 0, 0, 0, ?) "
        "ON CONFLICT DO NOTHING",
        (plan, day, b""),
    )
    # First the number, which locks the row against other collectors, then what depends on it.
    session.change(
        "UPDATE aggregates SET n = n + ?, suspect = suspect + ?, version = version + 1 WHERE plan = ? AND day = ?",
        (n, suspect, plan, day),
    )
    total = _counts(session, plan, day, counts.size) + counts
    session.change(
        "UPDATE aggregates SET counts = ? WHERE plan = ? AND day = ?", (total.astype("<i8").tobytes(), plan, day)
    )


def days(session: Session, plan: int) -> list[Day]:
    """The days of a plan that have counts, in order."""
    rows = session.execute("SELECT day, n, suspect, version FROM aggregates WHERE plan = ? ORDER BY day", (plan,))
    return [Day(*row) for row in rows]


def merged(session: Session, plan: int, of: Iterable[Day], size: int) -> tuple[int, Counts]:
    """The number of users and the counts of these days together."""
    n, counts = 0, np.zeros(size, np.int64)
    for one in of:
        n += one.n
        counts += _counts(session, plan, one.day, size)
    return n, counts


def totals(session: Session) -> dict[int, int]:
    """The number of counted reports of every plan."""
    return {row[0]: int(row[1]) for row in session.execute("SELECT plan, SUM(n) FROM aggregates GROUP BY plan")}


def claim_sources(session: Session, plan: int, sources: Iterable[str]) -> bool:
    """Note what an imported aggregate was made from; False if something of it was counted before."""
    return all(
        session.change("INSERT INTO sources (plan, source) VALUES (?, ?) ON CONFLICT DO NOTHING", (plan, source))
        for source in sorted(sources)
    )


def _counts(session: Session, plan: int, day: int, size: int) -> Counts:
    ((data,),) = session.execute("SELECT counts FROM aggregates WHERE plan = ? AND day = ?", (plan, day))
    return np.frombuffer(bytes(data), "<i8").astype(np.int64) if data else np.zeros(size, np.int64)
