"""What mechanisms whose report is a bitmap of the domain have in common."""

from __future__ import annotations

from localdp.formats import bitstrings
from localdp.kernels.counting import count_bits
from localdp.mechanisms.base import Mechanism
from localdp.types import Counts, Flags, Rows


class BitmapMechanism(Mechanism):
    """A report has a bit for every item, and supports the items whose bits are set."""

    @property
    def report_bits(self) -> int:
        return self.size

    def supports(self, rows: Rows, item: int) -> Flags:
        return bitstrings.bit(rows, item)

    def count(self, rows: Rows) -> Counts:
        return count_bits(rows, self.size)
