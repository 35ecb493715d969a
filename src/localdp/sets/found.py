r"""What a survey of sets found: the most frequent items or itemsets, from the counts of its last group.

The last group are n_3 of all n users. The estimate of each candidate among them is divided by the share of the holdings
that they see (`sizes`), and scaled to all users:

    fhat = A fhat_3,   A = n / (n_3 seen),   Var = A^2 Var_3 + f (A excess_3 + n / n_3 - 1),

where the second part of the factor of f is the luck of who was drawn into the group. Then the estimates are calibrated.
The doubt about the division (`sizes`) is a relative error that large items have as well as small ones, and Calibrate
must not take it for noise that can be shrunk away. So it only makes intervals wider: by squares, on either side.

**What was lost before.** An item that an earlier round dropped cannot be listed, and may belong to the true top
nonetheless. The round that chose the candidates gives every item a chance to belong to the true top k; the candidates
hold the share `kept` of these chances. So a candidate belongs to the true top only if it is among the k * kept most
frequent candidates, and the list promises no more than that. Items that hardly belong there (`LEAST_CHANCE`) are not
listed, and nothing is if no candidate stands out of the noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtri

from localdp.domain import Domain
from localdp.estimate import Estimate
from localdp.estimate.calibrated import Calibrated
from localdp.hitters import top as top_k
from localdp.items import Item
from localdp.plan import Aggregate
from localdp.result import Result
from localdp.sets.candidates import Itemset
from localdp.table import Table
from localdp.types import Places, Vector
from localdp.validation import checked_level

LEAST_CHANCE = 0.25
"""Items with a smaller chance to belong to the true top are not listed."""

_NOTHING = 2.0  # deviations: a sum of all estimates below this is that of empty sets


@dataclass(frozen=True, eq=False, repr=False)
class FoundSets(Result):
    """The items or itemsets that the most users hold, the most frequent first.

    It prints as a table and iterates over the items or itemsets.

    `items` lists single items, or tuples of items where itemsets were asked for. `frequencies` are numbers of users
    among all n, `probabilities` the chances to belong to the true top. `interval(level)` gives (low, high).
    `calibrated` has the posterior of all candidates, which are numbered in the order of `candidates`. `seen` is the
    share of all holdings that the last group could report: estimates are divided by it, and `doubt` is the relative
    error of that.
    """

    items: list[Item] | list[tuple[Item, ...]]
    frequencies: Vector
    probabilities: Vector
    n: int
    epsilon: float
    set_size: int
    seen: float
    doubt: float
    candidates: list[Item] | list[tuple[Item, ...]] = field(repr=False)
    calibrated: Calibrated = field(repr=False)
    places: Places = field(repr=False)
    """The number of the candidate behind each item."""

    def interval(self, level: float = 0.9) -> tuple[Vector, Vector]:
        """For each item or itemset, the range (low, high) that contains the true frequency with this probability."""
        low, high = (ends[self.places] for ends in self.calibrated.interval(level))
        doubt = float(ndtri((1 + checked_level(level)) / 2)) * self.doubt * self.frequencies
        below, above = np.maximum(self.frequencies - low, 0), np.maximum(high - self.frequencies, 0)
        return (
            np.maximum(self.frequencies - np.hypot(below, doubt), 0),
            np.minimum(self.frequencies + np.hypot(above, doubt), self.n),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What else there is to know, in sentences."""
        larger = (
            f"The last group reported {self.seen:.0%} of what it holds, because some hold more than {self.set_size} "
            "candidates; the estimates are scaled up for that."
        )
        return (larger,) if self.seen < 0.99 else ()

    def table(self) -> Table:
        """Items or itemsets, frequencies, intervals of 90% and chances to belong to the true top, as a table."""
        low, high = self.interval()
        columns = {
            "items" if self._are_sets else "item": [_text(item) if self._are_sets else item for item in self.items],
            "frequency": self.frequencies,
            "share": self.frequencies / self.n,
            "low": low,
            "high": high,
            "probability": self.probabilities,
        }
        what = "itemsets" if self._are_sets else "items"
        title = f"the top {len(self.items)} {what} of {self.n:,} users, epsilon {self.epsilon:.6g}, intervals of 90%"
        return Table(columns, title, {"share": ".2%", "probability": ".3f"})

    @property
    def _are_sets(self) -> bool:
        return any(isinstance(item, tuple) for item in self.candidates)


def found(
    domain: Domain,
    candidates: tuple[Itemset, ...],
    aggregate: Aggregate,
    seen: float,
    doubt: float,
    users: int,
    top: int,
    kept: float = 1.0,
) -> FoundSets:
    """The result of a survey whose last group, of `users` in all, gave this aggregate.

    `kept` is the share of the true top that is expected to be among the candidates.
    """
    measured = aggregate.estimate()
    scale = users / (measured.n * seen)
    drawn = users / measured.n - 1
    estimate = Estimate(
        measured.frequencies * scale,
        n=users,
        variance=aggregate.plan.mechanism.variance(measured.n) * scale**2,
        excess_variance=measured.excess_variance * scale + drawn,
        total=None,
    )
    calibrated = estimate.calibrate()
    places, probabilities = _listed(estimate, calibrated, min(top, len(candidates)), kept)
    single = all(len(itemset) == 1 for itemset in candidates)
    named = [tuple(domain.items[item] for item in itemset) for itemset in candidates]
    listed: list[Item] | list[tuple[Item, ...]] = [itemset[0] for itemset in named] if single else named
    mechanism = aggregate.plan.mechanism
    return FoundSets(
        [listed[place] for place in places.tolist()],
        calibrated.frequencies[places],
        probabilities,
        users,
        mechanism.requested_epsilon,
        mechanism.options()["set_size"],
        seen,
        doubt,
        listed,
        calibrated,
        places,
    )


def _listed(estimate: Estimate, calibrated: Calibrated, top: int, kept: float) -> tuple[Places, Vector]:
    """The candidates to list, the most frequent first, and their chances to belong to the true top."""
    raw, error = estimate.frequencies, estimate.std_error
    if raw.max() < estimate.significance_threshold() and raw.sum() < _NOTHING * error * np.sqrt(raw.size):
        return np.zeros(0, np.intp), np.zeros(0)
    chances = top_chances(calibrated, max(1, round(top * kept)))
    order = np.lexsort((-chances, -calibrated.frequencies))[:top]
    places = order[chances[order] >= LEAST_CHANCE]
    return places, chances[places]


def top_chances(calibrated: Calibrated, k: int) -> Vector:
    """The chance of every item to be among the k most frequent of these."""
    above = top_k.entry(calibrated.frequencies, k, calibrated.probability_above)
    return top_k.top_probabilities(above, k, calibrated._quantiles_of)


def _text(itemset: object) -> str:
    """An itemset as people write it."""
    return " + ".join(map(str, itemset)) if isinstance(itemset, tuple) else str(itemset)
