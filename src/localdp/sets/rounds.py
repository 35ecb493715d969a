"""One round of a survey of sets: what its group is asked, and the plan under which it answers.

A round asks for the *size* of what a user holds, or for the *set* itself; and either of all items, or of a list of
candidates, which are itemsets. Devices get the document of the round in canonical JSON. Its fingerprint is the SHA-256
of that text.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, Self

from localdp.domain import Domain
from localdp.errors import LocalDPError, PlanError
from localdp.formats import canonical_json
from localdp.item_sets import ItemSets
from localdp.mechanisms import Mechanism
from localdp.plan import Plan
from localdp.randomness.keystream import Entropy
from localdp.sets.questions import Candidates, Members, OfSet, Sizes
from localdp.sets.sizes import SizeClasses
from localdp.studies import series
from localdp.studies.places import Places, Span
from localdp.types import Rows

_FORMAT = "localdp-sets-round/1"
SIZE, SET = "size", "set"
ROUNDS = 4
_QUESTIONS: dict[str, type[OfSet]] = {SIZE: Sizes, SET: Members}


class Round(series.Round):
    """A round under way: its `number`, what it `asks` for ("size" or "set"), its `candidates` and its `plan`.

    `candidates` is None if the round asks about all items. `domain` has the items of the survey, which are not in the
    document, and `span` the places that are asked; without them, values are numbers of items, and everybody is asked.
    """

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
            "format": _FORMAT,
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
        try:
            document = canonical_json.loads(text)
            limits = {"most_epsilon": most_epsilon, "most_report_bytes": most_report_bytes}
            plan = Plan.from_json(canonical_json.dumps(document["plan"]), **limits)  # type: ignore[arg-type]
            _check_numbers(document)
            items = document["items"]
            candidates = _candidates(document["candidates"], items)
            made = cls(document["survey"], document["round"], document["asks"], candidates, items, plan)
            same = made.to_json() == canonical_json.dumps(document)
        except LocalDPError:
            raise
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
            raise PlanError("this is not a round of a survey of sets: it is not text in JSON") from None
        except (KeyError, TypeError, ValueError, AttributeError):
            raise PlanError(f'this is not a round of a survey of sets: it is not a document "{_FORMAT}"') from None
        if not same:
            raise PlanError("this round was altered")
        return made

    def __repr__(self) -> str:
        what = f"{self.items:,} items" if self.candidates is None else f"{len(self.candidates):,} candidates"
        wanted = "how many" if self.asks == SIZE else "which"
        return f"<Round {self.number}: {wanted} of {what} a user holds, by {self.plan.mechanism.name}>"


def _check_numbers(document: dict[str, Any]) -> None:
    """A round, and the survey that it belongs to, are numbers and texts of the right kinds."""
    whole = all(type(document[name]) is int and document[name] >= 0 for name in ("round", "items"))
    if not whole or document["format"] != _FORMAT or document["asks"] not in (SIZE, SET) or document["items"] < 1:
        raise ValueError
    if document["round"] >= ROUNDS:
        raise ValueError
    if not isinstance(document["survey"], str) or len(bytes.fromhex(document["survey"])) != 32:
        raise ValueError


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
