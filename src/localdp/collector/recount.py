"""Count all stored uploads again, and compare with the aggregates: what must be equal at every moment."""

from __future__ import annotations

import numpy as np

from localdp.collector.storage import Database, aggregates, plans, uploads
from localdp.collector.storage.database import AGGREGATE, BATCH
from localdp.plan import Aggregate, Plan, Reports

_ALL_DAYS = (-(2**40), 2**40)


def counted_again(database: Database, stored: plans.StoredPlan) -> dict[int, Aggregate]:
    """The aggregate of each day of a plan, from the uploads themselves; all of them must still have their bodies."""
    plan = Plan.from_json(stored.document)
    found: dict[int, Aggregate] = {}
    for kind in (BATCH, AGGREGATE):
        for piece in uploads.stored(database, stored.id, _ALL_DAYS, kind):
            for day, _, body in piece:
                if body is None:
                    raise ValueError("the bodies of some uploads were dropped, so they cannot be counted again")
                part = plan.aggregate(reports_in(body, plan)) if kind == BATCH else Aggregate.from_bytes(body)
                found.setdefault(day, Aggregate(plan)).merge(part, repeated=True)
    return found


def differences(database: Database) -> list[str]:
    """One sentence for each plan and day whose aggregate is not what its uploads give. All must be counted."""
    with database.reading() as session:
        every = [plans.find(session, fingerprint) for _, fingerprint, _ in plans.every(session)]
    wrong = []
    for stored in every:
        if stored is None or stored.discovery is not None:  # a round of a discovery is counted when it ends
            continue
        again = counted_again(database, stored)
        with database.reading() as session:
            days = aggregates.days(session, stored.id)
            size = Plan.from_json(stored.document).domain.size
            for day in days:
                n, counts = aggregates.merged(session, stored.id, [day], size)
                expected = again.pop(day.day, None)
                if expected is None or expected.n != n or not np.array_equal(expected.counts, counts):
                    wrong.append(f"plan {stored.fingerprint[:16]}, day {day.day}: {n} counted, and others are stored")
        wrong += [f"plan {stored.fingerprint[:16]}, day {day}: {one.n} are not counted" for day, one in again.items()]
    return wrong


def reports_in(body: bytes, plan: Plan) -> Reports:
    """The reports of a stored upload, which are its rows one after the other. Every report is checked once more."""
    return Reports(plan, np.frombuffer(body, np.uint8).reshape(-1, plan.mechanism.report_bytes))
