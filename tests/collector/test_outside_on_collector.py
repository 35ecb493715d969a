"""A question and a mechanism that the library does not know, whose outcomes are not its cells, through a collector."""

from __future__ import annotations

import secrets

import numpy as np
import pytest
from questions_outside import Hour
from running import running

import localdp as ldp
from audits.recount import differences
from localdp.advice import fake_users

PLAN = ldp.Plan(Hour(3), "test-gaps", 2.0)
TIMES = ["09:30"] * 3_000 + ["17:25"] * 2_000 + ["23:59"] * 1_000
HELD = np.array([0, 0, 0, 3_000, 0, 2_000, 0, 1_000])
DEVIATIONS = 6  # one of eight right estimates is farther away once in 6e7 times


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    """A collector with the reports of these people, sent by the routes of plans and of studies, and by devices."""
    with running(tmp_path_factory.mktemp("outside") / "x.db") as started:
        made = started.ask("POST", "/v1/studies", json={"document": PLAN._document(), "title": "When?"})
        assert made.status_code == 201, made.text
        started.study = f"/v1/studies/{made.json()['id']}"
        assert started.upload(PLAN, PLAN.privatize(TIMES[:3_500], seed=1).to_bytes()).status_code == 201
        path = f"{started.study}/parts/{PLAN.fingerprint}/reports"
        body, headers = PLAN.privatize(TIMES[3_500:], seed=2).to_bytes(), {"Upload-Id": secrets.token_hex(16)}
        assert started.client.post(path, content=body, headers=headers).status_code == 201
        started.fold(PLAN)
        yield started


def asked(collector, rest):
    answer = collector.ask("GET", f"/v1/plans/{PLAN.fingerprint}{rest}", "read")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_device_fetches_the_plan_and_its_report_is_counted(collector, tmp_path):
    document = collector.client.get(f"{collector.study}/document").content
    client = ldp.Client(document, store=tmp_path, upload=collector.url)
    before = asked(collector, "")["reports"]
    assert client.send("17:25").delivered == 1
    assert client.spent == PLAN.mechanism.epsilon
    assert asked(collector, "")["reports"] == before + 1


def test_estimates_are_of_cells_and_right(collector):
    found = asked(collector, "/estimates")["items"]
    assert found["item"] == list(Hour(3).cells.items)
    away = (np.array(found["raw"]) - HELD) / np.array(found["raw_std_error"])
    assert np.abs(away).max() < DEVIATIONS + 0.1  # a device has sent one more
    assert (np.array(found["low"]) <= np.array(found["frequency"])).all()
    assert np.argsort(found["frequency"])[::-1][:3].tolist() == [3, 5, 7]


def test_lists_histories_and_results_have_the_numbers_of_their_own_items(collector):
    whole = asked(collector, "/estimates")["items"]
    top, hitters = asked(collector, "/estimates?top=3")["top"], asked(collector, "/estimates?threshold=10%")["hitters"]
    for listed in (top["items"], hitters["items"]):
        assert listed["item"] == ["09h", "15h", "21h"]
        for name in ("raw", "raw_std_error", "frequency"):
            assert listed[name] == [whole[name][place] for place in (3, 5, 7)]
    (series,) = asked(collector, "/history?item=15h")["series"]
    assert (series["raw"], series["raw_std_error"]) == ([whole["raw"][5]], [whole["raw_std_error"][5]])
    result = collector.ask("GET", f"{collector.study}/result", "read").json()
    assert result["tables"]["items"]["columns"] == whole
    assert asked(collector, "/prior")["n"] == result["n"]


def test_progress_is_told_without_p_and_q(collector):
    now = asked(collector, "")
    progress = now["progress"]
    assert now["size"] == 8
    assert now["standard_error"] == pytest.approx(progress["now"]["std_error"])
    assert 0 < progress["now"]["threshold"] / progress["now"]["reports"] < progress["now"]["visible_share"] < 1
    assert progress["fake_users"]["push"] == pytest.approx(fake_users(PLAN, 1).push)


def test_counts_are_those_of_all_uploads_and_aggregates_from_elsewhere_are_added(collector, tmp_path):
    assert differences(collector.service.database) == []
    before = asked(collector, "")["reports"]
    aggregate = PLAN.aggregate(PLAN.privatize(TIMES[::10], seed=3))
    aggregate.save(tmp_path / "counts.agg")
    assert ldp.Aggregate.load(tmp_path / "counts.agg") == aggregate
    assert aggregate.counts.size == PLAN.mechanism.outcomes == 10
    headers = {"Upload-Id": secrets.token_hex(16)}
    path, body = f"/v1/plans/{PLAN.fingerprint}/aggregates", (tmp_path / "counts.agg").read_bytes()
    assert collector.ask("POST", path, content=body, headers=headers).status_code == 201
    assert asked(collector, "")["reports"] == before + 600
    assert differences(collector.service.database) == []
