"""From devices to estimates: the Python client, the command, curl and the export, against a running collector."""

from __future__ import annotations

import io
import json
import secrets
import shutil
import subprocess
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from command import localdp
from running import ITEMS, running

import localdp as ldp
from localdp.collector.answers import fitted
from localdp.collector.collections import day_of
from localdp.collector.storage.database import NewUpload


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("whole") / "x.db") as started:
        yield started


def _estimates(collector, plan, **query):
    answer = collector.ask("GET", f"/v1/plans/{plan.fingerprint}/estimates", "read", params=query)
    assert answer.status_code == 200, answer.text
    return answer


def test_the_client_the_command_and_curl_deliver(collector, tmp_path):
    plan = collector.collection()
    (tmp_path / "plan.json").write_text(plan.to_json())
    delivery = ldp.Client(plan, store=tmp_path / "one", upload=collector.url).send("tea")
    assert (delivery.delivered, delivery.waiting, delivery.dropped) == (1, 0, ())
    done = localdp("report", "--plan", "plan.json", "--store", "two", "--upload", collector.url, "milk", cwd=tmp_path)
    assert done.stdout.startswith("1 delivered, 0 waiting"), done.stderr
    printed = localdp("report", "--plan", "plan.json", "--store", "three", "coffee", cwd=tmp_path)
    (tmp_path / "report.json").write_text(printed.stdout)
    (tmp_path / "batch.bin").write_bytes(plan.privatize(ITEMS * 5).to_bytes())
    sent = 3
    if shutil.which("curl"):
        for name in ("report.json", "batch.bin"):
            url = f"{collector.url}/v1/plans/{plan.fingerprint[:16]}/reports"
            line = ["curl", "-sS", "-w", "%{http_code}", "-H", f"Upload-Id: {secrets.token_hex(16)}"]
            done = subprocess.run(  # noqa: S603
                [*line, "--data-binary", f"@{name}", url], cwd=tmp_path, capture_output=True, text=True, check=True
            )
            assert done.stdout == '{"status":"stored"}201'
        sent += 20
    else:
        sent -= 1
    assert collector.state(plan)["reports"] == sent


@pytest.mark.parametrize("mechanism", ["auto", "privset"])
def test_users_who_hold_sets_are_estimated_too(mechanism, collector, tmp_path):
    asked = {"items": ["tea", "milk", "bread"], "epsilon": 4.0, "set_size": 2, "mechanism": mechanism}
    made = collector.ask("POST", "/v1/plans", json=asked)
    assert made.status_code == 201, made.text
    document = collector.client.get(f"/v1/plans/{made.json()['short']}/document").text
    plan = ldp.Plan.from_json(document)
    assert ldp.Client(document, store=tmp_path, upload=collector.url).send(["tea", "milk"]).delivered == 1
    reports = plan.privatize([["tea", "milk"]] * 1_000 + [[]] * 999, seed=1)
    assert collector.upload(plan, reports.to_bytes()).status_code == 201
    found = _estimates(collector, plan).json()
    assert found["n"] == 2_000
    estimate = plan.aggregate(reports).estimate()
    for raw, true in zip(found["items"]["raw"], (1_001, 1_001, 0), strict=True):
        assert abs(raw - true) < 5.5 * estimate.std_error_at([true])[0]  # fails by chance once in a million


@pytest.mark.parametrize("mechanism", ["oue", "wave"])
def test_numbers_on_a_scale_come_with_their_mean_and_percentiles(mechanism, collector, tmp_path):
    """With 4,000 reports at epsilon 4 the mean is known to about 0.1; off by 1 less than once in a million."""
    asked = {"scale": {"low": 0, "high": 60, "step": 5}, "other": "no answer", "epsilon": 4.0, "minimum": 1}
    asked["mechanism"] = mechanism
    made = collector.ask("POST", "/v1/plans", json=asked)
    assert made.status_code == 201, made.text
    assert made.json()["kind"] == "scale"
    assert made.json()["asks_for"].startswith("12 bins of 5 from 0 to 60")
    document = collector.client.get(f"/v1/plans/{made.json()['short']}/document").text
    plan = ldp.Plan.from_json(document)
    assert ldp.Client(document, store=tmp_path, upload=collector.url).send(31.5).delivered == 1
    minutes = np.random.default_rng(3).normal(30, 8, 3_999)
    assert collector.upload(plan, plan.privatize(minutes, seed=1).to_bytes()).status_code == 201
    found = _estimates(collector, plan).json()
    assert found["items"]["item"][:2] == ["0 to 5", "5 to 10"]
    assert abs(found["summary"]["mean"]["value"] - 30) < 1
    assert found["summary"]["mean"]["low"] < found["summary"]["mean"]["value"] < found["summary"]["mean"]["high"]
    assert found["summary"]["median"]["low"] <= 30 <= found["summary"]["median"]["high"]
    assert ("raw" in found["items"], found["std_error"] is None) == (mechanism == "oue", mechanism == "wave")
    assert collector.state(plan)["progress"]["released"]
    history = collector.ask("GET", f"/v1/plans/{plan.fingerprint}/history", "read")
    assert history.status_code == 200, history.text
    for kind in ("csv", "arrow"):
        assert _estimates(collector, plan, format=kind).content
    drinks = collector.collection(epsilon=2.25 if mechanism == "oue" else 2.26)
    assert collector.upload(drinks, drinks.privatize(ITEMS * 30, seed=2).to_bytes()).status_code == 201
    assert _estimates(collector, drinks).json()["summary"] == {}


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"scale": [0, 5]}, "is an object such as"),
        ({"scale": {"low": 0, "high": 5, "end": 7}}, "is an object such as"),
        ({"scale": {"low": 0, "high": 5}, "items": ["tea", "milk"]}, "cells of its own"),
        ({"scale": {"low": 5, "high": 0}}, "goes up from low to high"),
        ({"scale": {"low": "a", "high": 5}}, "are numbers"),
        ({"scale": {"low": 0, "high": 5}, "other": 3}, "other='no answer'"),
    ],
)
def test_scales_that_cannot_be_are_refused(asked, sentence, collector):
    answer = collector.ask("POST", "/v1/plans", json={"epsilon": 1.0, **asked})
    assert answer.status_code == 422, answer.text
    assert sentence in answer.json()["detail"]


