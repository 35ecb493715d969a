"""A survey of sets: four rounds, each with its own users, that lead to the items or itemsets that most users hold.

1. A small group says how large its sets are. This gives the set size with which items stand out most of the noise.
2. A large group reports its sets. The items with the largest estimates, or the itemsets that are likely to be frequent
   by these estimates, become candidates.
3. A small group says how many candidates it holds. This gives the set size for counting them.
4. The last group reports which candidates it holds. These estimates are calibrated.

The shape is that of SVIM and SVSM (Wang, Li & Jha, IEEE S&P 2018). Everybody is drawn into one group without regard to
what they hold, and makes one report.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from localdp.domain import Domain
from localdp.errors import InvalidInputError, TooFewReportsError
from localdp.items import Item
from localdp.plan import Aggregate
from localdp.rounds.series import LEAST_REPORTS, Series
from localdp.sets.candidates import Itemset, likeliest
from localdp.sets.found import FoundSets, found, top_chances
from localdp.sets.groups import Groups
from localdp.sets.rounds import ROUNDS, Round
from localdp.sets.sizes import SizeLaw
from localdp.types import Vector
from localdp.validation import checked_amount, checked_epsilon, checked_users

FORMAT = "localdp-sets/1"
LEAST_USERS = 1_000
"""The fewest users, so that every round can expect twice its fewest reports."""
_FOR_SIZES = 5, 20  # in a hundred users, for each round of sizes: at least, and at most
_TO_FIND_ITEMS, _TO_FIND_ITEMSETS = 0.67, 0.4  # of the others, in round 1; the rest counts the candidates
_CANDIDATES_OF_ITEMS, _CANDIDATES_OF_ITEMSETS = 10, 3  # for each that is wanted
_MOST_TOP = 1_000
_MOST_LARGEST = 10


@dataclass(frozen=True)
class State:
    """What the rounds that are over have found: numbers of reports, set sizes, candidates, and the last counts."""

    reports: tuple[int, ...] = ()
    find_size: int = 0
    find_seen: float = 0.0
    candidates: tuple[Itemset, ...] = ()
    least_share: float = 0.0
    """The share of the users, as far as it is seen, that hold the last item or itemset that is wanted."""
    count_size: int = 0
    count_seen: float = 0.0
    count_doubt: float = 0.0
    counts: tuple[int, ...] = ()
    kept: float = 1.0
    """The share of the true top that is expected to be among the candidates."""


class Survey(Series):
    """Find the items that the most of about `users` people hold, if everybody holds a set of them.

    `domain` lists the items, as in a plan. `top` is how many are wanted. With `largest` above 1, itemsets with up to so
    many items are found instead of single items: combinations that many people hold together. `name` distinguishes
    surveys that are otherwise alike.

    A survey is a value. `round` is the round under way, and `advance` gives the survey after it, from the aggregate of
    its reports. When `done` is True, `result()` has what was found.

    >>> from localdp.item_sets import ItemSets
    >>> survey = Survey(["tea", "milk", "bread", "rice"], epsilon=4.0, users=8_000, top=2)
    >>> sets = ItemSets.read([["tea", "milk"], ["bread", "milk"], ["tea", "milk"], []] * 2_000, survey.domain)
    >>> while not survey.done:  # here everybody answers every round; real devices answer one
    ...     reports = survey.round.privatize(sets, seed=survey.number)
    ...     survey = survey.advance(survey.round.plan.aggregate(reports), survey.round)
    >>> survey.result().items
    ['milk', 'tea']
    """

    what = "survey"

    def __init__(
        self,
        domain: Domain | int | Iterable[Item],
        *,
        epsilon: float,
        users: int,
        top: int = 32,
        largest: int = 1,
        name: str = "",
    ) -> None:
        self.domain = domain if isinstance(domain, Domain) else Domain(domain)
        if self.domain.size < 2:
            raise InvalidInputError("a survey of sets needs at least two items")
        self.epsilon = checked_epsilon(epsilon)
        self.users = checked_users(users)
        if self.users < LEAST_USERS:
            raise TooFewReportsError(
                f"a survey of sets needs at least {LEAST_USERS:,} users, and some thousands to find much, not {users}"
            )
        self.largest = checked_amount(largest, _MOST_LARGEST, "largest, the number of items in an itemset,")
        self.top = checked_amount(top, _MOST_TOP, "the number of items to find")
        if not isinstance(name, str):
            raise InvalidInputError(f"the name of a survey is text, not {type(name).__name__}")
        self.name = name
        self._state = State()
        self._freeze()

    @property
    def groups(self) -> Groups:
        """How devices are divided among the rounds."""
        least, most = _FOR_SIZES
        enough = -(-100 * 2 * LEAST_REPORTS // self.users)  # so that these groups are large enough in small surveys
        small = max(least, min(most, enough))
        rest = 100 - 2 * small
        find = round(rest * (_TO_FIND_ITEMS if self.largest == 1 else _TO_FIND_ITEMSETS))
        return Groups((small, find, small, rest - find))

    def document(self) -> dict[str, Any]:
        """What devices need to know beforehand, as a JSON value: the items, epsilon and the groups."""
        return {
            "format": FORMAT,
            "name": self.name,
            "domain": self.domain.to_json(),
            "epsilon": self.epsilon,
            "users": self.users,
            "top": self.top,
            "largest": self.largest,
            "shares": list(self.groups.shares),
        }

    @property
    def number(self) -> int:
        """The number of the round under way, from 0."""
        return len(self._state.reports)

    @property
    def done(self) -> bool:
        """Whether all rounds are over."""
        return self.number == ROUNDS

    @cached_property
    def round(self) -> Round:
        """The round that is under way."""
        state, items = self._state, self.domain.size
        match self.number:
            case 0:
                return Round.of_sizes(self.fingerprint, 0, None, items, self.epsilon)
            case 1:
                return Round.of_sets(self.fingerprint, 1, None, items, self.epsilon, state.find_size)
            case 2 if state.candidates:
                return Round.of_sizes(self.fingerprint, 2, state.candidates, items, self.epsilon)
            case 3 if state.candidates:
                return Round.of_sets(self.fingerprint, 3, state.candidates, items, self.epsilon, state.count_size)
        raise InvalidInputError("this survey is done: ask for its result()" if self.done else "it has no candidates")

    def advance(self, aggregate: Aggregate, of: Round | str) -> Self:
        """The survey after the round under way, given the aggregate of its reports.

        `of` is the round, or its fingerprint, under whose document the reports were made. Another round's are a
        `PlanMismatchError`, and fewer than 100 reports a `TooFewReportsError`; then the round goes on.
        """
        current = self.round
        self._check_reports(aggregate, of, current)
        learnt = (self._after_sizes, self._after_items, self._after_candidates, self._after_counts)[self.number]
        state = learnt(current, aggregate)
        return self._resumed(replace(state, reports=(*state.reports, aggregate.n)))

    def result(self) -> FoundSets:
        """What was found, when the survey is done."""
        if not self.done:
            raise InvalidInputError(f"this survey is not done: round {self.number} of {ROUNDS} is under way")
        state = self._state
        last = Round.of_sets(self.fingerprint, 3, state.candidates, self.domain.size, self.epsilon, state.count_size)
        aggregate = Aggregate(last.plan, np.array(state.counts, np.int64), state.reports[-1])
        users = sum(state.reports)
        return found(
            self.domain, state.candidates, aggregate, state.count_seen, state.count_doubt, users, self.top, state.kept
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the survey, as far as it has come, to a file. A file that is there already is replaced."""
        from localdp.sets.saved import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a saved survey. A file that is not one, or was altered, is an `ArchiveError`."""
        from localdp.sets.saved import load

        return load(cls, path)

    def _after_sizes(self, current: Round, aggregate: Aggregate) -> State:
        law = current.classes.law(aggregate.estimate())
        size = law.to_find(self.domain.size, self.epsilon)
        return replace(self._state, find_size=size, find_seen=law.seen(size))

    def _after_items(self, current: Round, aggregate: Aggregate) -> State:  # noqa: ARG002 (all items were asked for)
        estimate = aggregate.estimate()
        calibrated = estimate.calibrate()
        shares = np.clip(calibrated.frequencies / estimate.n / self._state.find_seen, 1e-9, 1)
        # Equal calibrated shares, as of many unheld items, are told apart by their estimates.
        shares *= 1 + 1e-9 * np.argsort(np.argsort(estimate.frequencies)) / self.domain.size
        candidates = self._candidates(shares)
        last = candidates[min(self.top, len(candidates)) - 1]
        wanted = min(self.top, self.domain.size)
        among = list({item for itemset in candidates for item in itemset})
        kept = min(1.0, float(top_chances(calibrated, wanted)[among].sum()) / wanted)
        least = float(np.prod(shares[list(last)]))
        return replace(self._state, candidates=candidates, least_share=least, kept=kept)

    def _candidates(self, shares: Vector) -> tuple[Itemset, ...]:
        """The likeliest items or itemsets, and in any case as many single items as itemsets are wanted."""
        wanted = self.top * (_CANDIDATES_OF_ITEMS if self.largest == 1 else _CANDIDATES_OF_ITEMSETS)
        likely = dict.fromkeys(itertools.islice(likeliest(shares, self.largest), max(2, wanted)))
        return tuple(likely | dict.fromkeys(itertools.islice(likeliest(shares, 1), self.top)))

    def _after_candidates(self, current: Round, aggregate: Aggregate) -> State:
        law: SizeLaw = current.classes.law(aggregate.estimate())
        counted = self.users * self.groups.shares[-1] // sum(self.groups.shares)
        size = law.to_count(current.answers, self.epsilon, counted, self._state.least_share)
        return replace(self._state, count_size=size, count_seen=law.seen(size), count_doubt=law.doubt(size))

    def _after_counts(self, current: Round, aggregate: Aggregate) -> State:  # noqa: ARG002 (the counts are kept)
        return replace(self._state, counts=tuple(aggregate.counts.tolist()))

    def _resumed(self, state: State) -> Self:
        """This survey with this state."""
        following = object.__new__(type(self))
        for name in ("domain", "epsilon", "users", "top", "largest", "name"):
            setattr(following, name, getattr(self, name))
        following._state = state
        following._freeze()
        return following

    def __repr__(self) -> str:
        state = "done" if self.done else f"round {self.number} of {ROUNDS}"
        what = "items" if self.largest == 1 else f"itemsets of up to {self.largest} items"
        return f"<Survey {self.fingerprint[:12]}: top {self.top} {what} of {self.users:,} users, {state}>"
