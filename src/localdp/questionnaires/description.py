"""A questionnaire as people write it down, in JSON or TOML: for the command line and for the collector.

    {"epsilon": 2, "cross": [["diet", "age"]], "users": 50000,
     "questions": {"diet": {"items": ["vegan", "any"], "other": "something else"},
                   "likes": {"items": ["tea", "milk"], "most": 2},
                   "age": {"low": 10, "high": 90, "step": 10}}}

What a question has tells its kind: `low` and `high` are those of a `Scale`, `items` those of a `Choice`, and with
`most` those of `Choices`. A list alone is a `Choice` of its items.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from localdp.errors import InvalidInputError, LocalDPError
from localdp.questionnaires.questionnaire import Questionnaire
from localdp.questions import Choice, Choices, Question, Scale
from localdp.validation import shown

FIELDS = ("questions", "epsilon", "cross", "users", "name")
_KINDS = (("low", Scale), ("most", Choices), ("items", Choice))


def described(description: Any) -> Questionnaire:
    """The questionnaire with this description.

    >>> described({"questions": {"tea": ["yes", "no"], "stars": {"low": 1, "high": 5}}, "epsilon": 1.0})
    <Questionnaire ...: 2 questions, 2 parts, epsilon 1>
    """
    missing = [name for name in FIELDS[:2] if not isinstance(description, Mapping) or name not in description]
    if missing:
        raise InvalidInputError(
            'a questionnaire is described by "questions" and "epsilon", and perhaps "cross", "users" and "name": '
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        )
    unknown = [name for name in description if name not in FIELDS]
    if unknown:
        raise InvalidInputError(f"{unknown[0]!r:.60} is not part of a questionnaire; there are {', '.join(FIELDS)}")
    questions = description["questions"]
    if not isinstance(questions, Mapping):
        raise InvalidInputError(f'"questions" has a question for each name, not {shown(questions)}')
    made = {name: question_of(name, question) for name, question in questions.items()}
    rest = {name: value for name, value in description.items() if name != "questions" and value is not None}
    return Questionnaire(made, **rest)


def question_of(name: str, question: Any) -> Question:
    """The question with this description."""
    details = {"items": question} if isinstance(question, list) else question
    kind = next((kind for field, kind in _KINDS if field in details), None) if isinstance(details, Mapping) else None
    if kind is None:
        raise InvalidInputError(
            f'the question {name!r:.60} has "items", or "low" and "high" if it is a scale, not {shown(question)}'
        )
    known = list(inspect.signature(kind).parameters)
    unknown = [one for one in details if one not in known]
    if unknown:
        raise InvalidInputError(
            f"the question {name!r:.60} has {unknown[0]!r:.60}, and may have {', '.join(known)}. Questions that depend "
            "on another answer cannot be asked: whether a device answers would tell that answer"
        )
    try:
        return kind(**details)
    except TypeError:
        raise InvalidInputError(f"the question {name!r:.60} needs {', '.join(known[:2])}") from None
    except LocalDPError as error:
        raise type(error)(f"the question {name!r:.60}: {error}") from None