def test_estimates_lie_within_their_intervals_and_the_export_gives_the_same_counts(collector, tmp_path):
    """Of 1,000 items, about 90% lie in their 90% intervals; fewer than 80% do by chance far below once in a million."""
    plan = collector.collection(items=None, size=1_000, mechanism="llh", epsilon=3.0, title="Whole")
    rng = np.random.default_rng(18)
    values = np.minimum(rng.zipf(1.6, 30_000) - 1, 999)
    reports = plan.privatize(values, seed=7)
    for start in range(0, 30_000, 1_000):
        assert collector.upload(plan, reports[start : start + 1_000].to_bytes()).status_code == 201
    answer = _estimates(collector, plan, level="0.9").json()
    assert answer["n"] == 30_000
    true = np.bincount(values, minlength=1_000)
    low, high = (np.array(answer["items"][name]) for name in ("low", "high"))
    assert np.mean((low <= true) & (true <= high)) > 0.8
    assert answer["items"]["item"][int(np.argmax(answer["items"]["frequency"]))] == int(np.argmax(true))
    (tmp_path / "plan.json").write_text(plan.to_json())
    exported = collector.ask("GET", f"/v1/plans/{plan.fingerprint}/export")
    assert exported.headers["content-type"] == "application/vnd.apache.parquet"
    assert exported.headers["reports-dropped"] == "0"
    (tmp_path / "raw.parquet").write_bytes(exported.content)
    done = localdp("aggregate", "raw.parquet", "-p", "plan.json", "-o", "counts.agg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    again = ldp.Aggregate.load(tmp_path / "counts.agg")
    assert again == plan.aggregate(reports)
    assert np.allclose(again.estimate().frequencies, answer["items"]["raw"], atol=1e-3)


def test_estimates_come_in_every_format_and_are_kept_until_something_changes(collector, monkeypatch):
    plan = collector.collection(epsilon=2.5)
    collector.upload(plan, plan.privatize(ITEMS * 50, seed=1).to_bytes())
    fits = []
    fit = fitted.fit
    monkeypatch.setattr(fitted, "fit", lambda *given: fits.append(1) or fit(*given))
    document = _estimates(collector, plan).json()
    table = _estimates(collector, plan, format="csv")
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert len(table.text.splitlines()) == 5
    pyarrow = pytest.importorskip("pyarrow")
    arrow = _estimates(collector, plan, format="arrow")
    columns = pyarrow.ipc.open_file(io.BytesIO(arrow.content)).read_all()
    assert columns.column("frequency").to_pylist() == document["items"]["frequency"]
    assert len(fits) == 1
    assert [*_estimates(collector, plan, top=2).json()["top"]["items"]["item"]]
    assert "hitters" in _estimates(collector, plan, threshold="10%").json()
    assert len(fits) == 1
    collector.upload(plan, plan.privatize(ITEMS).to_bytes())
    assert _estimates(collector, plan).json()["n"] == 204
    assert len(fits) == 2


def test_estimates_wait_for_the_minimum(collector):
    plan = collector.collection(epsilon=2.6, minimum=100)
    collector.upload(plan, plan.privatize(["tea"] * 99).to_bytes())
    for route in ("estimates", "history"):
        answer = collector.ask("GET", f"/v1/plans/{plan.fingerprint}/{route}", "read")
        assert (answer.status_code, answer.json()["code"]) == (409, "too-few-reports")
        assert "99" in answer.json()["detail"]
    collector.upload(plan, plan.privatize(["tea"]).to_bytes())
    assert _estimates(collector, plan).json()["n"] == 100
    state = collector.state(plan)
    assert state["progress"]["released"]
    assert state["standard_error"] == pytest.approx(plan.mechanism.variance(100) ** 0.5)


@pytest.mark.parametrize("query", [{"top": "x"}, {"from": "yesterday"}, {"nothing": "1"}, {"prior": "magic"}])
def test_queries_that_cannot_be_read_are_refused(collector, query):
    plan = ldp.Plan(ITEMS, "grr", 2.0)
    collector.collection() if collector.service.collections.find(plan.fingerprint) is None else None
    answer = collector.ask("GET", f"/v1/plans/{plan.fingerprint}/estimates", "read", params=query)
    assert answer.status_code == 422


def test_days_are_kept_apart_and_any_range_is_their_sum(collector):
    plan = collector.collection(epsilon=2.7)
    today = datetime.now(UTC).date()
    number = collector.service.collections.find(plan.fingerprint).id
    parts = {}
    for back, users in ((2, 40), (1, 50), (0, 60)):
        reports = plan.privatize(["tea"] * users)
        parts[today - timedelta(days=back)] = plan.aggregate(reports)
        day = (today - timedelta(days=back) - date(1970, 1, 1)).days
        new = NewUpload(secrets.token_bytes(16), number, "", day, users, reports.rows.tobytes())
        collector.service.writer.run(lambda session, new=new: session.insert_uploads([new]))
    assert day == day_of(datetime.now(UTC).timestamp())
    first, middle, _ = parts
    assert _estimates(collector, plan).json()["n"] == 150
    assert _estimates(collector, plan, **{"from": str(middle)}).json()["n"] == 110
    one = _estimates(collector, plan, **{"from": str(middle), "to": str(middle)}).json()
    assert np.allclose(one["items"]["raw"], parts[middle].estimate().frequencies, atol=1e-3)
    history = collector.ask("GET", f"/v1/plans/{plan.fingerprint}/history", "read", params={"by": "day"})
    assert history.status_code == 200
    assert str(first) in history.text
    exported = collector.ask("GET", f"/v1/plans/{plan.fingerprint}/export", params={"to": str(first)})
    assert exported.status_code == 200


def test_an_aggregate_made_elsewhere_is_added_once(collector, tmp_path):
    plan = collector.collection(epsilon=2.8)
    other = plan.simulate([500, 300, 100, 100], seed=3)
    data, url = other.to_bytes(), f"/v1/plans/{plan.fingerprint}/aggregates"
    assert data == (other.save(tmp_path / "x.agg"), (tmp_path / "x.agg").read_bytes())[1]

    def send(content, name="cd" * 16, **query):
        return collector.ask("POST", url, content=content, headers={"Upload-Id": name}, params=query)

    assert send(data, day="2026-01-31").status_code == 201
    assert send(data).status_code == 200
    twice = send(data, "ef" * 16)
    assert (twice.status_code, twice.json()["code"]) == (409, "counted-before")
    collector.upload(plan, plan.privatize(["tea"] * 10).to_bytes())
    assert _estimates(collector, plan).json()["n"] == 1_010
    alone = _estimates(collector, plan, to="2026-01-31").json()
    assert np.allclose(alone["items"]["raw"], other.estimate().frequencies, atol=1e-3)
    stranger = ldp.Plan(ITEMS, "grr", 1.0).simulate([1, 1, 1, 1]).to_bytes()
    for bad in (b"", b"LDPAGG1\n", data[:-1], stranger, ldp.Aggregate(plan).to_bytes()):
        assert send(bad, secrets.token_hex(16)).status_code == 422
    assert send(data, "").status_code == 400
    for day in ("x", "20260131", "2026-W05-1", "1969-12-31", "2999-01-01", ["2026-01-30", "2026-01-31"]):
        assert send(data, secrets.token_hex(16), day=day).status_code == 422
    from audits import recount

    assert recount.differences(collector.service.database) == []


def test_forged_reports_are_left_out_and_warned_of(collector):
    """Every report lights all bits, which no honest device does."""
    plan = collector.collection(items=None, size=64, mechanism="oue", epsilon=1.0)
    forged = json.dumps({"plan": plan.fingerprint, "reports": ["//////////8="] * 20})
    assert collector.upload(plan, forged).status_code == 201
    collector.upload(plan, plan.privatize([3] * 100, seed=1).to_bytes())
    answer = _estimates(collector, plan).json()
    assert answer["n"] == 100
    assert answer["suspect_reports"] == 20
    assert any("20 reports look forged, and are left out" in warning for warning in answer["warnings"])
    both = _estimates(collector, plan, suspects="in").json()
    assert both["n"] == both["released"]["n_with_suspects"] == 120
    state = collector.state(plan)
    assert (state["reports"], state["counted"], state["suspect"]) == (120, 100, 20)
