"""Checks of uploads: every report is checked before it is stored, and never again.

`Plan.read` checks a batch whole, which takes 15 to 40 microseconds even for a single report, because arrays are made
for it. So a binary batch is only measured when it comes in (`formats.batch.measured`), and its reports are checked by
the writer with all others of the group. Everything else is read by `Plan.read` at once, and its reports are checked
with the group like all others. Both ways refuse the same batches with the same codes. What is stored was checked, so
those who count it take it as it is (`stored_reports`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localdp.collector.collections import Collections
from localdp.collector.problems import Problem
from localdp.collector.storage.database import NewUpload
from localdp.errors import WireCode, WireError
from localdp.plan import Plan, Reports
from localdp.types import Rows

_BADLY_FORMED = frozenset(
    {
        WireCode.BAD_MAGIC,
        WireCode.TRUNCATED,
        WireCode.TRAILING_BYTES,
        WireCode.EMPTY_BATCH,
        WireCode.BAD_JSON,
        WireCode.BAD_BASE64,
    }
)


def read(plan: Plan, data: bytes) -> tuple[bytes, int]:
    """The rows of any batch and their number, all checked; a `Problem` with the code of what is wrong."""
    try:
        reports = plan.read(data)
    except WireError as error:
        raise refused(error) from None
    return reports.rows.tobytes(), len(reports)


def refused(error: WireError) -> Problem:
    """What the sender of a bad batch is told."""
    return Problem(400 if error.code in _BADLY_FORMED else 422, error.code.value, str(error))


def wrong_reports(collections: Collections, group: Sequence[NewUpload]) -> dict[int, Exception]:
    """What is wrong with uploads of a group, by their places.

    All reports of a plan are checked at once, and one by one only if some are bad.
    """
    places: dict[tuple[int, str], list[int]] = {}
    for place, upload in enumerate(group):
        places.setdefault((upload.collection, upload.part), []).append(place)
    wrong: dict[int, Exception] = {}
    for part, of_plan in places.items():
        plan = collections.by_part(*part).plan
        try:
            plan.mechanism.validate(_rows(b"".join([group[place].body for place in of_plan]), plan))
        except WireError:
            for place in of_plan:
                try:
                    plan.mechanism.validate(_rows(group[place].body, plan))
                except WireError as error:
                    wrong[place] = refused(error)
    return wrong


def stored_reports(body: bytes, plan: Plan) -> Reports:
    """The reports of a stored upload, which are its rows one after the other."""
    return Reports.of_checked_rows(plan, _rows(body, plan))


def _rows(body: bytes, plan: Plan) -> Rows:
    return np.frombuffer(body, np.uint8).reshape(-1, plan.mechanism.report_bytes)
