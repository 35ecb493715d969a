"""A questionnaire in the dashboard, in a real Chromium: tabs for questions, and a heat map for a pair."""

from __future__ import annotations

import secrets

import numpy as np
import pytest
from js.chromium import needs_chromium
from running import running
from visiting import serious

from localdp.studies import study_in

pytestmark = needs_chromium

FIELDS = {
    "kind": "questionnaire",
    "title": "Recipes",
    "questions": {"diet": ["vegan", "<b>any</b>"], "stars": {"low": 1, "high": 5}},
    "cross": "all",
    "epsilon": 2,
    "minimum": 50,
}


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("questionnaires") / "x.db") as started:
        yield started


def test_questions_are_tabs_and_a_pair_is_a_heat_map(collector, visit):
    made = collector.ask("POST", "/v1/studies", json=FIELDS).json()
    page = visit(path="/#/")
    page.get_by_role("link", name="Recipes").click()
    page.get_by_text("Waiting for reports").wait_for()
    assert serious(page) == []
    route = f"/v1/studies/{made['id']}"
    survey = study_in(collector.client.get(f"{route}/document").text)
    diet = np.repeat(["vegan", "<b>any</b>"], 1_500)
    for part, some in survey.privatize({"diet": diet, "stars": np.where(diet == "vegan", 5, 2)}, seed=1):
        headers = {"Upload-Id": secrets.token_hex(16)}
        body = some.to_bytes()
        collector.client.post(f"{route}/parts/{part.fingerprint}/reports", content=body, headers=headers)
    page.reload()
    page.get_by_text("Estimated from 3,000 reports").wait_for()
    assert page.get_by_role("tab").all_inner_texts() == ["diet", "stars", "diet \N{MULTIPLICATION SIGN} stars"]
    assert page.locator(".answers .item").all_inner_texts() == ["vegan", "<b>any</b>", "no answer"]
    assert serious(page) == []
    page.get_by_role("tab", name="diet", exact=True).press("ArrowLeft")
    assert page.locator(".heat tbody tr").count() == 2
    cells = page.locator(".heat .cell b").all_inner_texts()
    shares = [float(text.strip("%<")) for text in cells]
    assert len(shares) == 10
    assert abs(shares[4] - 50) < 15  # vegans with five stars
    assert serious(page) == []
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download CSV").click()
    assert saved.value.suggested_filename.endswith("diet-stars.csv")
