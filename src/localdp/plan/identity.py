"""What identifies a file of reports, so that nobody's reports are counted twice."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from localdp.plan.reports import Reports

if TYPE_CHECKING:
    from localdp.plan.plan import Plan


class Identity:
    """The SHA-256 of the plan's fingerprint and of all reports, in their order, in hex.

    It does not depend on the format of the file, nor on how the reports are divided into pieces. Very few reports may
    be the same by chance.

    >>> from localdp import Plan
    >>> plan = Plan(100, mechanism="oue", epsilon=1.0)
    >>> reports = plan.privatize([1, 2, 3])
    >>> whole, parts = Identity(plan), Identity(plan)
    >>> _ = whole.add(reports), parts.add(reports[:1]), parts.add(reports[1:])
    >>> str(whole) == str(parts)
    True
    """

    def __init__(self, plan: Plan) -> None:
        self._hash = hashlib.sha256(plan.fingerprint.encode())

    def add(self, reports: Reports) -> None:
        """Take in more reports."""
        self._hash.update(reports.rows.data if reports.rows.flags.c_contiguous else reports.rows.tobytes())

    def __str__(self) -> str:
        return self._hash.hexdigest()
