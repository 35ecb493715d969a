"""A document with something strange anywhere in it is a typed error, or a study that a device can answer."""

from __future__ import annotations

import hashlib
import json

import pytest

import localdp as ldp
from localdp.errors import LocalDPError, PlanError
from localdp.formats import canonical_json

FORM = ldp.Questionnaire({"diet": ldp.Choice(["vegan", "meat"]), "age": ldp.Scale(0, 10)}, 2.0, cross=[("diet", "age")])
KEYS = ldp.Discovery(epsilon=2.0, users=20_000, top=3, bits=12, known=[5])
SETS = ldp.sets.Survey(["a", "b", "c"], epsilon=2.0, users=10_000)
DOCUMENTS = {
    "plan": ldp.Plan(["a", "b"], epsilon=1.0),
    "chain": ldp.Plan(5, "grr", 2.0, once=0.5, other=4),
    "sets in a plan": ldp.Plan(["a", "b", "c"], epsilon=1.0, set_size=2),
    "scale": ldp.Plan(ldp.Scale(0, 10), "wave", 1.0),
    "dbit": ldp.Plan(9, "dbit", 1.0, answers=2),
    "questionnaire": FORM,
    "discovery": KEYS,
    "survey": SETS,
}
PARTS = {"questionnaire": (FORM, {"diet": "vegan"}), "discovery": (KEYS, 77), "survey": (SETS, ["a"])}
_MARK = '"the strange place"'
_STRANGE = (
    *("1e400", "-1e400", "NaN", "-1", "0", "1.5", "1e-320", "9007199254740993", "4294967297", "1" + 400 * "0"),
    *("true", "null", '""', '"x"', '"0x10"', r'"\ud800"', '"__proto__"', "[]", "{}", '{"a":1,"a":2}'),
    *('{"__proto__":1}', "[[]]", "[null]", "[true]", "[1.5]", "[1e400]", "[-1]", '["a","a"]', "[9007199254740993]"),
)


def _strange(text):
    """The document with something strange in the place of each of its values, one after the other, and without it."""

    def places(value):
        yield ()
        entries = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
        for key, inner in entries:
            yield from ((key, *more) for more in places(inner))

    document = json.loads(text)
    for place in places(document):
        changed = {"whole": json.loads(text)}
        *way, last = ("whole", *place)
        around = changed
        for key in way:
            around = around[key]
        around[last] = json.loads(_MARK)
        whole = canonical_json.dumps(changed["whole"])
        yield from (whole.replace(_MARK, strange) for strange in _STRANGE)
        del around[last]
        yield canonical_json.dumps(changed.get("whole"))


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_strange_document_is_a_typed_error_or_can_be_used(tmp_path, kind):
    refused = 0
    for text in _strange(DOCUMENTS[kind].to_json()):
        try:
            ldp.Client(text, store=tmp_path)
        except LocalDPError:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize("kind", PARTS)
def test_a_strange_document_of_a_part_is_a_typed_error_and_spends_nothing_or_once(tmp_path, kind):
    study, value = PARTS[kind]
    client = ldp.Client(study, store=tmp_path)
    refused = 0
    for text in _strange(study.parts()[0].to_json()):
        try:
            client.report(value, text)
        except LocalDPError:
            refused += 1
    assert refused > 50
    assert client.spent in (0, study.epsilon)


@pytest.mark.parametrize(
    "inside", ["{bad", "[" * 100_000, '{"a":1,"a":2}', "\ud800"], ids=["cut", "deep", "twice", "half"]
)
def test_a_sealed_text_that_is_no_saved_study_is_a_typed_error(tmp_path, inside):
    digest = hashlib.sha256(inside.encode(errors="replace")).hexdigest()
    with pytest.raises(LocalDPError):
        ldp.Client(f"{digest}\n{inside}\n", store=tmp_path)


def test_a_short_questionnaire_with_millions_of_cells_is_refused_before_they_are_made(tmp_path, monkeypatch):
    made = []
    read = ldp.Scale.from_details.__func__
    counted = classmethod(lambda kind, details: made.append(1) or read(kind, details))
    monkeypatch.setattr(ldp.Scale, "from_details", counted)

    def document(questions):
        scale, places = {"name": "scale", "low": 0, "high": 65_535, "step": 1}, (1 << 20) // questions
        return canonical_json.dumps(
            {
                "epsilon": 2,
                "format": "localdp-questionnaire/1",
                "name": "",
                "parts": [{"asks": [f"q{i}"], "mechanism": "grr", "places": places} for i in range(questions)],
                "questions": [{"name": f"q{i}", "question": scale} for i in range(questions)],
            }
        )

    ldp.Client(document(4), store=tmp_path)
    made.clear()
    with pytest.raises(PlanError):
        ldp.Client(document(64), store=tmp_path)
    assert len(made) == 16
