"""What any frequencies can answer, raw or calibrated: the heavy hitters, the top k, consistent frequencies.

`Estimate` and `Calibrated` are frequencies with their uncertainty: for every item, a distribution of its true
frequency. Post-processing (zeroing, projecting) changes the frequencies and leaves the uncertainty as it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from localdp.calibrate.base import Quantity
from localdp.domain import Domain
from localdp.errors import ImpureMechanismError, InvalidInputError
from localdp.estimate import projections
from localdp.estimate.groups import checked_groups, whole_numbers_within
from localdp.estimate.thresholds import BETA, exact_threshold, shared_threshold, significance_threshold
from localdp.hitters import HeavyHitters, top
from localdp.hitters.result import SHARE
from localdp.hitters.rules import RULES, best_f_score, within_discovery_rate
from localdp.items import Item
from localdp.table import ROWS_IN_NOTEBOOKS, Table, Tabular
from localdp.types import Places, Vector
from localdp.validation import checked_amount, checked_level, checked_limit, checked_threshold, shown

INTERVALS = 0.9
"""The level of intervals if none is given, and of the intervals in a list of hitters."""

DISCOVERIES = 0.1
"""The share of false discoveries that rule "fdr" allows unless another is given."""

_NAMED = "items named beforehand are items of the domain"
_NOTICEABLE = 0.05  # relative difference of the exact and the Gaussian threshold
_LEVELS_KEPT = 4  # levels of intervals that are remembered; each takes 160 MB at 10 million items


class Frequencies(Tabular, ABC):
    """Frequencies of the items of a domain among n users, with the uncertainty of each."""

    if TYPE_CHECKING:

        @property
        def frequencies(self) -> Vector: ...
        @property
        def n(self) -> int: ...
        @property
        def total(self) -> float | None: ...
        @property
        def probabilities(self) -> tuple[float, float] | None: ...
        @property
        def domain(self) -> Domain: ...
        @property
        def origin(self) -> Frequencies | None: ...
        @property
        def notes(self) -> tuple[str, ...]: ...

    @property
    @abstractmethod
    def std_error(self) -> float:
        """The standard deviation of the noise of an item that nobody holds."""

    @property
    def shares(self) -> Vector:
        """The frequency of every item divided by the number of users: from 0 to 1, up to noise."""
        return self.frequencies / self.n

    @property
    def std_errors(self) -> Vector:
        """The standard deviation of the noise of every item if nobody holds it."""
        return np.broadcast_to(self._deviations, self.domain.size)

    def interval(self, level: float = INTERVALS) -> tuple[Vector, Vector]:
        """For every item, a range of frequencies (low, high) that contains the true one with this probability.

        Of calibrated frequencies it is the shortest such range; that of raw estimates is a confidence interval, which
        uses no prior. The arrays are read-only: they are computed once for each level and shared.
        """
        return self._remembered_interval(checked_level(level))

    @abstractmethod
    def quantile(self, level: float) -> Vector:
        """For every item, the frequency that the true one does not exceed with this probability."""

    @abstractmethod
    def probability_above(self, threshold: float) -> Vector:
        """For every item, the probability that its true frequency is larger than the threshold."""

    @abstractmethod
    def _interval(self, level: float) -> tuple[Vector, Vector]:
        """Compute the intervals at this level."""

    @abstractmethod
    def _quantiles_of(self, items: Places, levels: Vector) -> Vector:
        """The quantile of each of these items at its own level; items ascend and may be repeated."""

    @abstractmethod
    def _group_sum(self, members: Places, level: float) -> Quantity:
        """The estimated sum of these items' frequencies, with its interval."""

    @abstractmethod
    def _processed(self, frequencies: Vector, step: str) -> Self:
        """A copy with other frequencies and the same uncertainty; `step` is the name of what was done."""

    def significance_threshold(self, beta: float = 0.05) -> float:
        """A limit for estimates: with probability 1 - beta, no item without holders has an estimate above it.

        It is Phi^-1(1 - beta/d) times the standard error (Wang et al., USENIX Security 2017, section 5.3). That assumes
        Gaussian noise. If the estimates are counts of so few reports that the exact limit differs by more than 5%, it
        is the exact one. If the noise differs by item, it is the limit for which the expected number of items without
        holders above it is beta; then the noisiest items determine it.
        """
        gaussian = shared_threshold(self._deviations, self.domain.size, beta)
        if self.probabilities is None:
            return gaussian
        exact = exact_threshold(self.n, *self.probabilities, self.domain.size, beta)
        return exact if abs(exact - gaussian) > _NOTICEABLE * gaussian else gaussian

    def zeroed(self, beta: float = 0.05) -> Self:
        """The paper's "-Zero" baseline: frequencies below the significance threshold are set to 0.

        If the noise differs by item, each item has a threshold of its own: Phi^-1(1 - beta/d) times its standard error.
        """
        kept = projections.base_cut(self.frequencies, self._own_thresholds(beta))
        return self._processed(kept, "zeroed")

    def project(self, method: str = "norm-sub") -> Self:
        """Frequencies made consistent: not negative, or adding up to n, or both (see `localdp.estimate.projections`).

        `method` is "norm-sub" (both: the nearest such frequencies), "norm-mul" (both, by scaling), "norm" (they add up
        to n), "base-pos" (none is negative), "base-cut" (what `zeroed` does) or "norm-cut" (the largest ones that
        together do not exceed n).
        """
        threshold = self._own_thresholds()
        return self._processed(projections.project(self.frequencies, method, self._sum_to_reach, threshold), method)

    def heavy_hitters(
        self, threshold: float | str = "significance", rule: str | None = None, *, fdr: float | None = None
    ) -> HeavyHitters:
        """The items that more than `threshold` users are estimated to hold.

        `threshold` is a number of users, a share of them such as "0.5%", or "significance" for the significance
        threshold. `rule` says how the items are chosen: "mean" names those with a frequency above the threshold (the
        paper's rule), "f1" those that maximise the expected F-score, and "fdr" as many as possible while the expected
        share of false ones stays within `fdr` (0.1 unless given). Giving `fdr` chooses the rule "fdr".
        """
        limit = self._threshold(threshold)
        chosen, level = _checked_rule(rule, fdr)
        probabilities = self.probability_above(limit)
        order = np.lexsort((-self.frequencies, -probabilities))
        if chosen == "mean":
            named = np.flatnonzero(self.frequencies > limit)
        elif chosen == "f1":
            named = order[: best_f_score(probabilities[order])[0]]
        else:
            named = order[: self._discoveries(probabilities[order], level)]
        shown = f"fdr {level:g}" if chosen == "fdr" else chosen
        return self._list_hitters(named, probabilities, shown, limit)

    def top(self, k: int) -> HeavyHitters:
        """The k items with the largest frequencies, each with the probability that it belongs to the true top k."""
        count = checked_amount(k, self.domain.size, "the number of top items")
        chances = top.entry(self.frequencies, count, self.probability_above)
        probabilities = top.top_probabilities(chances, count, self._quantiles_of)
        named = np.lexsort((-chances, -self.frequencies))[:count]
        # Items that are alike have the same probability: their mean, since simulated worlds tell them apart by luck.
        alike = np.unique(np.column_stack([self.frequencies, chances])[named], axis=0, return_inverse=True)[1].ravel()
        probabilities[named] = (np.bincount(alike, probabilities[named]) / np.bincount(alike))[alike]
        return self._list_hitters(named, probabilities, f"top {count}", None)

    def table(self, level: float = INTERVALS, *, items: Iterable[Item] | None = None) -> Table:
        """Every item with its frequency and interval; converts to Arrow, pandas and polars.

        `items` are items that you have in mind before looking at any estimate. They get their unbiased estimates and
        the intervals of those: 90% of such intervals hold. Calibrated intervals hold on average over all items and for
        lists of the largest, but a prior that knows only how many items are how frequent is too doubtful of an item
        that you had reason to ask for.

        >>> from localdp import Estimate
        >>> cal = Estimate([30.0, 25.0, 45.0], n=100, variance=16.0, domain=["tea", "coffee", "water"]).calibrate()
        >>> print(cal.table(items=["tea"]))
        1 item named beforehand among 100 users, intervals of 90%
        item  frequency   share  low  high
        tea          30  30.00%   23    37
        """
        checked = checked_level(level)
        title = f"{self.domain.size:,} items among {self.n:,} users, intervals of {checked:.0%}"
        names: Sequence[Item] = self.domain.items
        if items is None:
            frequency, (low, high) = self.frequencies, self.interval(checked)
        else:
            if isinstance(items, str | bytes) or not isinstance(items, Iterable):
                raise InvalidInputError(f"{_NAMED}, in a list such as items=['tea'], not {shown(items)}")
            names = list(items)
            frequency, low, high = self.named_beforehand(self.domain.places(names, _NAMED), checked)
            count = f"{len(names):,} item{'' if len(names) == 1 else 's'} named beforehand"
            title = f"{count} among {self.n:,} users, intervals of {checked:.0%}"
        columns = {"item": names, "frequency": frequency, "share": frequency / self.n, "low": low, "high": high}
        return Table(columns, title, {"share": SHARE})

    def named_beforehand(self, places: Places, level: float) -> tuple[Vector, Vector, Vector]:
        """Estimates and intervals that hold for items that were chosen without looking."""
        low, high = self.interval(level)
        return self.frequencies[places], low[places], high[places]

    def _repr_html_(self) -> str:
        """What a notebook shows: the most frequent items, and the notes."""
        whole = self.table()
        title = f"{type(self).__name__}: {whole.title}, the most frequent first"
        largest = Table(whole.largest("frequency", ROWS_IN_NOTEBOOKS).columns, title, whole.formats)
        return largest.html(notes=(*self._about_noise, *self._footer, *self.notes), of=self.domain.size)

    @property
    def _about_noise(self) -> tuple[str, ...]:
        """What a reader of the table should know about the noise of the estimates."""
        return (f"standard error of an item that nobody holds: {self.std_error:,.6g}",)

    @property
    def _footer(self) -> tuple[str, ...]:
        """What a reader of the table should know about its intervals."""
        return ()

    def group(self, groups: Mapping[str, Iterable[Item]], level: float = INTERVALS) -> Table:
        """The sum of the frequencies of each group of items, with an interval that knows the total.

        `groups` has a name for each group and the list of its items. The table has the columns `group`, `items` (how
        many), `frequency`, `share`, `low` and `high`.

        >>> from localdp import Estimate
        >>> est = Estimate([30.0, 25.0, 45.0], n=100, variance=16.0, domain=["tea", "coffee", "water"])
        >>> print(est.group({"hot": ["tea", "coffee"], "cold": ["water"]}))
        2 groups of items among 100 users, intervals of 90%
        group  items  frequency   share  low  high
        hot        2         55  55.00%   48    62
        cold       1         45  45.00%   38    52
        """
        members = checked_groups(groups, self.domain)
        checked = checked_level(level)
        rows = []
        for items in members.values():
            found = self._group_sum(items, checked)
            rows.append((found.value, *whole_numbers_within(found, self._most)))
        frequency, low, high = np.array(rows).T
        sizes = np.array([items.size for items in members.values()])
        shares = frequency / self.n
        columns = {
            "group": list(members),
            "items": sizes,
            "frequency": frequency,
            "share": shares,
            "low": low,
            "high": high,
        }
        count = f"{len(members):,} group{'s' if len(members) != 1 else ''}"
        title = f"{count} of items among {self.n:,} users, intervals of {checked:.0%}"
        return Table(columns, title, {"share": SHARE})

    @property
    def _deviations(self) -> float | Vector:
        """The standard error of all items, or one for each if they differ."""
        return self.std_error

    def _own_thresholds(self, beta: float = BETA) -> float | Vector:
        """The significance threshold for all items, or one for each if their noise differs."""
        deviations = self._deviations
        if isinstance(deviations, float):
            return self.significance_threshold(beta)
        return deviations * significance_threshold(1.0, self.domain.size, beta)

    @property
    def _sum_to_reach(self) -> float:
        """The sum that projections give frequencies: the total, or the sum of the frequencies if it is not known."""
        return max(0.0, float(self.frequencies.sum())) if self.total is None else self.total

    @property
    def _most(self) -> float:
        """The largest sum that a group can have."""
        return float(self.n * self.domain.size) if self.total is None else self.total

    def _discoveries(self, descending: Vector, level: float) -> int:
        """How many of the most probable items to name if at most this share of them may be false."""
        return within_discovery_rate(descending, level)

    def _list_hitters(self, named: Places, probabilities: Vector, rule: str, threshold: float | None) -> HeavyHitters:
        """The items with the indices `named` as a `HeavyHitters`, sorted by frequency, largest first."""
        indices = named[np.lexsort((-probabilities[named], -self.frequencies[named]))]
        low, high = self.interval()
        interval = low[indices], high[indices]
        return HeavyHitters(
            indices, self.domain, self.frequencies[indices], interval, probabilities[indices], rule, threshold, self.n
        )

    def _remembered_interval(self, level: float) -> tuple[Vector, Vector]:
        """The intervals at this level, computed at the first call and remembered for the last few levels.

        Post-processed copies have the same uncertainty, so they ask their origin.
        """
        if self.origin is not None:
            return self.origin._remembered_interval(level)
        found = self._recent_intervals.get(level)
        if found is None:
            low, high = self._interval(level)
            found = np.minimum(low, high), np.maximum(low, high)  # rounding crosses the ends of the narrowest ones
            for side in found:
                side.setflags(write=False)
            self._recent_intervals[level] = found
            for oldest in list(self._recent_intervals)[:-_LEVELS_KEPT]:
                self._recent_intervals.pop(oldest, None)
        return found

    @cached_property
    def _recent_intervals(self) -> dict[float, tuple[Vector, Vector]]:
        """The intervals of the last few levels, by level."""
        return {}

    def _threshold(self, threshold: Any) -> float:
        """The threshold as a number of users."""
        if isinstance(threshold, str) and threshold == "significance":
            try:
                return self.significance_threshold()
            except ImpureMechanismError as error:
                raise ImpureMechanismError(
                    "without raw estimates there is no significance threshold: give a threshold, as a number of users "
                    f"or as a share of them such as '5%' ({error})"
                ) from None
        if not isinstance(threshold, str):
            users = checked_threshold(threshold)
            if users < 0:
                raise InvalidInputError(f"a threshold is a number of users, and not negative: {users:g}")
            return users  # below 1 is possible: so is the significance threshold where there is next to no noise
        text = threshold.strip()
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            number = -1.0
        if not text.endswith("%") and 0 < number < 1:
            return checked_limit(number)
        percent = number if text.endswith("%") else -1.0
        if not 0 < percent <= 100:
            raise InvalidInputError(
                "a threshold is a number of users, a share of them such as '0.5%' (above 0% and up to 100%), or "
                f"'significance', not {threshold!r:.40}"
            )
        return percent / 100 * self.n


def _checked_rule(rule: Any, fdr: Any) -> tuple[str, float]:
    """The rule to follow, and the share of false discoveries that it allows if it is "fdr"."""
    chosen = ("mean" if fdr is None else "fdr") if rule is None else rule
    if chosen not in RULES:
        raise InvalidInputError(f"a rule is one of {', '.join(RULES)}, not {rule!r:.40}")
    if fdr is not None and chosen != "fdr":
        raise InvalidInputError(
            f"fdr is the level of the rule 'fdr', but the rule {rule!r} was chosen: leave one of them out"
        )
    return chosen, DISCOVERIES if fdr is None else checked_level(fdr, "fdr")
