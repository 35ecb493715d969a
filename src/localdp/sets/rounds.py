"""One round of a survey of sets: what its group is asked, and the plan under which it answers.

A round asks for the *size* of what a user holds, or for the *set* itself; and either of all items, or of a list of
candidates, which are itemsets. Devices get the document of the round in canonical JSON. Its fingerprint is the SHA-256
of that text.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

from localdp.domain import Domain
from localdp.errors import PlanError
from localdp.item_sets import ItemSets
from localdp.mechanisms import Mechanism
from localdp.plan import Plan
from localdp.randomness.keystream import Entropy
from localdp.sets.questions import Candidates, Members, OfSet, Sizes
from localdp.sets.sizes import SizeClasses
from localdp.studies import series
from localdp.studies.places import Places, Span
from localdp.types import Rows

SIZE, SET = "size", "set"
ROUNDS = 4
_QUESTIONS: dict[str, type[OfSet]] = {SIZE: Sizes, SET: Members}


class Round(series.Round):
    """A round under way: its `number`, what it `asks` for ("size" or "set"), its `candidates` and its `plan`.

    `candidates` is None if the round asks about all items. `domain` has the items of the survey, which are not in the
    document, and `span` the places that are asked; without them, values are numbers of items, and everybody is asked.
    """

    format = "localdp-sets-round/1"
    of = "survey of sets"

    def __init__(
        self,
        survey: str,
        number: int,
        asks: str,
        candidates: Candidates | None,
        items: int,
        plan: Plan,
        domain: Domain | None = None,
        span: Span | None = None,
    ) -> None:
        self.survey = survey
        self.number = number
        self.asks = asks
        self.candidates = candidates
        self.items = items
        """The number of items of the survey."""
        self.plan = plan
        self.span = span or Places().everybody
        self.domain = domain or Domain(items)
        self.classes = SizeClasses.up_to(self.answers)
        if asks != (SIZE, SET)[number % 2] or (candidates is None) != (number < 2):
            raise PlanError("this round asks for something else than a round of its number does")
        if plan.domain != self.question.cells or plan.question.total(1) != self.question.total(1):
            raise PlanError("the plan of this round does not fit what it asks for")
        self._freeze()

    @cached_property
    def question(self) -> OfSet:
        return _QUESTIONS[self.asks](self.domain, self.candidates)

    @property
    def answers(self) -> int:
        """How many things a user may hold: all items, or the candidates."""
        return self.items if self.candidates is None else len(self.candidates)

    @classmethod
    def of_sizes(cls, survey: str, number: int, candidates: Candidates | None, items: int, epsilon: float) -> Self:
        """The round that asks how many items, or candidates, a user holds."""
        plan = Plan(Sizes(Domain(items), candidates).cells, "auto", epsilon)
        return cls(survey, number, SIZE, candidates, items, plan)

    @classmethod
    def of_sets(
        cls, survey: str, number: int, candidates: Candidates | None, items: int, epsilon: float, set_size: int
    ) -> Self:
        """The round that asks which items, or candidates, a user holds."""
        plan = Plan(Members(Domain(items), candidates).cells, "auto", epsilon, set_size=set_size)
        return cls(survey, number, SET, candidates, items, plan)

    def within(self, domain: Domain, span: Span) -> Self:
        """This round as a part of its survey, which has these items and asks these places."""
        return type(self)(self.survey, self.number, self.asks, self.candidates, self.items, self.plan, domain, span)

    def rows(self, sets: ItemSets, source: Entropy, mechanism: Mechanism | None = None) -> Rows:
        """The bytes of one report for each of these users, with this source of randomness, on all processors.

        Checks that try all random inputs give a narrower mechanism in the place of the plan's.
        """
        return (mechanism or self.plan.mechanism).answer(self.question.read(sets), source)

    def document(self) -> dict[str, Any]:
        return {
            "format": self.format,
            "survey": self.survey,
            "round": self.number,
            "asks": self.asks,
            "candidates": None if self.candidates is None else [list(itemset) for itemset in self.candidates],
            "items": self.items,
            "plan": self.plan._document(),
        }

    @classmethod
    def from_json(
        cls, text: str | bytes, *, most_epsilon: float | None = None, most_report_bytes: int | None = None
    ) -> Self:
        """Read a round that `to_json` wrote. Anything else is a `PlanError`.

        A device gives its limits, as for `Plan.from_json`: a round that asks for more is a `PlanLimitError`.
        """
        return cls._read(text, most_epsilon, most_report_bytes)

    @classmethod
    def _from_document(cls, document: dict[str, Any], plan: Plan, **known: Any) -> Self:
        study, number, items = cls._study_in(document, "survey"), document["round"], document["items"]
        if type(items) is not int or items < 1 or not 0 <= number < ROUNDS or document["asks"] not in (SIZE, SET):
            raise ValueError("its numbers are impossible")
        candidates = _candidates(document["candidates"], items)
        return cls(study, number, document["asks"], candidates, items, plan, **known)

    def __repr__(self) -> str:
        what = f"{self.items:,} items" if self.candidates is None else f"{len(self.candidates):,} candidates"
        wanted = "how many" if self.asks == SIZE else "which"
        return f"<Round {self.number}: {wanted} of {what} a user holds, by {self.plan.mechanism.name}>"


def _candidates(given: Any, items: int) -> Candidates | None:
    """The candidates of a document: different itemsets, each with its items in ascending order."""
    if given is None:
        return None
    listed = tuple(tuple(itemset) for itemset in given)
    whole = all(type(item) is int and 0 <= item < items for itemset in listed for item in itemset)
    ascending = all(itemset and list(itemset) == sorted(set(itemset)) for itemset in listed)
    if not listed or not whole or not ascending or len(set(listed)) < len(listed):
        raise ValueError
    return listed
