"""A discovery: which round is under way, what the rounds before it measured, and in the end what was found."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from localdp.discovery import steps
from localdp.discovery.belief import SURE, Grid, Noise
from localdp.discovery.codes import Code, Keys, code_named, text_code
from localdp.discovery.design import CELLS, MOST_ROUNDS, Design, best_design
from localdp.discovery.found import BEGINNING, WHOLE, Found, listed
from localdp.discovery.history import History
from localdp.discovery.posteriors import Beginning, posterior_of, posterior_of_beginnings, posterior_of_known, together
from localdp.discovery.prefixes import Candidates, prefix_rows
from localdp.discovery.ranks import in_top
from localdp.discovery.reach import Reach
from localdp.discovery.rounds import Round, first_candidates
from localdp.discovery.schedule import Schedule
from localdp.discovery.steps import Step
from localdp.errors import InvalidInputError, PlanMismatchError, TooFewReportsError
from localdp.mechanisms import LinearLocalHashing
from localdp.plan import Aggregate
from localdp.plan.limits import Limits
from localdp.studies.series import LEAST_REPORTS, Series
from localdp.studies.tally import Tally
from localdp.table import Table
from localdp.types import Vector
from localdp.validation import checked_amount, checked_epsilon, checked_users

_MOST_TOP = 1_000
_SHOWN = 5  # beginnings that are listed at once


class Discovery(Series):
    """Find the most frequent values among `users` people, though nobody has listed them, each answering one round.

    Values are text of at most `most_bytes` bytes in UTF-8, or keys: whole numbers below 2^bits, if `bits` is given.
    Texts of every script can be found; with `alphabet` (all characters that they have) or public `examples` they take
    fewer bits. `known` are values that anybody may know, such as a dictionary: they need not be found bit by bit.
    `users` is about how many people will take part and `top` how many values are wanted; with epsilon they decide how
    many rounds there are and how many people answer each. `rounds` sets the number of rounds instead; more rounds find
    longer texts. `name` distinguishes discoveries that are otherwise alike.

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
        alphabet: str | None = None,
        examples: Any = None,
        known: Any = (),
        rounds: int | None = None,
        name: str = "",
    ) -> None:
        if bits is not None and any(option is not None for option in (most_bytes, alphabet, examples)):
            raise InvalidInputError(
                "values are keys (bits) or text (most_bytes, alphabet, examples): give one of the two"
            )
        known = () if known is None else known
        self.code: Code = text_code(most_bytes, alphabet, examples, known) if bits is None else Keys(bits, known)
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
        if self.reach.finds_nothing:
            raise TooFewReportsError(
                f"with {self.users:,} users and epsilon {self.epsilon:g} nothing would be found, not even a value that "
                "half of them hold: ask more people, or list the values in a plan"
            )

    def _total(self, rounds: int | None, said: bool) -> int:
        """The bits to plan for. `said` tells whether somebody said how long texts are."""
        if rounds is not None:
            return self.code.bits_in(rounds)
        return self.code.planned_bits if said else self.code.usual_bits(self.users)

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
        self._unfinished: tuple[Beginning, ...] = ()
        self._short = self._over = False
        self._freeze()

    @cached_property
    def schedule(self) -> Schedule:
        """How many bits and users the rounds have."""
        return Schedule(self.code, self.design, self.users, LinearLocalHashing(CELLS, self.epsilon).variance(1))

    @cached_property
    def reach(self) -> Reach:
        """Which shares of the users can be found, and with which probability."""
        schedule = self.schedule
        return Reach(self.design, self.users, schedule.variance, self.top, self.code.alike, len(self.code.known))

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
        span = self.schedule.span(known.position, self._used, self._open_shares, short=self._short)
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
        noise = Noise.of(current.plan.mechanism, aggregate.n)
        known, used = self._candidates, current.span.end
        if not len(known.open):
            assert self._history is not None  # noqa: S101 (for the type checker)
            last = steps.last(self._history, known, estimate, noise)
            return self._at(self.number + 1, last, used, self._unfinished, over=True)
        end = known.position + known.bits
        step = Step(self.code, self.grid, self.heavy, self.schedule.room(end), self.schedule.drops(end))
        if self._history is None:
            return self._next(step.first(known, estimate, noise), used)
        before = self._history
        if self._short and not self.schedule.resolved(*step.explained(before, known, estimate, noise)):
            return self._at(self.number + 1, before, used, self._unfinished)
        after = step.later(before, known, estimate, noise)
        lost = () if self.schedule.left(known.position) else self._without_extension(before, after)
        return self._next(after, used, (*self._unfinished, *lost))

    @cached_property
    def _open_shares(self) -> Vector:
        """The share of each open candidate, as far as it is known."""
        if self._history is None:
            return np.ones(len(self._candidates.open))
        opened = self._history.take(~self._history.finished)
        return np.asarray(opened.beliefs(self.grid) @ self.grid.shares)

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
        decoded = [self.code.decode(row.tobytes(), history.position) for row in history.rows]
        whole = np.array([place for place, item in enumerate(decoded) if item is not None], np.intp)
        items = [*(decoded[place] for place in whole), *self.code.known]
        known = posterior_of_known(history, self.grid)
        posterior, ranking = (
            together([posterior_of(history, self.grid, alike=self.code.alike, ranks=ranks).take(whole), known])
            for ranks in (False, True)
        )
        rounds = np.append(history.since[whole] + 1, np.zeros(len(self.code.known), np.int64))
        chances = in_top(ranking, self.top, self.reach, rounds)
        best = listed(chances, ranking.held, posterior.means, self.top)
        begun = tuple(one for one in self._unfinished if one.is_measured)
        return Found(
            [items[place] for place in best.tolist()],
            posterior.means[best] * history.users,
            chances[best],
            history.users,
            self.epsilon,
            self._notes(len(best)),
            posterior=posterior.take(best),
            beginnings=tuple(one.text for one in begun),
            of_beginnings=posterior_of_beginnings(begun, self.grid),
        )

    def promise(self) -> str:
        return self.reach.sentence()

    def so_far(self) -> Table:
        """Values that were found whole, and the likeliest beginnings of others, each with its share."""
        history, found = self._history, dict[tuple[str, str], float]()
        if history is not None:
            whole, opened = history.take(history.finished), history.take(~history.finished)
            for row, share in zip(whole.rows, whole.beliefs(self.grid) @ self.grid.shares, strict=True):
                item = self.code.decode(row.tobytes(), history.position)
                if item is not None and share >= self.heavy:
                    found[str(item), WHOLE] = float(share)
            for one in (*self._unfinished, *self._beginnings(opened)):
                found[one.text, BEGINNING] = max(0.0, one.estimate)
        best = sorted(found, key=lambda one: -found[one])[: self.top]
        shares = np.array([found[one] for one in best], np.float64)
        columns = {"item": [item for item, _ in best], "share": shares, "kind": [kind for _, kind in best]}
        return Table(columns, f"so far, after {self.number} rounds", {"share": ".2%"})

    def _notes(self, count: int) -> tuple[str, ...]:
        notes = []
        if self._unfinished:
            named = ", ".join(repr(one.text) for one in self._unfinished)
            notes.append(
                f"Some values were too long to be found whole in {self.number} rounds; they begin with {named}."
            )
        if count < self.top:
            notes.append(self.reach.sentence())
        return tuple(notes)

    def _next(self, history: History, used: int, unfinished: tuple[Beginning, ...] = ()) -> Self:
        """The discovery with one more round over, which counts."""
        if not self.schedule.left(history.position):  # only what is worth following is asked for from now on
            opened = history.take(~history.finished)
            beliefs = opened.beliefs(self.grid)
            sure = self.grid.tail(beliefs, self.heavy) > SURE
            followed = sure & self.schedule.followed(history.position, used, beliefs @ self.grid.shares)
            unfinished = (*unfinished, *self._beginnings(opened.take(~followed)))
            kept = history.finished.copy()
            kept[np.flatnonzero(~history.finished)[followed]] = True
            history = history.take(kept)
        opened_now = int((~history.finished).sum())
        short = self.schedule.is_short(history.position, used, opened_now)
        return self._at(self.number + 1, history, used, unfinished, short=short)

    def _without_extension(self, before: History, after: History) -> tuple[Beginning, ...]:
        """The candidates that were followed beyond the plan, and of which no extension was found."""
        opened = before.take(~before.finished)
        found = {row.tobytes() for row in prefix_rows(after.rows, before.position)}
        lost = [row.tobytes() not in found for row in prefix_rows(opened.rows, before.position)]
        return self._beginnings(opened.take(np.array(lost, np.bool_)))

    def _at(
        self,
        number: int,
        history: History,
        used: int,
        unfinished: tuple[Beginning, ...],
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
        least = float(following._open_shares.min(initial=1.0))
        bits = self.schedule.bits(history.position, len(opened), least)
        finished = history.rows[history.finished]
        following._candidates = Candidates(history.position, bits, opened, finished, len(self.code.known))
        following._freeze()
        return following

    def _beginnings(self, opened: History) -> tuple[Beginning, ...]:
        """The likeliest of these open candidates, by the text that they show; those that show the same are one."""
        if not len(opened.rows):
            return ()
        chances = self.grid.tail(opened.beliefs(self.grid), self.heavy)
        found: dict[str, Beginning] = {}
        noise = opened.rounds[-1].noise
        for place in np.argsort(-chances, kind="stable").tolist():
            text = self.code.shown_prefix(opened.rows[place].tobytes(), opened.position)
            if chances[place] > SURE and (text in found or len(found) < _SHOWN):
                estimate = float(opened.estimates[place, -1])
                one = Beginning(text, estimate, float(noise.at(min(max(estimate, 0.0), 1.0))))
                found[text] = one.with_more(found.get(text))
        return tuple(found.values())

    def state(self) -> dict[str, Any]:
        history = self._history
        return {
            "round": self.number,
            "used": self._used,
            "short": self._short,
            "over": self._over,
            "unfinished": [one.document() for one in self._unfinished],
            "history": None if history is None else history.document(),
        }

    def with_state(self, state: dict[str, Any]) -> Self:
        if state["history"] is None:
            return self
        history = History.from_document(state["history"], self.code.row_bytes)
        flags = {"short": state["short"], "over": state["over"]}
        unfinished = tuple(map(Beginning.from_document, state["unfinished"]))
        return self._at(state["round"], history, state["used"], unfinished, **flags)

    def __repr__(self) -> str:
        state = "done" if self.done else f"round {self.number} of {self.expected_rounds}"
        return f"<Discovery {self.fingerprint[:12]}: top {self.top} of {self.users:,} users, {state}>"
