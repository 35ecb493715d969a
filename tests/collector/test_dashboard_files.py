"""What the dashboard needs of the collector: its files, advice, the days of a plan, and how the prior fits."""

from __future__ import annotations

import re

import pytest
from paths import ROOT
from running import ITEMS, running

from localdp.advice import advise
from localdp.collector.routes.pages import DASHBOARD, POLICY, client_folder, files_in


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("files") / "x.db") as started:
        yield started


def test_every_file_is_served_with_the_strict_policy_and_kept_by_browsers(collector):
    assert {"app.js", "style.css", "favicon.svg", "index.html"} <= set(files_in(DASHBOARD))
    for name, file in files_in(DASHBOARD).items():
        answer = collector.client.get(f"/dashboard/{name}")
        assert (answer.status_code, answer.content) == (200, file.body)
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        again = collector.client.get(f"/dashboard/{name}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert collector.client.get("/").content == files_in(DASHBOARD)["index.html"].body
    assert "unsafe" not in POLICY


def test_pages_of_other_sites_may_import_the_client_and_not_the_dashboard(collector):
    for name in files_in(client_folder()):
        answer = collector.client.get(f"/client/{name}")
        assert answer.headers["content-type"].startswith("text/javascript")
        assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-origin" not in collector.client.get("/dashboard/app.js").headers


@pytest.mark.parametrize(
    "path",
    [
        "/dashboard/",
        "/dashboard/none.js",
        "/dashboard/../pages.py",
        "/dashboard/%2e%2e/pages.py",
        "/dashboard//etc/passwd",
        "/client/..%2f..%2fpyproject.toml",
        "/client/",
    ],
)
def test_nothing_else_is_served(collector, path):
    answer = collector.client.get(path)
    assert answer.status_code == 404
    assert answer.json()["code"] == "not-found"


def test_no_file_has_inline_code_or_asks_another_server():
    for name, file in files_in(DASHBOARD).items():
        text = file.body.decode()
        allowed = text.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|(inner|outer|Adjacent)HTML|document\.write|\beval\(", allowed), name
        if name.endswith(".html"):
            assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=", text)


def test_files_of_the_dashboard_stay_small():
    sizes = {name: len(file.body) for name, file in files_in(DASHBOARD).items()}
    assert sum(sizes.values()) < 100_000
    longest = max(DASHBOARD.glob("*.js"), key=lambda path: len(path.read_text("utf-8").splitlines()))
    assert len(longest.read_text("utf-8").splitlines()) <= 400


def test_the_wheel_brings_the_client():
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert 'force-include = { "js/src" = "localdp/collector/javascript" }' in text


def test_advice_is_that_of_the_library(collector):
    answer = collector.ask("GET", "/v1/advice?items=50&users=20000&epsilon=1.5", "read").json()
    expected = advise(50, 20_000, epsilon=1.5)
    assert answer["recommended"] == expected.recommended
    chosen = next(one for one in answer["options"] if one["mechanism"] == expected.recommended)
    assert chosen["std_error"] == pytest.approx(expected.chosen.standard_error)
    assert chosen["smallest_share"] == pytest.approx(expected.chosen.smallest_share)
    assert answer["why"] == list(expected.why[:2])


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("items=5&users=10", "advice needs the number of items"),
        ("items=5&users=10&epsilon=99", "epsilon"),
        ("items=1&users=10&epsilon=1", "item"),
        ("items=x&users=10&epsilon=1", "items"),
        ("items=99999999999&users=10&epsilon=1", "at most 10,000,000 items"),
    ],
)
def test_advice_about_nonsense_is_a_sentence(collector, query, sentence):
    answer = collector.ask("GET", f"/v1/advice?{query}", "read")
    assert answer.status_code == 422
    assert sentence in answer.json()["detail"]


def test_a_plan_tells_its_reports_by_day_and_how_the_prior_fits(collector):
    plan = collector.collection(title="By day", minimum=10)
    assert collector.state(plan)["days"] == []
    assert collector.ask("GET", f"/v1/plans/{plan.fingerprint}/prior", "read").json()["code"] == "too-few-reports"
    collector.upload(plan, plan.privatize(ITEMS * 25).to_bytes())
    collector.fold(plan)
    (day,) = collector.state(plan)["days"]
    assert (day["reports"], day["suspect"]) == (100, 0)
    answer = collector.ask("GET", f"/v1/plans/{plan.fingerprint}/prior", "read").json()
    assert sum(answer["items"]) + answer["beyond"] == len(ITEMS)
    assert len(answer["edges"]) == len(answer["items"]) + 1 == len(answer["expected"]) + 1
    assert answer["n"] == 100
