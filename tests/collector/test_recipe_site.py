"""The recipe site of the documentation, in Chromium: visitors who reload and open second tabs are counted once."""

from __future__ import annotations

import random

import pytest
from js.chromium import browser, driver, needs_chromium
from recipe_site import DIETS, FEATURES, files, questions, site, visit
from running import running

pytestmark = [needs_chromium, pytest.mark.slow]
VISITORS = 12
"""Enough for a test: every visitor takes seconds."""


@pytest.fixture(scope="module")
def chromium():
    with driver() as playwright, browser(playwright) as started:
        yield started


def test_visitors_of_the_recipe_site_are_counted_once(chromium, tmp_path):
    chance = random.Random(7)  # noqa: S311 (made-up visitors)
    with running(tmp_path / "x.db") as collector:
        names = questions(collector)
        with site(collector, files(collector, names)) as address:
            for _ in range(VISITORS):
                held = {
                    "diet": chance.choice(DIETS),
                    "stars": chance.randint(1, 5),
                    "features": chance.sample(FEATURES, chance.randint(0, 3)),
                    "search": chance.choice(["soup", "pie", "müsli"]),
                }
                loaded, complaints = visit(chromium, address, held)
                assert complaints == []
                first = loaded[: loaded.index(address, 1)]  # until the reload
                assert sum("/client/localdp-0" in url for url in first) == 1
        for name in ("DIET", "STARS", "FEATURES"):
            assert collector.ask("GET", f"/v1/plans/{names[name]}", "read").json()["reports"] == VISITORS, name
        found = collector.ask("GET", f"/v1/studies/{names['SEARCH']}", "read").json()["parts"]
        assert sum(part["reports"] for part in found) <= VISITORS  # some are asked in later rounds


def test_the_elements_have_no_finding_of_axe_core(chromium, tmp_path):
    from axe_playwright_python.sync_playwright import Axe

    with running(tmp_path / "x.db") as collector, site(collector, files(collector, questions(collector))) as address:
        for options in ({}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 640}}):
            context = chromium.new_context(**options)
            page = context.new_page()
            page.goto(address)
            page.get_by_text("What this site has learnt").wait_for()
            page.get_by_role("button", name="Send").nth(1).wait_for()
            for details in page.locator("details").all():
                details.click()
            assert Axe().run(page).response["violations"] == []
            page.get_by_role("button", name="No, thanks").first.click()
            page.get_by_role("button", name="Ask me after all").nth(1).wait_for()  # a no holds for every question
            assert Axe().run(page).response["violations"] == []
            page.reload()
            page.get_by_role("button", name="Ask me after all").first.wait_for()  # it is remembered, for every question
            context.close()
