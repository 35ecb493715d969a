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
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from localdp.domain import Domain
from localdp.errors import InvalidInputError, PlanLimitError, PlanMismatchError, TooFewReportsError
from localdp.items import Item
from localdp.plan import Aggregate
from localdp.plan.limits import Limits
from localdp.questions import Choices
from localdp.sets.candidates import Itemset, likeliest
from localdp.sets.found import FoundSets, found, top_chances
from localdp.sets.rounds import ROUNDS, Round
from localdp.sets.sizes import SizeLaw
from localdp.sets.state import State
from localdp.studies.places import Places, Span, spans
from localdp.studies.series import LEAST_REPORTS, Series
from localdp.studies.tally import Tally
from localdp.table import Table
from localdp.types import Vector
from localdp.validation import checked_amount, checked_epsilon, checked_users

LEAST_USERS = 1_000
"""The fewest users, so that every round can expect twice its fewest reports."""
_FOR_SIZES = 5, 20  # in a hundred users, for each round of sizes: at least, and at most
_TO_FIND_ITEMS, _TO_FIND_ITEMSETS = 0.67, 0.4  # of the others, in round 1; the rest counts the candidates
_CANDIDATES_OF_ITEMS, _CANDIDATES_OF_ITEMSETS = 10, 3  # for each that is wanted
_MOST_TOP = 1_000
_MOST_LARGEST = 10


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

    kind = "sets"
    what = "survey"
    title = "survey of sets"
    folder = "surveys"

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
        self.shares = self._shares()
        self._state = State()
        self._freeze()

    def _shares(self) -> tuple[int, ...]:
        """How devices are divided among the rounds: of a hundred, how many answer each."""
        least, most = _FOR_SIZES
        enough = -(-100 * 2 * LEAST_REPORTS // self.users)  # so that these groups are large enough in small surveys
        small = max(least, min(most, enough))
        rest = 100 - 2 * small
        find = round(rest * (_TO_FIND_ITEMS if self.largest == 1 else _TO_FIND_ITEMSETS))
        return small, find, small, rest - find

    @property
    def places(self) -> Places:
        """The places that devices draw: as many as the shares of the rounds add up to."""
        return Places(sum(self.shares), "group")

    @property
    def spans(self) -> tuple[Span, ...]:
        """The places that each round asks."""
        return tuple(spans(self.shares))

    def document(self) -> dict[str, Any]:
        """What devices need to know beforehand, as a JSON value: the items, epsilon and the groups."""
        return {
            "format": self.format(),
            "name": self.name,
            "domain": self.domain.to_json(),
            "epsilon": self.epsilon,
            "users": self.users,
            "top": self.top,
            "largest": self.largest,
            "shares": list(self.shares),
        }

    def read_by_people(self) -> tuple[Any, ...]:
        return tuple(self.domain.items)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        given = dict(document)
        domain, shares = Domain.from_json(given.pop("domain")), tuple(given.pop("shares"))
        if len(shares) != ROUNDS or given.pop("format") != cls.format():
            raise ValueError("it is not a survey of sets")
        checked = tuple(checked_amount(share, 1 << 16, "a share") for share in shares)
        return cls(domain, **given)._with(shares=checked)  # another version may share people out in another way

    @property
    def expected_rounds(self) -> int:
        """How many rounds there will be in all."""
        return ROUNDS

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
        return self._round(self.number).within(self.domain, self.spans[self.number])

    def _round(self, number: int) -> Round:
        state, items = self._state, self.domain.size
        match number:
            case 0:
                return Round.of_sizes(self.fingerprint, 0, None, items, self.epsilon)
            case 1:
                return Round.of_sets(self.fingerprint, 1, None, items, self.epsilon, state.find_size)
            case 2 if state.candidates:
                return Round.of_sizes(self.fingerprint, 2, state.candidates, items, self.epsilon)
            case 3 if state.candidates:
                return Round.of_sets(self.fingerprint, 3, state.candidates, items, self.epsilon, state.count_size)
        raise InvalidInputError("this survey is done: ask for its result()" if self.done else "it has no candidates")

    def read_part(self, text: str | bytes, limits: Limits) -> Round:
        """The round of this survey that a document describes."""
        asked = Round.from_json(text, most_epsilon=self.epsilon, most_report_bytes=limits.most_report_bytes)
        if asked.survey != self.fingerprint or asked.items != self.domain.size:
            raise PlanMismatchError("this round belongs to another survey")
        return asked.within(self.domain, self.spans[asked.number])

    def check_limits(self, limits: Limits) -> None:
        super().check_limits(limits)
        if self.domain.size > limits.most_items:
            raise PlanLimitError(
                f"this survey has {self.domain.size:,} items, and this device takes at most {limits.most_items:,}"
            )
        if limits.needs_other and self.domain.other is None:
            raise PlanLimitError("this survey has no catch-all item: who holds something else would have to be silent")

    def typed(self, text: str) -> list[Item]:
        return Choices(self.domain).typed(text)

    def _after(self, aggregate: Aggregate) -> Self:
        learnt = (self._after_sizes, self._after_items, self._after_candidates, self._after_counts)[self.number]
        state = learnt(self.round, aggregate)
        return self._with(_state=replace(state, reports=(*state.reports, aggregate.n)))

    def result(self, tally: Tally | None = None) -> FoundSets:  # noqa: ARG002 (the rounds are counted as they end)
        """What was found, when the survey is done."""
        if not self.done:
            raise InvalidInputError(f"this survey is not done: round {self.number} of {ROUNDS} is under way")
        state = self._state
        aggregate = Aggregate(self._round(ROUNDS - 1).plan, np.array(state.counts, np.int64), state.reports[-1])
        users = sum(state.reports)
        return found(
            self.domain, state.candidates, aggregate, state.count_seen, state.count_doubt, users, self.top, state.kept
        )

    def so_far(self) -> Table:
        """The candidates, the likeliest first, once there are some; their shares are known at the end."""
        items = self.domain.items
        names = [" + ".join(str(items[place]) for place in itemset) for itemset in self._state.candidates]
        return Table({"item": names[: self.top]}, f"so far, after {self.number} rounds")

    def state(self) -> dict[str, Any]:
        return {"state": self._state.document()}

    def with_state(self, state: dict[str, Any]) -> Self:
        if self.shares != self._shares():
            raise ValueError("its groups are not those that its number of users gives")
        resumed = self._with(_state=State.from_document(state["state"]))
        _ = resumed.result() if resumed.done else resumed.round  # a state that does not fit is refused now, not later
        return resumed

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
        # What is lost of the true top was lost with an item: with one of as many as the likeliest itemsets have.
        wanted = len({item for itemset in candidates[: self.top] for item in itemset})
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
        counted = self.users * self.shares[-1] // sum(self.shares)
        size = law.to_count(current.answers, self.epsilon, counted, self._state.least_share)
        return replace(self._state, count_size=size, count_seen=law.seen(size), count_doubt=law.doubt(size))

    def _after_counts(self, current: Round, aggregate: Aggregate) -> State:  # noqa: ARG002 (the counts are kept)
        return replace(self._state, counts=tuple(aggregate.counts.tolist()))

    def _with(self, **changed: Any) -> Self:
        """This survey with another state, or with other shares."""
        following = object.__new__(type(self))
        for name in ("domain", "epsilon", "users", "top", "largest", "name", "shares", "_state"):
            setattr(following, name, changed.get(name, getattr(self, name)))
        following._freeze()
        return following

    def __repr__(self) -> str:
        state = "done" if self.done else f"round {self.number} of {ROUNDS}"
        what = "items" if self.largest == 1 else f"itemsets of up to {self.largest} items"
        return f"<Survey {self.fingerprint[:12]}: top {self.top} {what} of {self.users:,} users, {state}>"
