"""Which round a device answers: drawn by the shares of the rounds, and by nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.randomness.keystream import Entropy
from localdp.types import Indices


@dataclass(frozen=True)
class Groups:
    """The shares of the groups as whole numbers; a device is in group g with probability shares[g] / total.

    The draw never sees a value, so the group says nothing about it. A user is in one group and answers its round only.

    >>> from localdp.randomness.keystream import seeded
    >>> Groups((3, 1)).draw(8, seeded(1)).tolist()
    [0, 0, 1, 0, 0, 1, 0, 0]
    """

    shares: tuple[int, ...]

    def draw(self, users: int, source: Entropy) -> Indices:
        """The group of each user."""
        limits = np.cumsum(self.shares)
        drawn = source.below(int(limits[-1]), users)
        return np.searchsorted(limits, drawn.astype(np.int64), side="right").astype(np.int64)
