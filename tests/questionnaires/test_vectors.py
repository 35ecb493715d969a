"""The committed vectors are what a device does: the same report comes out of its client."""

from __future__ import annotations

import base64
import json

import pytest
from paths import VECTORS as FOLDER

import localdp as ldp
from localdp.client.record import Record

VECTORS = json.loads((FOLDER / "questionnaires.json").read_text("utf-8"))
FORMS = {good["fingerprint"]: good["form"] for good in VECTORS["good"]}


def test_forms_and_parts_are_those_of_the_vectors():
    for good in VECTORS["good"]:
        survey = ldp.Questionnaire.from_json(good["form"])
        assert survey.fingerprint == good["fingerprint"]
        assert [part.to_json() for part in survey.parts()] == [part["plan"] for part in good["parts"]]
    for bad in VECTORS["bad"]:
        with pytest.raises(ldp.errors.PlanError):
            ldp.Questionnaire.from_json(bad)


def test_a_client_with_the_secret_makes_the_batch_of_the_vector(tmp_path, monkeypatch):
    for number, case in enumerate(VECTORS["answers"][::7]):
        made = Record(1, bytes.fromhex(case["secret"]), {})
        monkeypatch.setattr(Record, "new", classmethod(lambda _, made=made: made))
        client = ldp.Client(FORMS[case["form"]], store=tmp_path / str(number))
        assert client.place == case["place"]
        assert client.report(case["answers"]) == base64.b64decode(case["batch"])
