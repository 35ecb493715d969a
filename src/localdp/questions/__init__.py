"""QUESTION: what people are asked, one file for each kind. A question knows its cells, its answers and its result.

| name | class | a person answers with |
|---|---|---|
| `choice` | `Choice` | one of a list |
| `choices` | `Choices` | several of a list |
| `scale` | `Scale` | a number |
"""

from __future__ import annotations

from typing import Any, TypeVar

from localdp.errors import PlanError
from localdp.questions.base import Question, Words
from localdp.questions.choice import Choice, domain_with
from localdp.questions.choices import Choices
from localdp.questions.scale import Scale
from localdp.registry import Registry

__all__ = ["QUESTIONS", "Choice", "Choices", "Question", "Scale", "Words", "domain_with", "question_in", "register"]

QUESTIONS: dict[str, type[Question]] = {kind.name: kind for kind in (Choice, Choices, Scale)}
"""The kinds of questions of the library, by name."""

_Kind = TypeVar("_Kind", bound=type[Question])
_REGISTRY: Registry[Question] = Registry(Question, set(QUESTIONS))


def register(kind: _Kind) -> _Kind:
    """Make a kind of question of your own known by its name, so that plans with it can be read. It can decorate."""
    _REGISTRY.add(kind)
    return kind


def question_in(document: dict[str, Any]) -> Question:
    """The question of a plan with this document. `KeyError` or `TypeError` for a misshapen one."""
    if "question" not in document:
        if "set_size" in document:
            return Choices.from_details({**document["domain"], "most": document["set_size"]})
        return Choice.from_details(document["domain"])
    details = dict(document["question"])
    name = details.pop("name")
    kind = _REGISTRY.get(name) or QUESTIONS.get(name)
    if kind is None:
        raise PlanError(f"this plan asks a kind of question that is not known here: {name!r:.60}")
    return kind.from_details(details)
