"""What mechanisms whose report is a bitmap of the domain have in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localdp import bitstrings, kernels
from localdp.batches import Counts
from localdp.bitstrings import Rows
from localdp.mechanisms.base import Mechanism


class BitmapMechanism(Mechanism):
    """A report has a bit for every item, and supports the items whose bits are set."""

    @property
    def report_bits(self) -> int:
        return self.size

    def supports(self, rows: Rows, item: int) -> NDArray[np.bool_]:
        return bitstrings.bit(rows, item)

    def count(self, rows: Rows) -> Counts:
        return kernels.count_bits(rows, self.size)
