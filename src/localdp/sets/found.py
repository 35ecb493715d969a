r"""What a survey of sets found: the most frequent items or itemsets, from the counts of its last group.

The last group are n_3 of all n users. The estimate of each candidate among them is divided by the share of the holdings
that they see (`sizes`), and scaled to all users:

    fhat = A fhat_3,   A = n / (n_3 seen),
    Var = A^2 Var_3 + f (A excess_3 + (n / n_3) (1 - n_3 / n)) + (doubt f)^2,

where the second part of the factor of f is the luck of who was drawn into the group, and the last term is the doubt
about the division (`sizes`). In these two the estimate stands for f. Then the estimates are calibrated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from localdp.domain import Domain
from localdp.estimate import Estimate
from localdp.estimate.calibrated import Calibrated
from localdp.items import Item
from localdp.plan import Aggregate
from localdp.sets.candidates import Itemset
from localdp.table import Table
from localdp.types import Places, Vector


@dataclass(frozen=True, eq=False)
class FoundSets:
    """The items or itemsets that the most users hold, the most frequent first. It prints as a table.

    `items` lists single items, or tuples of items where itemsets were asked for. `frequencies` are numbers of users
    among all n, `probabilities` the chances to belong to the true top. `interval(level)` gives (low, high).
    `calibrated` has the posterior of all candidates, which are numbered in the order of `candidates`. `seen` is the
    share of all holdings that the last group could report: estimates are divided by it.
    """

    items: list[Item] | list[tuple[Item, ...]]
    frequencies: Vector
    probabilities: Vector
    n: int
    epsilon: float
    set_size: int
    seen: float
    candidates: list[Item] | list[tuple[Item, ...]] = field(repr=False)
    calibrated: Calibrated = field(repr=False)
    places: Places = field(repr=False)
    """The number of the candidate behind each item."""

    def interval(self, level: float = 0.9) -> tuple[Vector, Vector]:
        """For each item or itemset, the range (low, high) that contains the true frequency with this probability."""
        low, high = self.calibrated.interval(level)
        return low[self.places], high[self.places]

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

    def __len__(self) -> int:
        return len(self.items)

    def __str__(self) -> str:
        return str(self.table())

    def __repr__(self) -> str:
        return f"<FoundSets: {self.table().title}>"


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
    frequencies = measured.frequencies * scale
    held = np.clip(frequencies, 0, users)
    drawn = users / measured.n - 1
    noise = aggregate.plan.mechanism.variance(measured.n) * scale**2
    estimate = Estimate(
        frequencies,
        n=users,
        variance=noise + held * (measured.excess_variance * scale + drawn) + np.square(doubt * held),
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
        listed,
        calibrated,
        best.indices,
    )


def _text(itemset: object) -> str:
    """An itemset as people write it."""
    return " + ".join(map(str, itemset)) if isinstance(itemset, tuple) else str(itemset)
