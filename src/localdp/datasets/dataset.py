"""True frequencies for experiments, with their name and origin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """The frequency of every item, most frequent first. `note` says where the data come from.

    >>> Dataset("tiny", np.array([5, 2, 1]), "made up").n
    8
    """

    name: str
    frequencies: NDArray[np.int64]
    note: str
    is_surrogate: bool = False

    @property
    def label(self) -> str:
        """The name for figures and tables; it says if the data are a surrogate."""
        return f"{self.name} (surrogate)" if self.is_surrogate else self.name

    @property
    def n(self) -> int:
        """The number of users."""
        return int(self.frequencies.sum())

    @property
    def d(self) -> int:
        """The number of items."""
        return self.frequencies.size

    def __repr__(self) -> str:
        return f"<{self.name}: {self.d} items, {self.n} users>"
