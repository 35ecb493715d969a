"""The result of a questionnaire: a table for every question and every crossing, all estimated together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from localdp.calibrate.base import Quantity
from localdp.domain import Domain
from localdp.errors import InvalidInputError, UnknownItemError
from localdp.estimate.calibrated import Calibrated
from localdp.estimate.frequencies import INTERVALS
from localdp.estimate.in_survey import InSurvey
from localdp.frozen import Frozen
from localdp.hitters.result import SHARE
from localdp.plan import Aggregate
from localdp.priors import FittedPrior, Fixed, NoiseByItem
from localdp.priors.fitting.observations_by_item import observations_of
from localdp.questionnaires.asked import unknown_names
from localdp.questionnaires.association import Association, association
from localdp.questionnaires.draws import Draws, draw
from localdp.questionnaires.observed import Layout, Observed
from localdp.questionnaires.part import BETWEEN
from localdp.questionnaires.posterior import MORE_DOUBT, MORE_DOUBT_ALONE, DrawnPosterior, FirstCells
from localdp.questions import Question
from localdp.table import Table, Tabular
from localdp.types import Places, Vector
from localdp.validation import checked_level, shown

if TYPE_CHECKING:
    from localdp.questionnaires.questionnaire import Questionnaire

RARELY = 0.03
"""The share of people who do not answer around which it lies before anything is seen."""

_JOINED = " \N{MULTIPLICATION SIGN} "
_POPULATION = "shares speak of everybody whom the people who answered stand for, and agree between tables"


class QuestionnaireResult(Tabular, Frozen):
    """Tables of shares: `result["diet"]`, and `result["diet", "age"]` if the two were crossed.

    Each is a `Calibrated` whose `shares` has the declared answers, as shares of all people. They speak of the
    population that the people were drawn from, because each part is a sample of it. All tables have the same margins.
    `n` is the number of people who reported.

    >>> from localdp import Choice, Questionnaire
    >>> questions = {"diet": Choice(["vegan", "any"]), "age": Choice(["young", "old"])}
    >>> survey = Questionnaire(questions, epsilon=4.0, cross="all")
    >>> answers = {"diet": ["vegan"] * 6_000 + ["any"] * 6_000, "age": ["young"] * 9_000 + ["old"] * 3_000}
    >>> result = survey.simulate(answers, seed=1).calibrate()
    >>> result["diet", "age"].shares.shape
    (2, 2)
    >>> result["age"].given(diet="any").shares.round(1).tolist()
    [0.5, 0.5]
    """

    def __init__(self, survey: Questionnaire, counted: Mapping[str, Aggregate]) -> None:
        self.survey = survey
        self.counted = dict(counted)
        self.n = sum(aggregate.n for aggregate in self.counted.values())
        self._freeze()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of all tables."""
        return (_POPULATION,)

    def __getitem__(self, key: str | tuple[str, ...]) -> Calibrated:
        names = tuple(key) if isinstance(key, tuple | list) else (key,)
        unknown = [name for name in names if name not in self.survey.questions]
        if unknown:
            raise unknown_names(unknown, self.survey.questions)
        if len(names) == 1:
            return self._one(names[0])
        if len(names) != 2 or names[0] == names[1]:
            raise InvalidInputError(
                f"a table is of one question or of two different ones, such as result['diet', 'age'], not of {names}"
            )
        return self._joint(names[0], names[1])

    def association(self, one: str, other: str, level: float = INTERVALS) -> Association:
        """How strongly two crossed questions have to do with each other: Cramer's V, and a test of independence.

        `p_value` is that of independence; below 0.05, the two have to do with each other unless that is one of the 5%
        of cases in which it is below by chance.
        """
        _ = self[one, other]
        pair = sorted((one, other), key=self._place.__getitem__)
        rows, columns = (self.survey.questions[name].cells.size for name in pair)
        best, draws = self.whole_table(*pair)
        return association(best, draws, self.counted[BETWEEN.join(pair)], (rows, columns), checked_level(level))

    def table(self) -> Table:
        """All questions that were asked, one after the other, with the share of each answer and its interval."""
        columns: dict[str, list[Any]] = {"question": [], "answer": [], "share": [], "low": [], "high": []}
        for name, one in self._single().items():
            low, high = one.interval()
            columns["question"] += [name] * one.domain.size
            columns["answer"] += list(map(str, one.domain.items))
            for column, values in (("share", one.frequencies), ("low", low), ("high", high)):
                columns[column] += (values / one.n).tolist()
        made = {name: np.array(values) if name in _NUMBERS else values for name, values in columns.items()}
        title = f"{len(self.survey.questions)} questions among {self.n:,} people, intervals of {INTERVALS:.0%}"
        return Table(made, title, dict.fromkeys(_NUMBERS, SHARE))

    def tables(self) -> dict[str, Table]:
        """A table for each question, and for each pair that was crossed, named by its part: "diet", "diet,age"."""
        found = {name: self._with_no_answer(name, one) for name, one in self._single().items()}
        for pair in self.survey.crossings:
            if self.counted[BETWEEN.join(pair)].n:
                found[BETWEEN.join(pair)] = _listed(pair, self[pair])
        return found

    def tables_given(self, name: str, answer: Any) -> dict[str, Table]:
        """What the people with this answer to one question say to those that were crossed with it.

        A question has a table of its answers; one with a scale has another with the mean, the median and percentiles.
        """
        if name not in self.survey.questions:
            raise unknown_names([name], self.survey.questions)
        found: dict[str, Table] = {}
        crossed = (pair for pair in self.survey.crossings if name in pair and self.counted[BETWEEN.join(pair)].n)
        for other in [two if one == name else one for one, two in crossed]:
            some = self[other].given({name: answer})
            found[other] = _listed((other,), some)
            if summed_up := some.summary():
                found[f"{other}{_SUMMED}"] = _summary_table(summed_up, found[other].title)
        if not found:
            raise InvalidInputError(
                f"no question was asked together with {name!r:.60}: cross them to read one given it"
            )
        return found

    def _with_no_answer(self, name: str, one: Calibrated) -> Table:
        """The answers to a question, and the share of the people who gave none, if that is counted apart."""
        listed = _listed((name,), one)
        form = self.survey.form[name].cells
        if one.survey is None or form.size == one.domain.size:
            return listed
        none = one.no_answer
        last = {"share": none.value, "low": none.low, "high": none.high}
        columns: dict[str, Any] = {_head(name): [*listed.columns[_head(name)], str(form.items[-1])]}
        columns |= {column: np.append(listed.columns[column], [value]) for column, value in last.items()}
        return Table(columns, listed.title, listed.formats)

    def _single(self) -> dict[str, Calibrated]:
        return {name: self._one(name) for name in self.survey.questions if self._is_known(name)}

    def _is_known(self, name: str) -> bool:
        """Whether somebody was asked this question."""
        return any(aggregate.n for key, aggregate in self.counted.items() if name in key.split(BETWEEN))

    def _one(self, name: str) -> Calibrated:
        if not self._is_known(name):
            raise InvalidInputError(f"nobody has answered {name!r:.60} yet: wait for more reports")
        question = self.survey.questions[name]
        if name not in self._place:
            return self._several(name, self.counted[name].estimate().calibrate())  # nothing is crossed
        cells = self._draws.layout.of(self._place[name])
        declared = np.arange(question.cells.size)
        best, draws = self._draws.alone[cells], self._draws.alone_draws[:, cells]
        return self._made(best, draws, declared, (name,), self.n, MORE_DOUBT_ALONE)

    def _several(self, name: str, counted: Calibrated) -> Calibrated:
        """What the people who were asked a question with several answers hold, without the cell for no answer."""
        cells = self.survey.questions[name].cells
        if counted.domain == cells:
            return counted
        known = FirstCells(counted._posterior, cells.size, counted.domain.size)
        noise = counted.noise
        if isinstance(noise, NoiseByItem):
            noise = NoiseByItem(noise.variances[: cells.size], noise.excess)
        member = _Several(known, (cells.size,), counted.notes, name, counted.n)
        estimates = counted.estimates[: cells.size]
        return replace(counted, estimates=estimates, domain=cells, noise=noise, known=known, survey=member, doubts=())

    def _joint(self, one: str, other: str) -> Calibrated:
        best, draws = self.whole_table(one, other)
        rows, columns = (self.survey.questions[name].cells.size for name in (one, other))
        declared = (np.arange(rows)[:, None] * best.shape[1] + np.arange(columns)).ravel()
        flat = best.ravel(), draws.reshape(draws.shape[0], -1)
        return self._made(*flat, declared, (one, other), self.n)

    def whole_table(self, one: str, other: str) -> tuple[Vector, Vector]:
        """The table of two crossed questions with all cells, also those for no answer, and draws of it."""
        place = self._place
        several = [name for name in (one, other) if name not in place]
        if several:
            raise InvalidInputError(f"{several[0]!r:.60} has several answers of one person, and is in no table of two")
        names = sorted((one, other), key=place.__getitem__)
        key = place[names[0]], place[names[1]]
        if BETWEEN.join(names) not in self.counted:
            raise InvalidInputError(
                f"{one!r:.60} and {other!r:.60} were not asked together, so their table is not known: add "
                f"({names[0]!r:.60}, {names[1]!r:.60}) to cross in the next questionnaire"
            )
        if key not in self._draws.tables:
            raise InvalidInputError(f"nobody was asked {one!r:.60} and {other!r:.60} yet: wait for more reports")
        best, draws = self._draws.tables[key], self._draws.table_draws[key]
        return (best, draws) if place[one] < place[other] else (best.T, draws.transpose(0, 2, 1))

    def _made(
        self,
        best: Vector,
        draws: Vector,
        declared: Places,
        names: tuple[str, ...],
        n: int,
        doubt: float = MORE_DOUBT,
    ) -> Calibrated:
        """The frequencies of declared cells, among n people, from the shares of all cells."""
        posterior = DrawnPosterior(best[declared], draws[:, declared], n, doubt)
        questions = [self.survey.questions[name] for name in names]
        shape = tuple(question.cells.size for question in questions)
        frequencies = posterior.means()
        noise = NoiseByItem(posterior.deviations() ** 2)
        made = Calibrated(
            frequencies,
            n,
            questions[0].cells if len(names) == 1 else _pairs(*questions),
            _prior_of(frequencies, noise, n),
            noise,
            survey=_Member(self, names, posterior, shape, (best, draws, declared)),
        )
        return questions[0].result(made) if len(names) == 1 else made

    @cached_property
    def _place(self) -> dict[str, int]:
        """The number of each question that is estimated together with others."""
        single = (name for name, question in self.survey.questions.items() if question.total(1) is not None)
        return {name: one for one, name in enumerate(single)}

    @cached_property
    def _draws(self) -> Draws:
        """All tables, estimated together."""
        asked, forms = {part.key: part for part in self.survey.parts()}, self.survey.form
        names = tuple(self._place)
        layout = Layout(names, tuple(forms[name].cells.size for name in names))
        counted = [(asked[key], some) for key, some in self.counted.items() if set(key.split(BETWEEN)) <= set(names)]
        ordered, centre = [], []
        for name in names:
            declared, cells = self.survey.questions[name].cells.size, forms[name].cells.size
            structure = self.survey.questions[name].structure
            ordered.append(0 if structure is None else structure.in_order(declared))
            centre += [1 / declared] * declared + [RARELY] * (cells - declared)
        return draw(Observed.of(layout, counted), tuple(ordered), np.array(centre))

    def __repr__(self) -> str:
        return f"<Result of {self.survey!r}: {self.n:,} people>"


