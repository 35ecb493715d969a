"""Uploads taken back, or taken in: an administrator decides what is counted, exactly and reversibly.

An upload that was counted is either among the counts, or set aside because it looks forged, or taken back. To move it
from one to another, its reports are counted once more, taken away from the one aggregate and added to the other, in the
transaction that notes where it is. So the aggregates equal a recount of the uploads at every moment. What was dropped
by retention cannot be moved any more, because its reports are gone.
"""

from __future__ import annotations

from collections.abc import Sequence

from localdp.collector.checking import stored_reports
from localdp.collector.collections import Collection
from localdp.collector.problems import Problem
from localdp.collector.storage import Database, aggregates, uploads
from localdp.collector.storage.aggregates import COUNTED, SUSPECT, TAKEN_BACK
from localdp.collector.storage.database import AGGREGATE, FoldConflictError, Session, Where
from localdp.collector.storage.uploads import Listed
from localdp.collector.writer import Writer
from localdp.plan import Aggregate

NAMES = {COUNTED: "counted", SUSPECT: "suspect", TAKEN_BACK: "taken-back"}
"""What the standings are called."""


def take(database: Database, writer: Writer, collection: Collection, numbers: Sequence[int], standing: int) -> int:
    """Give uploads of a collection this standing, all or none; return how many had another one."""
    moved = []
    for number in numbers:
        with database.reading() as session:
            found = uploads.one(session, collection.where, number)
            body = None if found is None else uploads.body(session, number)
        if found is None:
            raise Problem(404, "no-such-upload", f"this plan has no upload {number}")
        if not found.folded:
            raise Problem(409, "not-counted", f"upload {number} is not counted yet: try again in a moment")
        if found.standing == standing:
            continue
        if body is None:
            raise Problem(409, "dropped", f"the reports of upload {number} are no longer kept, so it stays where it is")
        moved.append((found, _counted(collection, found, body)))
    if moved:
        writer.run(lambda session: _move(session, collection, moved, standing))
    return len(moved)


def _counted(collection: Collection, found: Listed, body: bytes) -> Aggregate:
    if found.kind == AGGREGATE:
        return Aggregate.from_bytes(body)
    return collection.plan.aggregate(stored_reports(body, collection.plan))


def _move(session: Session, collection: Collection, moved: list[tuple[Listed, Aggregate]], standing: int) -> None:
    if not session.try_lock(collection.id):
        raise FoldConflictError("another collector counts or releases these reports")
    for found, counted in moved:
        if not uploads.change_standing(session, found.seq, found.standing, standing):
            raise Problem(409, "moved", f"upload {found.seq} was moved by somebody else in the meantime")
        where = Where(collection.id, collection.part, found.segment)
        aggregates.add(session, where, found.day, -counted.n, -counted.counts, standing=found.standing)
        aggregates.add(session, where, found.day, counted.n, counted.counts, standing=standing)
