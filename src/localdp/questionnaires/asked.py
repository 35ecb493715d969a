"""The question of a part: a person's form, with the answers to all questions, is read into one cell of the part.

The cells of a part that asks two questions are pairs of answers, row after row: cell i * columns + j is the i-th answer
to the first question with the j-th answer to the second one. A question that was skipped, or has an answer that is not
listed, has a cell too, so every form has exactly one cell, and reading it never fails because of an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np

from localdp.domain import Domain
from localdp.errors import InvalidInputError
from localdp.held import Held, OneEach
from localdp.questions import Question, Words
from localdp.validation import shown

_SEVERAL = (list, tuple, set, frozenset, range, np.ndarray)


class Asked(Question):
    """What a part asks: one or two questions of a form. `form` has all questions of it, each with a cell for no answer.

    >>> from localdp import Choice
    >>> form = {"diet": Choice(["vegan", "any"], other="no answer"), "age": Choice(["young", "old"], other="no answer")}
    >>> Asked(form, ("diet", "age")).read([{"diet": "any", "age": "young"}, {"diet": "vegan"}]).items.tolist()
    [3, 2]
    """

    name = "asked"
    words = Words(answer="one form with the answers to all questions", example="{'diet': 'vegan', 'age': 'young'}")

    def __init__(self, form: Mapping[str, Question], names: tuple[str, ...]) -> None:
        self.form, self.names = dict(form), names
        self.asked = tuple(self.form[name] for name in names)
        crossed = len(self.asked) > 1
        self.cells = Domain(prod(one.cells.size for one in self.asked)) if crossed else self.asked[0].cells
        self._freeze()

    @property
    def takes_everything(self) -> bool:
        return True

    def read(self, values: Any) -> Held:
        forms = list(values)
        for form in forms:
            self._check(form)
        return self.read_columns({name: [form.get(name) for form in forms] for name in self.names})

    def read_columns(self, columns: Mapping[str, Any]) -> Held:
        """The cells of people whose answers to each question stand in a column."""
        return self.held([read_all(self.form[name], columns[name]) for name in self.names])

    def held(self, answers: Sequence[Held]) -> Held:
        """The cells of people who hold these cells of each of the questions."""
        if len(answers) == 1:
            return answers[0]
        found = np.zeros(answers[0].users, np.int64)
        for question, one in zip(self.asked, answers, strict=True):
            found = found * question.cells.size + one.one_each()
        return OneEach(found)

    def _check(self, form: Any) -> None:
        if not isinstance(form, Mapping):
            raise InvalidInputError(
                "the answers of a person are a dictionary with an answer to each question, such as "
                f"{self.words.example}, not {shown(form)}"
            )
        unknown = [name for name in form if name not in self.form]
        if unknown:
            raise unknown_names(unknown, self.form)

    def details(self) -> dict[str, Any]:
        return {"form": {name: one.document() for name, one in self.form.items()}, "asks": list(self.names)}

    @classmethod
    def from_details(cls, details: dict[str, Any]) -> NoReturn:  # noqa: ARG003
        """A form is read with its questionnaire only."""
        raise InvalidInputError("a part of a questionnaire is read with the questionnaire that it belongs to")

    def describe(self, where: str = "") -> str:
        return f"{' and '.join(self.names)}{where}, {self.cells.size:,} cells"


def read_all(question: Question, answers: Any) -> Held:
    """The cells of these answers to a question that takes everything.

    Of a question with several answers, what is no list is taken as one answer: None is one that is not listed.
    """
    if question.layout == "sets":
        answers = [answer if isinstance(answer, _SEVERAL) else [answer] for answer in answers]
    return question.read(answers)


def unknown_names(unknown: list[Any], known: Mapping[str, Any]) -> InvalidInputError:
    """An error that says which names are not those of questions."""
    return InvalidInputError(
        f"there is no question {unknown[0]!r:.60}: the questions are {', '.join(map(repr, known))!s:.300}"
    )
