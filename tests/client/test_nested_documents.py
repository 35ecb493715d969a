"""A document that is nested deeply, anywhere in it, is a typed error, and not one of Python's."""

from __future__ import annotations

import json

import pytest

import localdp as ldp
from localdp.errors import LocalDPError

FORM = ldp.Questionnaire({"diet": ldp.Choice(["vegan", "meat"]), "age": ldp.Scale(0, 10)}, 2.0)
FOUND = ldp.Discovery(epsilon=2.0, users=1_000, top=3, most_bytes=16)
SETS = ldp.sets.Survey(["a", "b", "c"], epsilon=2.0, users=10_000)
DOCUMENTS = {
    "plan": ldp.Plan(["a", "b"], epsilon=1.0).to_json(),
    "questionnaire": FORM.to_json(),
    "discovery": FOUND.to_json(),
    "survey": SETS.to_json(),
}
PARTS = {
    "questionnaire": (FORM, {"diet": "vegan"}),
    "discovery": (FOUND, "soup"),
    "survey": (SETS, ["a"]),
}
_MARK = '"the deep place"'


def _nested(text):
    """The document with something deep in the place of each of its values, one after the other."""

    def places(value):
        yield ()
        entries = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
        for key, inner in entries:
            yield from ((key, *more) for more in places(inner))

    def replaced(value, place):
        if not place:
            return json.loads(_MARK)
        copy = value.copy()
        copy[place[0]] = replaced(value[place[0]], place[1:])
        return copy

    document = json.loads(text)
    for place in places(document):
        whole = json.dumps(replaced(document, place), separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        for depth in (300, 900, 50_000):
            yield whole.replace(_MARK, "[" * depth + "]" * depth)
            yield whole.replace(_MARK, '{"a":' * depth + "1" + "}" * depth)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_deep_document_of_a_study_is_a_typed_error(tmp_path, kind):
    for text in _nested(DOCUMENTS[kind]):
        with pytest.raises(LocalDPError):
            ldp.Client(text, store=tmp_path)


@pytest.mark.parametrize("kind", PARTS)
def test_a_deep_document_of_a_part_is_a_typed_error(tmp_path, kind):
    study, value = PARTS[kind]
    client = ldp.Client(study, store=tmp_path)
    for text in _nested(study.parts()[0].to_json()):
        with pytest.raises(LocalDPError):
            client.report(value, text)
    assert client.spent == 0
