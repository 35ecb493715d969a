"""Subset selection (`ss`): a report is a set of exactly k items; sets with the held item are likelier than others."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np

from localdp.formats import bitstrings
from localdp.kernels.subsets import draw_subsets
from localdp.mechanisms.channel import Channel
from localdp.mechanisms.laws import require_weight
from localdp.mechanisms.pure import BitmapMechanism, require_sum
from localdp.mechanisms.report_classes import Shuffled, two_levels
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Indices, Rows


class SubsetSelection(BitmapMechanism):
    """Report k = round(d/(e^eps + 1)) items; the held item is one of them with probability k e^eps/(k e^eps + d - k).

    Ye & Barg, ISIT 2017, and Wang et al., 2016. Where d/(e^eps + 1) is whole, no mechanism here has less variance. The
    rest of the set is drawn uniformly from the other items. The report is a bitmap of the domain with k bits set.

    >>> mechanism = SubsetSelection(size=11, epsilon=1.0)
    >>> mechanism.subset, round(mechanism.p_star, 6), mechanism.report_bits
    (3, 0.504793, 11)
    """

    name = "ss"

    def configure(self) -> None:
        e = thresholds.exp_below(self.requested_epsilon)
        self.subset = max(1, math.floor(self.size / (e + 1) + Fraction(1, 2)))
        self.keep = thresholds.rounded_down(self.subset * e / (self.subset * e + self.size - self.subset), self.width)

    @property
    def p(self) -> Fraction:
        return Fraction(self.keep, 2**self.width)

    @property
    def q(self) -> Fraction:
        return (self.subset - self.p) / (self.size - 1)

    @property
    def ratio(self) -> Fraction:
        return self.p / (1 - self.p) * (self.size - self.subset) / self.subset

    @property
    def rounds(self) -> int:
        return self.subset

    def parameters(self) -> dict[str, int | str]:
        return {"subset": self.subset, "keep": str(self.keep)}

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        return draw_subsets(source, values, self.size, self.subset, self.keep)

    @property
    def most_supported(self) -> int:
        return self.subset

    def validate(self, rows: Rows) -> None:
        super().validate(rows)
        require_weight(rows, self.subset, "items")

    def validate_counts(self, counts: Counts, n: int) -> None:
        require_sum(counts, n * self.subset, f"since every report supports {self.subset} items")

    def shuffled(self) -> Shuffled:
        one, two, three = (
            Fraction(math.perm(self.subset, items), max(1, math.perm(self.size, items))) for items in (1, 2, 3)
        )
        return Shuffled.alike(two_levels(self.p, one, two, three if self.size > 2 else None))

    def channel(self) -> Channel:
        self._check_channel(math.comb(self.size, self.subset))
        subsets = list(combinations(range(self.size), self.subset))
        p, _ = self._exact_pair
        inside = p / math.comb(self.size - 1, self.subset - 1)
        outside = (1 - p) / math.comb(self.size - 1, self.subset)
        bitmaps = np.array([sum(1 << item for item in subset) for subset in subsets], np.uint64)
        rows = tuple(tuple(inside if value in subset else outside for subset in subsets) for value in range(self.size))
        return Channel(bitstrings.from_integers(bitmaps, self.size), rows)
