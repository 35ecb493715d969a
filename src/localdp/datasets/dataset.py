"""True frequencies to try things on, with their name and where they come from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """The frequency of every item, most frequent first, and where it comes from."""

    name: str
    frequencies: NDArray[np.int64]
    note: str
    is_surrogate: bool = False

    @property
    def label(self) -> str:
        """The name as figures and tables show it; a surrogate is called one."""
        return f"{self.name} (surrogate)" if self.is_surrogate else self.name

    @property
    def n(self) -> int:
        """How many users there are."""
        return int(self.frequencies.sum())

    @property
    def d(self) -> int:
        """How many items there are."""
        return self.frequencies.size

    def __repr__(self) -> str:
        return f"<{self.name}: {self.d} items, {self.n} users>"
