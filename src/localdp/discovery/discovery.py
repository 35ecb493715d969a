"""A discovery: which round is under way, what the rounds before it measured, and in the end what was found."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from localdp.discovery import steps
from localdp.discovery.belief import Grid, Noise
from localdp.discovery.codes import WORD_BITS, Code, Keys, Text, code_named
from localdp.discovery.design import CELLS, MOST_ROUNDS, Design, best_design
from localdp.discovery.found import Found, listed, posterior_of
from localdp.discovery.history import History
from localdp.discovery.prefixes import Candidates
from localdp.discovery.rounds import Round, first_candidates
from localdp.discovery.schedule import Schedule
from localdp.discovery.steps import Step
from localdp.errors import InvalidInputError, PlanMismatchError, TooFewReportsError
from localdp.mechanisms import LinearLocalHashing
from localdp.plan import Aggregate
from localdp.plan.limits import Limits
from localdp.studies.series import LEAST_REPORTS, Series
from localdp.studies.tally import Tally
from localdp.validation import checked_amount, checked_epsilon, checked_users

_MOST_TOP = 1_000
_SHOWN = 5  # unfinished prefixes that are named in a note


class Discovery(Series):
    """Find the most frequent values among `users` people, though nobody has listed them, each answering one round.

    Values are text of at most `most_bytes` bytes in UTF-8, or keys: whole numbers below 2^bits, if `bits` is given.
    `users` is about how many people will take part and `top` how many values are wanted; with epsilon they decide how
    many rounds there are and how many people answer each. `rounds` sets the number of rounds instead; more rounds find
    longer texts. `name`
    distinguishes discoveries that are otherwise alike.

    A discovery is a value. `round` is the round under way, whose document devices get, and `advance` gives the
    discovery after that round, from the aggregate of its reports. When `done` is True, `result()` has the values.

    >>> import numpy as np
    >>> discovery = Discovery(bits=16, epsilon=4.0, users=20_000, top=2)
    >>> values = discovery.code.encode(np.repeat([40_000, 7, 123], [12_000, 6_000, 2_000]))
    >>> while not discovery.done:  # here everybody answers every round; real devices answer one
    ...     question = discovery.round
    ...     reports = question.plan.privatize_indices(question.candidates.indices(values), seed=discovery.number)
    ...     discovery = discovery.advance(question.plan.aggregate(reports), question)
    >>> discovery.result().items
    [40000, 7]
    """

    kind = what = title = "discovery"
    folder = "discoveries"

    def __init__(
        self,
        *,
        epsilon: float,
        users: int,
        top: int = 20,
        bits: int | None = None,
        most_bytes: int | None = None,
        rounds: int | None = None,
        name: str = "",
    ) -> None:
        if bits is not None and most_bytes is not None:
            raise InvalidInputError("values are keys (bits) or text (most_bytes): give one of the two")
        self.code: Code = Text(32 if most_bytes is None else most_bytes) if bits is None else Keys(bits)
        self.epsilon = checked_epsilon(epsilon)
        self.users = checked_users(users)
        if self.users < LEAST_REPORTS:
            raise TooFewReportsError(
                f"a discovery needs at least {LEAST_REPORTS} users, and some thousands to find anything, not {users}"
            )
        self.top = checked_amount(top, _MOST_TOP, "the number of values to find")
        if rounds is not None:
            checked_amount(rounds, MOST_ROUNDS, "the number of rounds")
        if not isinstance(name, str):
            raise InvalidInputError(f"the name of a discovery is text, not {type(name).__name__}")
        self.name = name
        total = self._total(rounds, most_bytes is not None)
        self.design = best_design(total, self.users, self.epsilon, self.top, alike=self.code.alike, rounds=rounds)
        self._start()

    def _total(self, rounds: int | None, said: bool) -> int:
        """The bits to plan for. `said` tells whether somebody said how long texts are."""
        if rounds is not None:
            return self.code.bits_in(rounds)
        return self.code.planned_bits if said or not self.code.alike else WORD_BITS

    @classmethod
    def designed(cls, code: Code, epsilon: float, users: int, top: int, name: str, design: Design) -> Self:
        """A discovery with a given design, as a saved one has."""
        made = object.__new__(cls)
        made.code, made.epsilon, made.users, made.top, made.name = code, epsilon, users, top, name
        made.design = design
        made._start()
        return made

    def _start(self) -> None:
        self._number = self._used = 0
        self._candidates = first_candidates(self.code, self.design.bits[0])
        self._history: History | None = None
        self._unfinished: tuple[str, ...] = ()
        self._short = self._over = False
        self._freeze()

    @cached_property
    def schedule(self) -> Schedule:
        """How many bits and users the rounds have."""
        return Schedule(self.code, self.design, self.users, LinearLocalHashing(CELLS, self.epsilon).variance(1))

    def document(self) -> dict[str, Any]:
        """What devices need to know beforehand, as a JSON value: the kind of values, epsilon and the design."""
        return {
            "format": self.format(),
            "name": self.name,
            "values": self.code.document(),
            "epsilon": self.epsilon,
            "users": self.users,
            "top": self.top,
            "design": self.design.document(),
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        keys = {"format", "name", "values", "epsilon", "users", "top", "design"}
        if set(document) != keys or not isinstance(document["name"], str):
            raise ValueError("its keys or its name are not those of a discovery")
        epsilon, users = checked_epsilon(document["epsilon"]), checked_users(document["users"])
        top = checked_amount(document["top"], _MOST_TOP, "the number of values to find")
        design = Design.from_document(document["design"])
        return cls.designed(code_named(document["values"]), epsilon, users, top, document["name"], design)

    @property
    def number(self) -> int:
        """The number of the round under way, from 0."""
        return self._number

    @property
    def done(self) -> bool:
        """Whether all rounds are over, or nothing is left to ask for."""
        return self._over or self._candidates.cells < 2

    @property
    def expected_rounds(self) -> int:
        """How many rounds there will be in all, as far as can be foreseen; exact for keys."""
        left = self.schedule.left(self._candidates.position) if len(self._candidates.open) else 0
        return self.number if self.done else self.number + left + 1

    @cached_property
    def round(self) -> Round:
        """The round that is under way."""
        if self.done:
            raise InvalidInputError("this discovery is done: ask for its result()")
        known = self._candidates
        span = self.schedule.span(known.position, self._used, len(known.open), short=self._short)
        return Round.make(self.fingerprint, self.number, known, self.epsilon, span, self.code)

    def read_part(self, text: str | bytes, limits: Limits) -> Round:
        """The round of this discovery that a document describes."""
        asked = Round.from_json(
            text, most_epsilon=self.epsilon, most_report_bytes=limits.most_report_bytes, code=self.code
        )
        if asked.discovery != self.fingerprint:
            raise PlanMismatchError("this round belongs to another discovery")
        return asked

    def typed(self, text: str) -> str | int | None:
        return self.code.typed(text)

    def _after(self, aggregate: Aggregate) -> Self:
        current = self.round
        estimate = aggregate.estimate()
        mechanism = current.plan.mechanism
        noise = Noise(aggregate.n, mechanism.variance(1), mechanism.excess_variance)
        known, used = self._candidates, current.span.end
        if not len(known.open):
            assert self._history is not None  # noqa: S101 (for the type checker)
            last = steps.last(self._history, estimate, noise)
            return self._at(self.number + 1, last, used, self._unfinished, over=True)
        step = Step(self.code, self.grid, self.heavy, self.schedule.room(known.position + known.bits))
        if self._history is None:
            return self._next(step.first(known, estimate, noise), used)
        if self._short and not self.schedule.resolved(*step.explained(self._history, known, estimate, noise)):
            return self._at(self.number + 1, self._history, used, self._unfinished)
        return self._next(step.later(self._history, known, estimate, noise), used)

    @cached_property
    def grid(self) -> Grid:
        """The shares on which beliefs are computed."""
        return Grid.of(self.users, self.schedule.variance)

    @property
    def heavy(self) -> float:
        """The share of the users from which on a value counts as heavy while candidates are chosen."""
        return self.design.reach / 2

    def result(self, tally: Tally | None = None) -> Found:  # noqa: ARG002 (the rounds are counted as they end)
        """The values that were found, when the discovery is done."""
        if not self.done:
            raise InvalidInputError(
                f"this discovery is not done: round {self.number} of {self.expected_rounds} is under way"
            )
        history = self._history
        assert history is not None  # noqa: S101 (for the type checker)
        history = history.take(history.finished)
        posterior = posterior_of(history, self.grid, alike=self.code.alike)
        items = [self.code.decode(row.tobytes(), self._length(history)) for row in history.rows]
        known = [place for place, item in enumerate(items) if item is not None]
        items, posterior = [items[place] for place in known], posterior.take(np.array(known, np.intp))
        chances = posterior.in_top(self.top)
        best = listed(chances, posterior.held, posterior.means, self.top)
        n = sum(measured.noise.users for measured in history.rounds)
        return Found(
            [items[place] for place in best.tolist()],
            posterior.means[best] * n,
            chances[best],
            n,
            self.epsilon,
            self._notes(),
            posterior=posterior.take(best),
        )

    def _length(self, history: History) -> int:
        return history.position

    def _notes(self) -> tuple[str, ...]:
        if not self._unfinished:
            return ()
        named = ", ".join(repr(prefix) for prefix in self._unfinished)
        return (f"Some values were too long to be found whole in {self.number} rounds; they begin with {named}.",)

    def _next(self, history: History, used: int) -> Self:
        """The discovery with one more round over, which counts."""
        unfinished = self._unfinished
        if not self.schedule.left(history.position):  # only whole values are asked for from now on
            unfinished = self._named(history)
            history = history.take(history.finished)
        opened = int((~history.finished).sum())
        short = self.schedule.is_short(history.position, used, opened)
        return self._at(self.number + 1, history, used, unfinished, short=short)

    def _at(
        self,
        number: int,
        history: History,
        used: int,
        unfinished: tuple[str, ...],
        *,
        short: bool = False,
        over: bool = False,
    ) -> Self:
        """This discovery where `number` rounds are over, and so many places used, with this history."""
        following = object.__new__(type(self))
        for name in ("code", "epsilon", "users", "top", "name", "design"):
            setattr(following, name, getattr(self, name))
        following._number, following._used, following._history = number, used, history
        following._unfinished, following._short, following._over = unfinished, short, over
        opened = history.rows[~history.finished]
        bits = self.schedule.bits(history.position, len(opened))
        following._candidates = Candidates(history.position, bits, opened, history.rows[history.finished])
        following._freeze()
        return following

    def _named(self, history: History) -> tuple[str, ...]:
        """The likeliest prefixes that are not finished, for people."""
        opened = history.take(~history.finished)
        if not len(opened.rows):
            return ()
        chances = self.grid.tail(opened.beliefs(self.grid), self.heavy)
        likely = [place for place in np.argsort(-chances, kind="stable")[:_SHOWN].tolist() if chances[place] > 0.5]
        return tuple(self.code.shown_prefix(opened.rows[place].tobytes(), history.position) for place in likely)

    def state(self) -> dict[str, Any]:
        history = self._history
        return {
            "round": self.number,
            "used": self._used,
            "short": self._short,
            "over": self._over,
            "unfinished": list(self._unfinished),
            "history": None if history is None else history.document(),
        }

    def with_state(self, state: dict[str, Any]) -> Self:
        if state["history"] is None:
            return self
        history = History.from_document(state["history"], self.code.row_bytes)
        flags = {"short": state["short"], "over": state["over"]}
        return self._at(state["round"], history, state["used"], tuple(state["unfinished"]), **flags)

    def __repr__(self) -> str:
        state = "done" if self.done else f"round {self.number} of {self.expected_rounds}"
        return f"<Discovery {self.fingerprint[:12]}: top {self.top} of {self.users:,} users, {state}>"