_NUMBERS = ("share", "low", "high")
_SUMMED = " summary"


@dataclass(frozen=True, eq=False)
class _Member(InSurvey):
    """The place of a table in its questionnaire; `shares` are the best ones, draws of them, and the declared cells."""

    result: QuestionnaireResult
    names: tuple[str, ...]
    posterior: DrawnPosterior
    shape: tuple[int, ...]
    shares: tuple[Vector, Vector, Places]
    notes: tuple[str, ...] = (_POPULATION,)

    def no_answer(self, level: float) -> Quantity:
        best, draws, declared = self.shares
        others = np.setdiff1d(np.arange(best.size), declared)
        if not others.size:
            return Quantity(0.0, 0.0, 0.0, level)
        known = DrawnPosterior(best[others], draws[:, others], 1.0, self.posterior.doubt)
        return known.linear(np.ones(others.size), level)

    def given(self, answers: Mapping[str, Any]) -> Calibrated:
        if len(self.names) != 1 or len(answers) != 1:
            raise InvalidInputError(
                "conditional shares are of one question, given the answer to one other: result['age'].given(diet=...)"
            )
        (name, answer), (own,) = next(iter(answers.items())), self.names
        if name not in self.result.survey.questions:
            raise unknown_names([name], self.result.survey.questions)
        if name == own:
            raise InvalidInputError(f"{name!r:.60} is the question itself: give an answer to another one")
        best, draws = self.result.whole_table(name, own)
        chosen = _chosen(name, self.result.survey.questions[name], answer)
        some, drawn = best[chosen].sum(axis=0), draws[:, chosen].sum(axis=1)
        share, shares = float(some.sum()), drawn.sum(axis=1, keepdims=True)
        people = max(1, round(self.result.n * share))
        declared = np.arange(self.shape[0])
        return self.result._made(some / share, drawn / np.maximum(shares, 1e-300), declared, (own,), people)


