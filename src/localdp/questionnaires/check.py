"""Check what a device tells in a questionnaire, by running every random input of every part for all forms.

The part that a device answers is drawn without its answers, so a questionnaire tells what one of its parts tells. A
form is the answers to all questions: every listed answer, no answer, and one that is not listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from localdp.checks.failure import require
from localdp.checks.privacy import require_private_path
from localdp.mechanisms import Mechanism
from localdp.questionnaires.part import QuestionPart
from localdp.questionnaires.questionnaire import Questionnaire
from localdp.questions import Choice
from localdp.randomness.keystream import Entropy
from localdp.studies.places import PLACES
from localdp.types import Indices, Rows

_EPSILONS = (0.5, 2.0)
_STRANGE = "not among the answers"


def check_questionnaire(kind: type[Questionnaire] = Questionnaire) -> None:
    """Reports of any two forms must stay within epsilon of each other, in every part of small questionnaires.

    Catches a part that tells more of some answers than its plan does, answers without a cell, reports whose length
    depends on the answers, and randomness that depends on them. Parts must ask disjoint people, and everybody.
    """
    for epsilon in _EPSILONS:
        survey = kind({"a": Choice(["x", "y"]), "b": Choice([1, 2], other=2)}, epsilon, cross="all")
        spans = [(part.span.first, part.span.end) for part in survey.parts()]
        require(
            [0, *(end for _, end in spans)] == [*(first for first, _ in spans), PLACES],
            f"the parts of {survey!r} do not ask every place once",
        )
        for part in survey.parts():
            require_private(part, {"a": ["x", "y"], "b": [1, 2]}, epsilon)


def require_private(part: QuestionPart, answers: Mapping[str, list[Any]], epsilon: float) -> None:
    """Run every random input of a part for every form with these answers, with none, and with an unlisted one."""
    each = [[*listed, None, _STRANGE] for listed in answers.values()]
    forms = [dict(zip(answers, form, strict=True)) for form in product(*each)]

    def randomize(mechanism: Mechanism, places: Indices, source: Entropy) -> Rows:
        held = part.question.read([forms[places[0]]]).take(np.zeros(places.size, np.int64))
        return mechanism.answer(held, source)

    require_private_path(part, part.plan.mechanism, forms, randomize, epsilon, "the form")
