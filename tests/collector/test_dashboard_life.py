"""The life of a survey on the dashboard, in a real Chromium: made, tried, begun, shared, drawn, cloned."""

from __future__ import annotations

import json
import re

import pytest
from js.chromium import needs_chromium
from running import running
from test_dashboard import another_site
from visiting import GO, findings, go

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("life") / "x.db") as started:
        yield started


def test_a_survey_is_tried_apart_and_begun_without_a_trace(collector, visit):
    page = visit(path="/#/new")
    page.get_by_label("Title").fill("Hot drinks")
    page.get_by_label("Answers, one on each line").fill("tea\ncoffee")
    page.get_by_text("People needed").wait_for()
    page.get_by_text("What to tell people").click()
    assert "We ask: Hot drinks" in page.locator(".telling pre").inner_text()
    page.get_by_role("slider").fill("6")
    page.locator(".telling pre", has_text="at most 99.8% sure").wait_for()
    assert "100%" not in page.locator("form").inner_text()
    page.get_by_role("slider").fill("2")
    page.get_by_role("button", name="Try it first").click()
    page.get_by_text("This is a trial.").wait_for()
    assert findings(page) == []
    page.get_by_role("button", name=re.compile("made-up answers")).click()
    page.expected += ["409", "404"]  # estimates may be asked for before answers are counted, and when the trial is gone
    page.get_by_text("Estimated from 500 reports").wait_for()
    page.wait_for_function("() => document.activeElement.innerText.endsWith('made-up answers')")  # the keyboard goes on
    waiting = []
    page.route("**/begin", lambda route: waiting.append(route))
    with page.expect_request("**/begin"):
        page.get_by_role("button", name="Begin for real").click()
    page.evaluate(GO, "#/new")
    page.get_by_label("Title").fill("Typed meanwhile")
    while not waiting:
        page.wait_for_timeout(10)
    waiting[0].continue_()
    page.locator("#announce", has_text="The survey has begun").wait_for(state="attached")
    assert page.get_by_label("Title").input_value() == "Typed meanwhile"  # nobody is taken away from where they are
    (left,) = collector.ask("GET", "/v1/studies").json()["studies"]
    assert (left["title"], left["state"], left["parts"][0]["reports"]) == ("Hot drinks", "open", 0)
    go(page, f"#/plan/{left['short']}")
    page.get_by_text("Waiting for the first report").wait_for()
    page.get_by_role("link", name="Settings").click()
    page.get_by_label("Labels").fill("tea: Any tea")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("alert").get_by_text("“tea: Any tea” is no label").wait_for()
    page.get_by_label("Labels").fill("tea = Any tea")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("labels: nothing became tea = Any tea").wait_for()
    page.get_by_role("button", name="Clone").click()
    page.get_by_text("This survey has not begun.").wait_for()
    assert findings(page) == []


def test_made_up_ratings_reach_both_ends(collector, visit):
    asked = {"kind": "plan", "scale": {"low": 1, "high": 5}, "epsilon": 2.0, "title": "Stars"}
    made = collector.ask("POST", "/v1/studies", json=asked).json()
    trial = collector.ask("POST", f"/v1/studies/{made['id']}/trial", json={}).json()
    page = visit(path=f"/#/plan/{trial['short']}")
    page.expected.append("409")
    page.get_by_role("button", name="Send 500 made-up answers").click()
    page.get_by_text("500 answers sent.").first.wait_for()
    (given,) = json.loads(page.evaluate("(id) => sessionStorage.getItem(`made-up ${id}`)", trial["id"]))[
        "given"
    ].values()
    assert sum(given.values()) == 500
    assert min(given["1"], given["5"]) > 10  # about 40 each; chance takes away 30 of them once in millions of years


def test_made_up_people_play_all_rounds_of_a_trial(collector, visit):
    asked = {"kind": "discovery", "bits": 12, "users": 6_000, "top": 3, "epsilon": 4.0, "title": "Keys"}
    made = collector.ask("POST", "/v1/studies", json=asked).json()
    trial = collector.ask("POST", f"/v1/studies/{made['id']}/trial", json={}).json()
    page = visit(path=f"/#/discovery/{trial['id']}")
    page.get_by_role("button", name="Play all rounds with made-up people").click()
    page.get_by_role("heading", name="What was found").wait_for()
    page.get_by_text("everybody else").first.wait_for()
    played, real = (collector.ask("GET", f"/v1/studies/{one['id']}").json() for one in (trial, made))
    assert played["state"] == "done"
    assert {part["reports"] for part in played["parts"]} == {200}
    assert sum(part["reports"] for part in real["parts"]) == 0


def test_a_link_shows_one_survey_and_a_frame_its_result(chromium, collector, visit, tmp_path):
    plan = collector.collection(items=["tea", "milk"], title="Shared", epsilon=3.0)
    assert collector.upload(plan, plan.privatize(["tea"] * 600 + ["milk"] * 200, seed=1).to_bytes()).status_code == 201
    page = visit(path=f"/#/plan/{plan.fingerprint[:16]}/report")
    page.get_by_text("The most frequent answer is “tea”").wait_for()
    for kind, beginning in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as saved:
            page.get_by_role("button", name=f"as {kind}").click()
        saved.value.save_as(tmp_path / kind)
        assert (tmp_path / kind).read_bytes().startswith(beginning)
        assert saved.value.suggested_filename == f"result.{kind.lower()}"
    assert b"tea" in (tmp_path / "SVG").read_bytes()
    page.get_by_role("button", name="Make a link").click()
    link, frame = (page.locator(".sharing code").nth(number).inner_text() for number in (0, 1))

    guest = visit(scope=None, path=link.removeprefix(collector.url))
    guest.get_by_text("Estimated from 800 reports").wait_for()
    assert "shared" not in guest.url
    assert guest.get_by_role("link", name="Settings").count() == 0
    assert guest.get_by_role("link", name="Surveys").count() == 0
    assert findings(guest) == []

    with another_site(chromium, f"<!doctype html><title>shop</title>{frame}") as shop:
        inside = shop.frame_locator("iframe")
        inside.get_by_role("heading", name="Shared").wait_for()
        inside.get_by_text("Estimated from 800 private reports").wait_for()
    with another_site(chromium, f'<!doctype html><title>x</title><iframe src="{collector.url}/"></iframe>') as shop:
        shop.wait_for_load_state("networkidle")
        assert shop.frame_locator("iframe").get_by_label("Token").count() == 0  # the dashboard itself is never framed
