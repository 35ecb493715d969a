"""Checks of what people give for a questionnaire: its questions, its crossings, and parts that come from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

from localdp.errors import InvalidInputError
from localdp.questionnaires.asked import unknown_names
from localdp.questionnaires.part import BETWEEN
from localdp.questions import Question
from localdp.studies.places import PLACES
from localdp.validation import shown

MOST_QUESTIONS, MOST_PARTS, MOST_CELLS = 100, 1_000, 100_000
"""What a questionnaire may have at most; the last is the number of cells of a part."""
_MOST_IN_ALL = 1 << 20
"""The most cells of all questions together: a short document of a hundred scales must not fill a device's memory."""
_LONGEST_NAME = 60

Names = tuple[str, ...]
"""The names of the questions that a part asks."""

Asking = tuple[Names, int, str]
"""What a part asks, its number of places, and the name of its mechanism."""


def checked_text(text: Any, what: str, least: int = 1) -> str:
    """A name, if it can be one."""
    if (
        not isinstance(text, str)
        or not least <= len(text) <= _LONGEST_NAME
        or BETWEEN in text
        or not text.isprintable()
    ):
        raise InvalidInputError(
            f"{what} is text of {least} to {_LONGEST_NAME} characters without commas, not {shown(text)}"
        )
    return text


def checked_questions(questions: Any) -> dict[str, Question]:
    """The questions by name."""
    if not isinstance(questions, Mapping) or not questions:
        raise InvalidInputError(
            f"questions are given by name, such as {{'diet': ldp.Choice(['vegan', 'any'])}}, not {shown(questions)}"
        )
    if len(questions) > MOST_QUESTIONS:
        raise InvalidInputError(f"a questionnaire has at most {MOST_QUESTIONS} questions, not {len(questions)}")
    for name, question in questions.items():
        checked_text(name, "the name of a question")
        if not isinstance(question, Question):
            raise InvalidInputError(
                f"{name!r:.60} is asked by a question such as ldp.Choice([...]), not by {shown(question)}. Questions "
                "that depend on another answer cannot be asked: whether a device answers would tell that answer"
            )
    cells = sum(question.cells.size + 1 for question in questions.values())  # with one for no answer
    if cells > _MOST_IN_ALL:
        raise InvalidInputError(
            f"the questions of a questionnaire have at most {_MOST_IN_ALL:,} answers together, not {cells:,}: use "
            "fewer answers, or wider bins"
        )
    return dict(questions)


def checked_crossings(cross: Any, questions: dict[str, Question]) -> tuple[Names, ...]:
    """The pairs to ask, each in the order of the questions and once."""
    single = [name for name, question in questions.items() if not question.total(1)]
    if cross is None:
        return ()
    if isinstance(cross, str):
        if cross != "all":
            raise InvalidInputError(f"cross is a list of pairs of questions, or 'all', not {cross!r:.60}")
        pairs: list[Names] = list(combinations([name for name in questions if name not in single], 2))
        _check_cells(pairs, questions)
        return tuple(pairs)
    if not isinstance(cross, Iterable):
        raise InvalidInputError(f"cross is a list of pairs of questions, or 'all', not {shown(cross)}")
    order, found = list(questions), []
    for pair in cross:
        names = tuple(pair) if isinstance(pair, tuple | list) else (pair,)
        unknown = [name for name in names if name not in questions]
        if unknown:
            raise unknown_names(unknown, questions)
        if len(names) != 2 or names[0] == names[1]:
            raise InvalidInputError(
                f"a crossing is a pair of two questions, such as ('diet', 'age'), not {shown(pair)}"
            )
        several = [name for name in names if name in single]
        if several:
            raise InvalidInputError(
                f"{several[0]!r:.60} has several answers of one person, and cannot be crossed: cross a yes/no question "
                "for each answer that matters"
            )
        found.append(tuple(sorted(names, key=order.index)))
    pairs = list(dict.fromkeys(found))
    _check_cells(pairs, questions)
    return tuple(pairs)


def _check_cells(pairs: list[Names], questions: dict[str, Question]) -> None:
    if len(pairs) + len(questions) > MOST_PARTS:
        raise InvalidInputError(
            f"a questionnaire has at most {MOST_PARTS:,} parts, and this one {len(pairs) + len(questions):,}: cross "
            "the pairs that matter"
        )
    for one, other in pairs:
        cells = questions[one].cells.size * questions[other].cells.size
        if cells > MOST_CELLS:
            raise InvalidInputError(
                f"the table of {one!r:.60} and {other!r:.60} has {cells:,} cells, and at most {MOST_CELLS:,} can be "
                "asked: use fewer answers, or wider bins"
            )


def check_asked(asked: Iterable[Asking], questions: dict[str, Question]) -> None:
    """Raise an error unless parts from elsewhere ask known questions, all of them, of all places together."""
    seen = set()
    for names, places, mechanism in asked:
        known = 1 <= len(names) <= 2 and len(set(names)) == len(names) and all(name in questions for name in names)
        if not known or names in seen or type(places) is not int or places < 1 or not isinstance(mechanism, str):
            raise InvalidInputError("a part asks one question or two, and has a number of places and a mechanism")
        if mechanism == "auto":
            raise InvalidInputError("the parts of a questionnaire name their mechanisms")
        seen.add(names)
    pairs = [names for names in seen if len(names) == 2]
    checked_crossings(pairs, questions)
    if sum(places for _, places, _ in asked) != PLACES or {name for names in seen for name in names} != set(questions):
        raise InvalidInputError(f"the parts ask all questions, and have {PLACES:,} places together")
