"""Vectors of questionnaires: secret and form -> place -> part -> cells -> report."""

from __future__ import annotations

import base64
import hmac
from hashlib import sha256
from typing import Any

from localdp.client.secret import KEY_BYTES, Secret
from localdp.formats import batch
from localdp.plan.limits import Limits
from localdp.questionnaires import Questionnaire
from localdp.questions import Choice, Choices, Scale
from localdp.randomness.keystream import Keystream, seeded
from localdp.studies.study import NO_LIMITS

SURVEYS = [
    Questionnaire({"smokes": Choice(["yes", "no"]), "drinks": Choice(["yes", "no"])}, epsilon=1.0, cross="all"),
    Questionnaire(
        {
            "diet": Choice(["vegan", "wäge", "any"], other="any"),
            "age": Scale(10, 90, step=10),
            "stars": Scale(1, 5, other="none"),
            "likes": Choices(["tea", "milk", "rice"], most=2),
            "number": Choice(4),
        },
        epsilon=2.0,
        cross=[("diet", "age"), ("diet", "number")],
        users=2_000,
        name="recipes",
    ),
    Questionnaire({"no answer": Choice(["no answer", 1])}, epsilon=0.5),
]
FORMS: list[list[dict[str, Any]]] = [
    [{"smokes": "yes", "drinks": "no"}, {"smokes": None}, {"drinks": "Yes"}, {}],
    [
        {"diet": "wäge", "age": 34, "stars": 5, "likes": ["rice", "tea"], "number": 3},
        {"diet": "fish", "age": 99.5, "stars": "?", "likes": [], "number": 4},
        {"age": "no number", "likes": None},
        {"age": -3, "stars": 2.9, "likes": ["cake"], "number": 0},
    ],
    [{"no answer": "no answer"}, {"no answer": 1}, {"no answer": True}, {}],
]
DEVICES = 6


def questionnaire_vectors() -> dict[str, Any]:
    """Forms and their parts, and what several devices with several answers make of them."""
    made, answers = [], []
    for survey, forms in zip(SURVEYS, FORMS, strict=True):
        parts = [
            {"key": part.key, "first": part.span.first, "end": part.span.end, "plan": part.to_json()}
            for part in survey.parts()
        ]
        made.append({"form": survey.to_json(), "fingerprint": survey.fingerprint, "parts": parts})
        for device in range(DEVICES):
            secret = seeded(1_000 * len(made) + device).words(4).tobytes()
            answers += [_answer(survey, secret, form) for form in forms]
    unusable = SURVEYS[0].to_json()
    bad = [
        unusable.replace('"places":', '"place":', 1),
        unusable.replace("localdp-questionnaire/1", "localdp-questionnaire/2"),
        unusable.replace('"epsilon":1', '"epsilon":99'),
        unusable.replace('"asks":["smokes"]', '"asks":["snores"]'),
    ]
    return {"good": made, "answers": answers, "bad": [text for text in bad if _is_refused(text)]}


def _answer(survey: Questionnaire, secret: bytes, form: dict[str, Any]) -> dict[str, Any]:
    """What a device with this secret makes of a form, as `localdp.client.one_part` does."""

    def derived(label: str) -> bytes:
        return hmac.new(secret, f"localdp {label}/1\0".encode() + bytes.fromhex(survey.fingerprint), sha256).digest()

    place = int(survey.places.draw(1, Keystream(derived("place")[:KEY_BYTES]))[0])
    part = survey.part_at(place)
    assert part is not None  # noqa: S101 (the parts ask every place)
    held = part.question.read([form])
    cells = held.items.tolist()
    message = bytes.fromhex(part.fingerprint) + b"".join(cell.to_bytes(8, "little") for cell in cells)
    key = Secret(secret, survey.fingerprint).key(message)
    report = batch.pack(part.plan.fingerprint, part.plan.mechanism.answer(held, Keystream(key)))
    return {
        "secret": secret.hex(),
        "form": survey.fingerprint,
        "answers": form,
        "place": place,
        "part": part.key,
        "cells": cells,
        "key": key.hex(),
        "upload_id": derived("upload")[:16].hex(),
        "batch": base64.b64encode(report).decode(),
    }


def _is_refused(text: str, limits: Limits = NO_LIMITS) -> bool:
    from localdp.errors import PlanError

    try:
        Questionnaire.from_json(text, limits)
    except PlanError:
        return True
    raise AssertionError(f"this document was meant to be refused: {text}")
