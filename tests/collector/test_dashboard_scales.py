"""Ratings, numbers, segments and the life of a plan in the dashboard, in a real Chromium."""

from __future__ import annotations

import re

import pytest
from js.chromium import needs_chromium
from running import running
from visiting import rows, serious

import localdp as ldp

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("scales") / "x.db") as started:
        yield started


def test_numbers_are_asked_for_and_shown_as_a_distribution(collector, visit):
    """The median of 3,000 answers at epsilon 4 is known to far less than the bin that it is looked for in."""
    page = visit(path="/#/new")
    page.get_by_label("Title").fill("Minutes")
    page.get_by_role("radio", name="A number").check()
    assert page.get_by_label("Answers, one on each line").count() == 0
    for name, number in (("From", "0"), ("To", "60"), ("In steps of", "10")):
        page.get_by_label(name, exact=True).fill(number)
    page.get_by_role("slider", name=re.compile("Privacy budget")).fill("4")
    page.get_by_text("Error of the median").wait_for()
    assert serious(page) == []
    page.get_by_role("button", name="Create the survey").click()
    page.get_by_text("Waiting for the first report").wait_for()
    made = collector.ask("GET", "/v1/plans").json()["plans"][0]
    assert (made["kind"], made["size"], made["other"]) == ("scale", 7, "no answer")
    plan = ldp.Plan.from_json(collector.client.get(f"/v1/plans/{made['fingerprint']}/document").content)
    minutes = [5] * 400 + [25] * 2_000 + [45] * 400 + [None] * 200
    assert collector.upload(plan, plan.privatize(minutes, seed=1).to_bytes()).status_code == 201
    page.get_by_text("Estimated from 3,000 reports").wait_for()
    said = page.locator(".distribution").inner_text()
    assert re.search(r"The median is 2\d(\.\d)? \(between 20 and 30\)", said)
    assert page.locator(".distribution svg .bar").count() == page.locator(".distribution svg .whisker").count() == 7
    assert page.get_by_role("heading", name="Popular answers").count() == 0
    assert serious(page) == []
    page.get_by_role("link", name="Send reports").click()
    page.get_by_role("tab", name="Python").click()
    assert "(30)" in page.locator("pre").inner_text()
    assert serious(page) == []


def test_the_shares_of_one_segment_can_be_chosen(collector, visit):
    asked = {"items": ["tea", "milk"], "epsilon": 4.0, "segments": ["ios", "web"], "minimum": 50, "title": "By system"}
    made = collector.ask("POST", "/v1/plans", json=asked).json()
    plan = ldp.Plan.from_json(collector.client.get(f"/v1/plans/{made['fingerprint']}/document").content)
    for label, item in (("ios", "tea"), ("web", "milk")):
        body = plan.privatize([item] * 400, seed=1).to_bytes()
        assert collector.upload(plan, body, Segment=label).status_code == 201
    page = visit(path=f"/#/plan/{made['short']}")
    page.get_by_text("Estimated from 800 reports").wait_for()
    page.get_by_label("Whose shares").select_option("ios")
    page.get_by_text("Estimated from 400 reports").wait_for()
    assert rows(page)["tea"][0] > 0.9  # within 6 standard errors of 1, of about 0.01
    page.get_by_label("Whose shares").select_option("(rest)")
    page.get_by_text("Too few reports of people without a label").wait_for()
    assert serious(page) == []


def test_a_plan_is_renamed_archived_closed_and_deleted(collector, visit):
    made = collector.ask("POST", "/v1/plans", json={"items": ["tea", "milk"], "epsilon": 3.0, "title": "Drnks"}).json()
    page = visit(path=f"/#/plan/{made['short']}/settings")
    page.get_by_label("Title").fill("Drinks")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Drinks").wait_for()
    page.get_by_role("button", name="Archive").click()
    page.get_by_role("button", name="Take out of the archive").wait_for()
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_role("button", name="Open again").wait_for()
    assert serious(page) == []
    page.get_by_text("Delete this survey").click()
    assert page.get_by_role("button", name="Delete for good").is_disabled()
    page.get_by_label("The title of the survey").fill("Drinks")
    page.get_by_role("button", name="Delete for good").click()
    page.get_by_role("heading", name="Surveys").wait_for()
    assert collector.ask("GET", f"/v1/plans/{made['short']}").status_code == 404
