"""Files that an earlier version wrote go on: states of discoveries and surveys, and the store of a device.

They are in `earlier/`: a discovery and a survey of sets after each of their rounds, and a device that has answered one
round of either, whose report in the discovery waits to be sent. `facts.json` has their documents and the bytes.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import localdp as ldp
from localdp.sets import Survey, SurveyClient
from localdp.studies import study_in

EARLIER = Path(__file__).parent / "earlier"
FACTS = json.loads((EARLIER / "facts.json").read_text("utf-8"))
KINDS = {"discovery": ldp.Discovery, "survey": Survey}
STATES = sorted(path.name for path in EARLIER.glob("*.state"))


@pytest.mark.parametrize("name", STATES)
def test_a_saved_study_is_read_and_written_as_it_was(name, tmp_path):
    what, number = name.removesuffix(".state").split("-")
    found = KINDS[what].load(EARLIER / name)
    assert found.number == int(number)
    assert found.done == (number == "4")
    found.save(tmp_path / name)
    assert (tmp_path / name).read_bytes() == (EARLIER / name).read_bytes()
    assert study_in((EARLIER / name).read_bytes()).number == int(number)


def test_there_is_a_state_for_every_round():
    assert len(STATES) == 10


def test_finished_studies_still_have_their_results():
    assert ldp.Discovery.load(EARLIER / "discovery-4.state").result().items[:2] == [40_000, 40_001]
    assert Survey.load(EARLIER / "survey-4.state").result().items == ["milk", "tea"]


@pytest.fixture
def store(tmp_path):
    shutil.copytree(EARLIER / "store", tmp_path / "store")
    for path in [tmp_path / "store", *(tmp_path / "store").rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    return tmp_path / "store"


@pytest.mark.parametrize("kind", [ldp.DiscoveryClient, ldp.Client])
def test_a_device_that_answered_a_discovery_sends_the_same_bytes_with_the_same_id(store, kind):
    known, sent = FACTS["discovery"], []
    client = kind(known["form"], store=store, upload=lambda body, name: sent.append((body.hex(), name.hex())))
    assert client.place == known["place"]
    assert client.spent == FACTS["spent"]
    assert client.report(7, known["round"]).hex() == known["report"]
    assert client.send(7).delivered == 1
    assert client.send(7).delivered == 0
    assert sent == [(known["report"], known["upload"])]
    assert client.spent == FACTS["spent"]


@pytest.mark.parametrize("kind", [SurveyClient, ldp.Client])
def test_a_device_that_answered_a_survey_gives_the_same_bytes(store, kind):
    known = FACTS["survey"]
    client = kind(known["form"], store=store)
    assert client.report(["rice"], known["round"]).hex() == known["report"]
    assert Survey.from_json(known["form"]).spans[known["group"]].holds(client.place)
    assert client.spent == FACTS["spent"]
