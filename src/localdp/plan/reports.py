"""REPORT: what devices send, one row of bytes for each user, laid out as it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from localdp.errors import EmptyError, WireCode, WireError
from localdp.formats import batch
from localdp.frozen import Frozen
from localdp.types import Rows

if TYPE_CHECKING:
    from localdp.plan.plan import Plan


class Reports(Frozen):
    """Private reports of one plan: a matrix of bytes, one row for each user.

    `Plan.privatize` makes them and `Plan.read` reads them. Every row is checked when reports are made from bytes, and
    they cannot be changed afterwards. Slices such as `reports[10:20]` are reports too.

    >>> from localdp import Plan
    >>> plan = Plan(["tea", "coffee"], mechanism="grr", epsilon=1.0)
    >>> reports = plan.privatize(["tea", "tea", "coffee"], seed=1)
    >>> len(reports), len(reports[:2]), reports.rows.shape
    (3, 2, (3, 1))
    >>> reports.to_bytes()[:4]
    b'LDP1'
    """

    def __init__(self, plan: Plan, rows: Rows) -> None:
        rows = np.asarray(rows)
        shape = (len(rows) if rows.ndim else 0, plan.mechanism.report_bytes)
        if rows.dtype != np.uint8 or rows.shape != shape:
            raise WireError(
                WireCode.WRONG_LENGTH,
                f"reports under this plan are rows of {shape[1]} bytes, not {rows.dtype} {rows.shape}",
            )
        if rows.flags.writeable:
            rows = rows.copy()  # or what is checked here could be changed afterwards
        rows.setflags(write=False)
        plan.mechanism.validate(rows)
        self.plan = plan
        self.rows = rows
        self._freeze()

    @classmethod
    def of_checked_rows(cls, plan: Plan, rows: Rows) -> Reports:
        """Reports from rows that were made here or checked before: they are not checked again."""
        reports = object.__new__(cls)
        rows.setflags(write=False)
        reports.plan = plan
        reports.rows = rows
        reports._freeze()
        return reports

    def to_bytes(self) -> bytes:
        """The reports as a binary batch, which `Plan.read` reads."""
        self._check_not_empty()
        return batch.pack(self.plan.fingerprint, self.rows)

    def to_json(self) -> str:
        """The reports as a batch in JSON, for curl and other languages; `Plan.read` reads it too."""
        self._check_not_empty()
        return batch.pack_json(self.plan.fingerprint, self.rows)

    def _check_not_empty(self) -> None:
        if not len(self):
            raise EmptyError("a batch needs at least one report")

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, part: slice) -> Reports:
        if not isinstance(part, slice):
            raise TypeError("reports are taken by slices, such as reports[10:20]")
        return Reports.of_checked_rows(self.plan, self.rows[part])

    def __repr__(self) -> str:
        return f"<Reports of {len(self)} users under {self.plan!r}>"
