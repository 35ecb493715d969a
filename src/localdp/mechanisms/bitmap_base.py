"""The base class of mechanisms that report a bitmap, one bit for each item: unary encoding and subset selection."""

from __future__ import annotations

from localdp.formats import bitstrings
from localdp.kernels.counting import count_bits
from localdp.mechanisms.pure import PureMechanism
from localdp.types import Counts, Flags, Rows


class BitmapMechanism(PureMechanism):
    """A report has one bit for each item, and supports the items that have their bit set."""

    @property
    def report_bits(self) -> int:
        return self.size

    def supports(self, rows: Rows, item: int) -> Flags:
        return bitstrings.bit(rows, item)

    def count(self, rows: Rows) -> Counts:
        return count_bits(rows, self.size)
