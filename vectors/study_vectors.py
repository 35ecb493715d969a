"""Vectors of devices in studies of several parts: record, study, part and value -> place, report, new record."""

from __future__ import annotations

import base64
import json
import tempfile
from pathlib import Path
from typing import Any

import localdp as ldp
from localdp.client.record import Record
from localdp.formats import canonical_json
from localdp.randomness.keystream import seeded
from localdp.studies import Study

DRINKS = ["tea", "coffee", "wäter", "milk", "cocoa"]
KEYS = [5, 6, 123_456_789_012, (1 << 40) - 1, 0, None, 1 << 40]
TEXTS = ["tea", "müsli", None, "green tea", "電影", "tea"]
SETS: list[list[Any]] = [[], ["tea"], ["milk", "tea", "milk"], ["cocoa", "coffee", "tea"], DRINKS]
FORMS: list[dict[str, Any]] = [
    {"diet": diet, "uses": uses}
    for diet in ("vegan", "meat", None, "fish")
    for uses in (["tea", "milk"], [], None, ["fish"], "tea")
]
DEVICES = 5  # of each part, so that some of them are asked by it and some are not


def study_vectors() -> dict[str, Any]:
    """What devices answer in every round of a discovery and of two surveys, and documents that they refuse."""
    parts: list[dict[str, Any]] = []
    for study, values in _studies():
        _answered(study, values, parts)
    for survey in _questionnaires():
        secrets = [seeded(5_000 + number).words(4).tobytes() for number in range(len(FORMS))]
        answers = [_answer(survey, None, form, secret) for form, secret in zip(FORMS, secrets, strict=True)]
        parts.append({"study": survey.to_json(), "part": None, "answers": answers})
    return {"parts": parts, "bad": list(_bad(parts))}


def _studies() -> list[tuple[Study, list[Any]]]:
    return [
        (ldp.Discovery(bits=40, epsilon=4.0, users=3_000, top=1, name="keys"), KEYS),
        (ldp.Discovery(epsilon=4.0, users=3_000, top=2, most_bytes=8), TEXTS),
        (ldp.Discovery(bits=6, epsilon=1.0, users=2_000, top=3), [5, 63, 64]),
        (ldp.sets.Survey(DRINKS, epsilon=2.0, users=2_000, top=2, name="drinks"), SETS),
        (ldp.sets.Survey(30, epsilon=4.0, users=2_000, top=2, largest=2), [[], [29], list(range(12)), [3, 3, 1]]),
    ]


def _questionnaires() -> list[Study]:
    """A device draws its part from the study alone: no part is published."""
    diet, age = ldp.Choice(["vegan", "no answer", "meat"]), ldp.Scale(0, 100, step=10)
    uses, stars = ldp.Choices(["tea", "milk", "bread"], most=2), ldp.Scale(1, 5, other="none")
    likes = ldp.Choice(4)
    form = {"diet": diet, "age": age, "uses": uses, "stars": stars, "likes": likes}
    return [
        ldp.Questionnaire(form, 2.0, cross=[("diet", "age"), ("stars", "likes")], users=5_000),
        ldp.Questionnaire({"diet": diet, "uses": uses}, 1.0, name="again"),
    ]


def _answered(study: Study, values: list[Any], parts: list[dict[str, Any]]) -> None:
    """Ask devices in every round, and go on to the next with a crowd that holds the same values."""
    while not study.done:
        (part,) = study.parts()
        answers = []
        for number in range(DEVICES):
            secret = seeded(1_000 + DEVICES * len(parts) + number).words(4).tobytes()
            answers.append(_answer(study, part.to_json(), values[(number + len(parts)) % len(values)], secret))
        parts.append({"study": study.to_json(), "part": part.to_json(), "answers": answers})
        crowd = [values[place % len(values)] for place in range(2_000)]
        reports = part.privatize(crowd, seed=len(parts))
        study = study.advance(part.aggregate(reports), part)  # type: ignore[call-arg, arg-type]


def _answer(study: Study, part: str | None, value: Any, secret: bytes) -> dict[str, Any]:
    sent: list[tuple[bytes, bytes]] = []
    record = Record(1, secret, {}).to_bytes()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o700)
        for copy in ("device", "device.copy"):
            (folder / copy).write_bytes(record)
        client = ldp.Client(study.to_json(), store=folder, upload=lambda body, name: sent.append((body, name)))
        client.send(value, part)
        after = (folder / "device").read_bytes()
        return {
            "record": record.hex(),
            "value": value,
            "place": client.place,
            "batch": base64.b64encode(sent[0][0]).decode() if sent else None,
            "upload_id": sent[0][1].hex() if sent else None,
            "after": after.hex(),
        }


def _last(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The last round."""
    return next(part for part in reversed(parts) if part["part"])


def _bad(parts: list[dict[str, Any]]) -> Any:
    """Documents that were altered, and ones that ask for too much."""
    for kind, known in (("discovery", parts[0]), ("survey", _last(parts))):
        study, part = json.loads(known["study"]), json.loads(known["part"])
        for what, changed in (
            ("another epsilon in the plan", {"plan": {**part["plan"], "epsilon": 8.0}}),
            ("a round that is none", {"round": -1}),
            ("a round of another study", {kind: "0" * 64}),
            ("another format", {"format": "localdp-plan/1"}),
            ("nothing is asked", {"to": part["from"]} if kind == "discovery" else {"asks": "nothing"}),
            ("candidates that do not fit", {"open": ["00", "00"]} if kind == "discovery" else {"candidates": [[1, 0]]}),
        ):
            yield _refused(f"{kind}, {what}", study, {**part, **changed})
        yield _refused(f"{kind}, too much epsilon", {**study, "epsilon": 5.0}, part)


def _refused(what: str, study: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    text, document = canonical_json.dumps(study), canonical_json.dumps(part)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o700)
        try:
            ldp.Client(text, store=folder).report(None, document)
        except ldp.LocalDPError as error:
            return {"what": what, "study": text, "part": document, "code": getattr(error, "code", "invalid-input")}
    raise AssertionError(f"a device takes {what}")
