r"""The list of values that were found, and everybody else.

The list holds at most k values: those with the largest chances p_1, p_2, .. to belong to the true top k, as many as
give the largest expected F-score, which for m of them is 2 (p_1 + .. + p_m) / (m + k), and no more than keep the
expected precision, the mean of p_1 .. p_m, at `PRECISE` or above (`ALONE` for a single value). A value is listed only
if it is held with probability `HELD`: if its share is not just that of the noise.

**Everybody else.** Who holds none of the values in the list, and no value with one of its beginnings, is *other*. The
shares in the list are estimated with errors that hardly depend on each other, so the variance of their sum, and of the
share of the others, is the sum of their variances.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from localdp.calibrate.base import Quantity
from localdp.discovery.posteriors import NOTHING, Posterior
from localdp.result import Result
from localdp.table import Table
from localdp.types import Places, Vector
from localdp.validation import checked_level

HELD = 0.5
"""How probable it must be that somebody holds a value that is listed."""
PRECISE, ALONE = 0.92, 0.75
"""The smallest expected precision of a list, and of a list with one value."""
WHOLE, BEGINNING, OTHER = "value", "beginning", "other"
"""What a row of the table is about."""


def listed(chances: Vector, held: Vector, means: Vector, k: int) -> Places:
    """The places of the values that are listed, the largest mean first; `held` says how surely anybody holds them."""
    likeliest = np.lexsort((-means, -chances))[:k]
    likeliest = likeliest[held[likeliest] >= HELD]
    count = np.arange(1, likeliest.size + 1)
    hits = np.cumsum(chances[likeliest])
    precise = hits >= np.where(count == 1, ALONE, PRECISE * count)
    scores = np.where(precise, hits / (count + k), 0.0)
    chosen = likeliest[: int(np.argmax(scores)) + 1] if precise.any() else likeliest[:0]
    return chosen[np.argsort(-means[chosen], kind="stable")]


@dataclass(frozen=True, eq=False, repr=False)
class Found(Result):
    """The values that were found, the most frequent first. It prints as a table and iterates over the values.

    `frequencies` are numbers of users among all n, `probabilities` the chances to belong to the true top k.
    `interval(level)` gives (low, high): the true frequency lies between them with this probability. `beginnings` are
    texts with which values begin that were too long to be found whole; more users may begin so than are counted, since
    a part of the next letter is known, too. `other()` is how many users hold none of all these. `notes` says what else
    there is to know.
    """

    items: list[str | int]
    frequencies: Vector
    probabilities: Vector
    n: int
    epsilon: float
    notes: tuple[str, ...] = ()
    posterior: Posterior = field(kw_only=True)
    beginnings: tuple[str, ...] = ()
    of_beginnings: Posterior = field(kw_only=True, default=NOTHING)

    def interval(self, level: float = 0.9) -> tuple[Vector, Vector]:
        """For every value, the range (low, high) that contains the true frequency with this probability."""
        return self._interval(self.posterior, level)

    def other(self, level: float = 0.9) -> Quantity:
        """How many users hold neither a value of the list nor one with a beginning of the list."""
        parts = (self.posterior, self.of_beginnings)
        share = 1 - sum(float(part.means.sum()) for part in parts)
        deviation = sum(float(part.variances.sum()) for part in parts) ** 0.5
        reach = NormalDist().inv_cdf((1 + checked_level(level)) / 2) * deviation
        value, low, high = (min(max(x, 0.0), 1.0) * self.n for x in (share, share - reach, share + reach))
        return Quantity(value, low, high, level)

    def table(self, level: float = 0.9) -> Table:
        """Values, beginnings and others: frequencies, intervals of 90%, and chances to belong to the true top."""
        low, high = self.interval(level)
        from_low, to_high = self._interval(self.of_beginnings, level)
        other = self.other(level)
        frequencies = np.concatenate([self.frequencies, self.of_beginnings.means * self.n, [other.value]])
        begun = len(self.beginnings)
        columns = {
            "item": [*self.items, *self.beginnings, OTHER],
            "frequency": frequencies,
            "share": frequencies / self.n,
            "low": np.concatenate([low, from_low, [other.low]]),
            "high": np.concatenate([high, to_high, [other.high]]),
            "probability": np.concatenate([self.probabilities, np.full(begun + 1, np.nan)]),
            "kind": [WHOLE] * len(self) + [BEGINNING] * begun + [OTHER],
        }
        count = f"{len(self):,} value{'' if len(self) == 1 else 's'}"
        title = f"{count} found among {self.n:,} users, epsilon {self.epsilon:.6g}, intervals of {level:.0%}"
        return Table(columns, title, {"share": ".2%", "probability": ".3f"})

    def _interval(self, posterior: Posterior, level: float) -> tuple[Vector, Vector]:
        outside = (1 - checked_level(level)) / 2
        return posterior.quantiles(outside) * self.n, posterior.quantiles(1 - outside) * self.n

    def __str__(self) -> str:
        return "\n".join([str(self.table()), *self.notes])
