"""What people read is fetched from the collector, and which version they read arrives with their report."""

from __future__ import annotations

import itertools
import json

import pytest
from collectors import collector as running

import localdp as ldp
from localdp.client.private_files import write_private
from localdp.client.wording import Wording, wording_in
from localdp.errors import InvalidInputError, StoreError

PLAN = ldp.Plan(["tea", "coffee", 3], "grr", 1.0)
FORM = ldp.Questionnaire({"diet": ldp.Choice(["vegan", "meat"])}, 2.0)
ROUTE = f"/v1/studies/{PLAN.fingerprint}/wording"
GIVEN = {"version": 2, "question": "What do you drink?", "labels": {"tea": "Tea, of any kind", "3": "three"}}


@pytest.fixture
def collector():
    with running([]) as server:
        yield server


def _versions(collector):
    return [headers.get("Wording") for _, headers, _ in collector.requests]


def test_the_wording_is_fetched_and_its_version_arrives_with_the_report(tmp_path, collector):
    collector.documents[ROUTE] = json.dumps(GIVEN)
    client = ldp.Client(PLAN, store=tmp_path, upload=collector.url)
    shown = client.wording()
    assert shown == Wording(**GIVEN)
    assert [shown.label(item) for item in PLAN.domain.items] == ["Tea, of any kind", "coffee", "three"]
    client.send_once("tea", wording=shown.version)
    client.send("tea", wording=3)
    client.send("tea")
    assert _versions(collector) == ["2", "3", None]
    assert len({body for _, _, body in collector.requests}) == 1  # nothing of it is in the report


@pytest.mark.parametrize("asked", [PLAN, FORM], ids=["plan", "study"])
def test_a_report_that_waits_keeps_the_version_that_was_shown(tmp_path, asked):
    value = "tea" if asked is PLAN else {"diet": "vegan"}
    with running([(503, {})]) as collector:
        assert ldp.Client(asked, store=tmp_path, upload=collector.url).send_once(value, wording=2).waiting == 1
        (path,) = tmp_path.glob("outbox/*/pause")
        path.unlink()
        ldp.Client(asked, store=tmp_path, upload=collector.url).send_once(value, wording=7)
        assert _versions(collector) == ["2", "2"]
        assert len({headers["Upload-Id"] for _, headers, _ in collector.requests}) == 1


@pytest.mark.parametrize(
    ("asked", "value", "module", "write"),
    [
        (PLAN, "tea", "plan_outbox", 0),
        (PLAN, "tea", "diary", 1),
        (FORM, {"diet": "vegan"}, "plan_outbox", 0),
        (FORM, {"diet": "vegan"}, "one_part", 0),
    ],
)
def test_a_restart_keeps_the_version_that_was_shown(tmp_path, collector, monkeypatch, asked, value, module, write):
    """Stopped before the report is in the outbox, or before it is written down that it is there."""
    calls = itertools.count()

    def failing(*args, **options):
        if next(calls) == write:
            raise OSError("no space left")
        write_private(*args, **options)

    with monkeypatch.context() as broken:
        broken.setattr(f"localdp.client.{module}.write_private", failing)
        with pytest.raises(StoreError):
            ldp.Client(asked, store=tmp_path, upload=collector.url).send_once(value, wording=2)
    ldp.Client(asked, store=tmp_path, upload=collector.url).send_once(value, wording=9)
    assert _versions(collector) == ["2"]


@pytest.mark.parametrize(
    "said",
    [
        "",
        "[]",
        "null",
        '{"version": 0, "question": "", "labels": {}}',
        '{"version": true, "question": "", "labels": {}}',
        '{"version": 1.5, "question": "", "labels": {}}',
        '{"version": 1, "question": 7, "labels": {}}',
        '{"version": 1, "question": "", "labels": ["tea"]}',
        '{"version": 1, "question": "", "labels": {"tea": null}}',
        "[" * 100_000,
    ],
)
def test_an_answer_that_is_no_wording_is_none(said):
    assert wording_in(said) is None


def test_without_a_wording_nothing_is_told(tmp_path, collector):
    client = ldp.Client(PLAN, store=tmp_path, upload=collector.url)
    assert client.wording() is None  # 404
    client.send_once("tea")
    assert _versions(collector) == [None]
    with pytest.raises(InvalidInputError, match="path"):
        ldp.Client(PLAN, store=tmp_path, upload=f"{collector.url}/somewhere").wording()
    for wrong in (0, -1, True, "2", 1_000, 1.5):
        with pytest.raises(InvalidInputError, match="wording"):
            client.send_once("tea", wording=wrong)
        with pytest.raises(InvalidInputError, match="wording"):
            client.send("tea", wording=wrong)