@dataclass(frozen=True, eq=False)
class _Several(InSurvey):
    """The place of a question with several answers, which stands alone."""

    posterior: FirstCells
    shape: tuple[int, ...]
    notes: tuple[str, ...]
    name: str
    n: int

    def no_answer(self, level: float) -> Quantity:
        value, low, high = (np.clip(self.posterior.last(level), 0, self.n) / self.n).tolist()
        return Quantity(value, low, high, level)

    def given(self, answers: Mapping[str, Any]) -> Calibrated:  # noqa: ARG002 (any answers are refused)
        raise InvalidInputError(f"{self.name!r:.60} has several answers of one person, and is in no table of two")


def _chosen(name: str, question: Question, answer: Any) -> Places:
    """The cells of an answer, or of several."""
    several = (
        [answer] if isinstance(answer, str | bytes | Mapping) or not isinstance(answer, Iterable) else list(answer)
    )
    if not several:
        raise InvalidInputError("given no answer at all there are no people: give one answer, or a list of some")
    try:
        return np.unique(question.read(several).one_each()).astype(np.intp)
    except UnknownItemError:
        known = ", ".join(map(repr, question.cells.items))
        raise UnknownItemError(f"{shown(answer)} is no answer to {name!r:.60}: the answers are {known:.300}") from None


