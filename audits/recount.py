"""Count all stored uploads again, and compare with the aggregates: what must be equal at every moment."""

from __future__ import annotations

import numpy as np

from localdp.collector.checking import stored_reports
from localdp.collector.collections import ALL_DAYS
from localdp.collector.storage import Database, aggregates, parts, uploads
from localdp.collector.storage.database import AGGREGATE, BATCH, Where
from localdp.collector.storage.parts import StoredPart
from localdp.plan import Aggregate, Plan


def counted_again(database: Database, part: StoredPart) -> dict[tuple[str, int, int], Aggregate]:
    """The aggregate of each segment, day and standing of a part, from the uploads themselves, which must be there."""
    plan = Plan.from_json(part.plan)
    found: dict[tuple[str, int, int], Aggregate] = {}
    for kind in (BATCH, AGGREGATE):
        for piece in uploads.stored(database, part.collection, part.key, ALL_DAYS, kind):
            for one in piece:
                if one.body is None:
                    raise ValueError("the bodies of some uploads were dropped, so they cannot be counted again")
                counted = (
                    plan.aggregate(stored_reports(one.body, plan)) if kind == BATCH else Aggregate.from_bytes(one.body)
                )
                key = (one.segment, one.day, one.standing)
                found.setdefault(key, Aggregate(plan)).merge(counted, repeated=True)
    return found


def differences(database: Database) -> list[str]:
    """One sentence for each part and day whose aggregate is not what its uploads give. All must be counted."""
    with database.reading() as session:
        every = [parts.find(session, fingerprint) for _, _, fingerprint, *_ in parts.every(session)]
    wrong = []
    for part in every:
        if part is None or part.needed:  # a round is counted when it ends
            continue
        again = counted_again(database, part)
        size = Plan.from_json(part.plan).mechanism.outcomes
        name = f"part {part.fingerprint[:16]}"
        with database.reading() as session:
            where = Where(part.collection, part.key)
            rows = aggregates.days(session, where)
            for key in sorted({(row.segment, row.day, row.standing) for row in rows}):
                both = [row for row in rows if (row.segment, row.day, row.standing) == key]
                n, counts = aggregates.merged(session, where, both, size)
                expected = again.pop(key, Aggregate(Plan.from_json(part.plan)))
                if expected.n != n or not np.array_equal(expected.counts, counts):
                    wrong.append(f"{name}, day {key[1]}: {n} counted, and others are stored")
        wrong += [f"{name}, day {day}: {one.n} are not counted" for (_, day, _), one in again.items()]
    return wrong
