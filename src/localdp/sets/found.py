r"""What a survey of sets found: the most frequent items or itemsets, from the counts of its last group.

The last group are n_3 of all n users. The estimate of each candidate among them is divided by the share of the holdings
that they see (`sizes`), and scaled to all users:

    fhat = A fhat_3,   A = n / (n_3 seen),   Var = A^2 Var_3 + f (A excess_3 + n / n_3 - 1),

where the second part of the factor of f is the luck of who was drawn into the group. Then the estimates are calibrated.
The doubt about the division (`sizes`) is a relative error that large items have as well as small ones, and Calibrate
must not take it for noise that can be shrunk away. So it only makes intervals wider: by squares, on either side.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtri

from localdp.domain import Domain
from localdp.estimate import Estimate
from localdp.estimate.calibrated import Calibrated
from localdp.items import Item
from localdp.plan import Aggregate
from localdp.result import Result
from localdp.sets.candidates import Itemset
from localdp.table import Table
from localdp.types import Places, Vector
from localdp.validation import checked_level


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
) -> FoundSets:
    """The result of a survey whose last group, of `users` in all, gave this aggregate."""
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
    best = calibrated.top(min(top, len(candidates)))
    single = all(len(itemset) == 1 for itemset in candidates)
    named = [tuple(domain.items[item] for item in itemset) for itemset in candidates]
    listed: list[Item] | list[tuple[Item, ...]] = [itemset[0] for itemset in named] if single else named
    mechanism = aggregate.plan.mechanism
    return FoundSets(
        [listed[place] for place in best.indices.tolist()],
        best.frequencies,
        best.probabilities,
        users,
        mechanism.requested_epsilon,
        mechanism.options()["set_size"],
        seen,
        doubt,
        listed,
        calibrated,
        best.indices,
    )


def _text(itemset: object) -> str:
    """An itemset as people write it."""
    return " + ".join(map(str, itemset)) if isinstance(itemset, tuple) else str(itemset)
