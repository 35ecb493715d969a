"""What the dashboard needs of the collector: its files, advice, the days of a plan, and how the prior fits."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from running import ITEMS, running

import localdp
from localdp.advice import advise
from localdp.collector.routes import pages
from localdp.collector.routes.pages import DASHBOARD, POLICY, client_files, files_in


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
    for name in client_files():
        answer = collector.client.get(f"/client/{name}")
        assert answer.headers["content-type"].startswith(
            "application/json" if name == "files.json" else "text/javascript"
        )
        assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-origin" not in collector.client.get("/dashboard/app.js").headers


def test_the_client_is_one_file_with_its_version_and_integrity(collector):
    for name, file in collector.client.get("/client/files.json").json().items():
        answer = collector.client.get(file["path"])
        assert answer.status_code == 200, name
        assert localdp.__version__ in file["path"]
        digest = base64.b64encode(hashlib.sha384(answer.content).digest()).decode()
        assert file["integrity"] == f"sha384-{digest}"
        again = collector.client.get(file["path"], headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    newest = collector.client.get(f"/client/localdp-{localdp.__version__}.js")
    assert collector.client.get("/client/index.js").content == newest.content


def test_a_browser_gets_the_client_compressed(collector):
    address = f"/client/localdp-{localdp.__version__}.js"
    plain = collector.client.get(address, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    packed = collector.client.get(address, headers={"Accept-Encoding": "gzip, deflate"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == plain.content  # httpx unpacks it
    assert int(packed.headers["content-length"]) < len(plain.content) / 2
    with collector.client.stream("GET", address, headers={"Accept-Encoding": "gzip, br"}) as best:
        assert best.headers["content-encoding"] == "br"
        assert b"".join(best.iter_raw()) == (pages.CLIENT / f"localdp-{localdp.__version__}.js.br").read_bytes()


def test_a_release_is_kept_for_a_year_and_a_development_version_is_asked_for(collector, monkeypatch):
    own = client_files()["index.js"]
    release = {**client_files(), "localdp-1.2.3.js": own, "localdp-1.3.0.dev0.js": own}
    monkeypatch.setattr(pages, "client_files", lambda: release)
    kept = collector.client.get("/client/localdp-1.2.3.js").headers["cache-control"]
    assert kept == "public, max-age=31536000, immutable"
    for name in ("index.js", "localdp-1.3.0.dev0.js", "files.json"):
        assert collector.client.get(f"/client/{name}").headers["cache-control"] == "no-cache"


def test_a_version_that_is_not_there_says_which_one_is(collector):
    answer = collector.client.get("/client/localdp-9.9.9.js")
    assert (answer.status_code, answer.json()["code"]) == (404, "no-such-version")
    assert localdp.__version__ in answer.json()["detail"]
    assert answer.headers["access-control-allow-origin"] == "*"


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
    assert sum(sizes.values()) < 210_000
    longest = max(DASHBOARD.glob("*.js"), key=lambda path: len(path.read_text("utf-8").splitlines()))
    assert len(longest.read_text("utf-8").splitlines()) <= 400


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
        ("items=5&users=10", "epsilon is missing"),
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