def _prior_of(frequencies: Vector, noise: NoiseByItem, n: int) -> FittedPrior:
    """The distribution of the frequencies themselves: what a prior says, once everything is estimated."""
    return Fixed(np.clip(np.round(frequencies), 0, n)).fit(observations_of(frequencies, noise, n, None))


def _pairs(rows: Question, columns: Question) -> Domain:
    """The cells of a table, row after row."""
    labels = [f"{one}{_JOINED}{other}" for one in rows.cells.items for other in columns.cells.items]
    return Domain(labels if len(set(labels)) == len(labels) else len(labels))


def _summary_table(found: Mapping[str, Quantity], title: str) -> Table:
    columns: dict[str, Any] = {"of": list(found)}
    columns |= {name: np.array([getattr(one, name) for one in found.values()]) for name in ("value", "low", "high")}
    return Table(columns, title)


def _head(name: str) -> str:
    """What the column with the answers to a question is called: its name, unless other columns are called that."""
    return f"{name} (answer)" if name in (*_NUMBERS, "note") else name


def _listed(names: tuple[str, ...], one: Calibrated) -> Table:
    """The cells of a table as rows, with a column for each question."""
    low, high = one.interval()
    columns: dict[str, Any] = {}
    if len(names) == 1 or one.survey is None:
        columns[_head(names[0])] = list(map(str, one.domain.items))
    else:
        member = one.survey
        assert isinstance(member, _Member)  # noqa: S101 (for the type checker)
        rows, others = (member.result.survey.questions[name].cells.items for name in names)
        columns[_head(names[0])] = [str(item) for item in rows for _ in others]
        columns[_head(names[1])] = [str(item) for _ in rows for item in others]
    columns |= {"share": one.frequencies / one.n, "low": low / one.n, "high": high / one.n}
    title = f"{' and '.join(names)} among {one.n:,} people, intervals of {INTERVALS:.0%}"
    return Table(columns, title, dict.fromkeys(_NUMBERS, SHARE))
