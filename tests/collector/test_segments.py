"""Segments: labels that devices send in the clear, counted apart, and never a way around the minimum."""

from __future__ import annotations

import numpy as np
import pytest
from running import running

import localdp as ldp
from audits import recount
from localdp.collector.storage import aggregates

ASKED = {"items": ["tea", "coffee", "water", "milk"], "epsilon": 3.0, "mechanism": "grr", "minimum": 50}


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("segments") / "x.db") as started:
        yield started


def made(collector, segments, **asked):
    answer = collector.ask("POST", "/v1/plans", json={**ASKED, "segments": segments, **asked})
    assert answer.status_code == 201, answer.text
    assert answer.json()["segments"] == segments
    return ldp.Plan.from_json(collector.client.get(f"/v1/plans/{answer.json()['short']}/document").content)


def send(collector, plan, values, segment=None, seed=1):
    headers = {} if segment is None else {"Segment": segment}
    body = plan.privatize(values, seed=seed).to_bytes()
    assert collector.upload(plan, body, **headers).status_code == 201


def estimates(collector, plan, **query):
    return collector.ask("GET", f"/v1/plans/{plan.fingerprint}/estimates", "read", params=query)


def test_every_segment_has_estimates_of_its_own_and_the_whole_has_all(collector):
    """Shares are within 6 standard errors, which a right one misses once in 5e8 times."""
    plan = made(collector, ["ios", "Android 15", "web"])
    send(collector, plan, ["tea"] * 900 + ["milk"] * 100, "ios")
    send(collector, plan, ["coffee"] * 700 + ["water"] * 300, "Android 15", seed=2)
    send(collector, plan, ["tea"] * 400, "somebody's name", seed=3)  # unknown labels are none
    send(collector, plan, ["milk"] * 200, seed=4)
    send(collector, plan, ["milk"] * 49, "web", seed=5)
    found = estimates(collector, plan, by="segment").json()
    by_label = found["segments"]
    assert {label: one["n"] for label, one in by_label.items()} == {"ios": 1_000, "Android 15": 1_000, "(rest)": 600}
    assert found["waiting"] == ["web"]
    assert any("no sum gives them away" in note for note in found["notes"])
    for label, truth in (("ios", [0.9, 0, 0, 0.1]), ("Android 15", [0, 0.7, 0.3, 0]), ("(rest)", [2 / 3, 0, 0, 1 / 3])):
        one = by_label[label]
        assert np.abs(np.array(one["items"]["share"]) - truth).max() < 6 * one["std_error_share"] + 0.05
    assert estimates(collector, plan).json()["n"] == 2_600  # web waits in the whole, too: no subtraction gives it
    text = estimates(collector, plan, by="segment", format="csv").text
    assert text.splitlines()[0].startswith('"segment","item","raw"')
    assert text.count('"(rest)"') == 4
    assert text.count("no sum gives them away") == 1
    assert recount.differences(collector.service.database) == []


def test_segments_are_counted_exactly_and_kept_apart(collector):
    plan = made(collector, ["a", "b"], epsilon=3.1)
    for label in ("a", "b", "a"):
        send(collector, plan, ["tea"] * 60, label)
    assert estimates(collector, plan).json()["n"] == 180
    collection = collector.service.collections.find(plan.fingerprint)
    with collector.service.database.reading() as session:
        rows = aggregates.days(session, collection.where)
    assert {row.segment: row.n for row in rows if row.released} == {"a": 120, "b": 60}


@pytest.mark.parametrize(
    "segments",
    ["ios", ["ios", "ios"], [""], ["a\nb"], ["a "], ["ü"], ["x" * 41], [7], [str(number) for number in range(101)]],
)
def test_segments_that_cannot_be_are_refused(collector, segments):
    answer = collector.ask("POST", "/v1/plans", json={**ASKED, "segments": segments})
    assert answer.status_code == 422, answer.text
    assert "segment" in answer.json()["detail"]


def test_people_who_are_in_several_segments_are_no_reason_to_show_none(collector):
    """The same permanent responses, sent from two versions of an app: their noise is the same in both."""
    plan = made(collector, ["1.0", "2.0"], items=list(range(200)), mechanism="oue", epsilon=1.0)
    for version in ("1.0", "2.0"):
        send(collector, plan, [number % 20 for number in range(4_000)], version)
    found = estimates(collector, plan, by="segment")
    assert found.status_code == 200, found.text
    assert set(found.json()["segments"]) == {"1.0", "2.0"}


def test_segments_are_estimated_with_the_prior_that_is_named(collector):
    plan = made(collector, ["a", "b"], epsilon=2.5)
    for label in ("a", "b"):
        send(collector, plan, ["tea"] * 90 + ["milk"] * 10, label)
    found = estimates(collector, plan, by="segment", prior="gaussian").json()["segments"]
    assert {one["prior"]["asked"] for one in found.values()} == {"gaussian"}


def test_a_collection_without_segments_has_none_to_ask_for(collector):
    plan = collector.collection(epsilon=3.2)
    send(collector, plan, ["tea"] * 60, "ios")
    assert estimates(collector, plan).json()["n"] == 60
    answer = estimates(collector, plan, by="segment")
    assert answer.status_code == 422
    assert "has no segments" in answer.json()["detail"]


def test_the_python_client_sends_the_segment_of_its_device(collector, tmp_path):
    plan = made(collector, ["ios"], epsilon=3.3, minimum=1)
    client = ldp.Client(plan, store=tmp_path, upload=collector.url, segment="ios")
    assert client.send("tea").delivered == 1
    found = estimates(collector, plan, by="segment").json()
    assert {label: one["n"] for label, one in found["segments"].items()} == {"ios": 1}
    with pytest.raises(ldp.LocalDPError, match="segment"):
        ldp.Client(plan, store=tmp_path, upload=collector.url, segment="line\nbreak")
