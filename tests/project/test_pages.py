"""Links lead somewhere, drawings are those of the library, and a page that shows wrong output fails."""

from __future__ import annotations

import importlib.util
import re

import pytest
from paths import DOCS, ROOT
from shown_output import Noisy, assert_shown


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_and_pictures_lead_to_files(page):
    text = page.read_text("utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)|(?:src|srcset)=\"([^\"]+)\"", text)
    local = [link or picture for link, picture in targets if not (link or picture).startswith("http")]
    assert local
    assert [target for target in local if not (ROOT / target).exists()] == []


@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_the_path_of_an_answer_is_drawn_from_a_run_of_the_library(shape):
    spec = importlib.util.spec_from_file_location("answer_path", DOCS / "answer_path.py")
    answer_path = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(answer_path)
    drawn = getattr(answer_path, shape)()
    kept = (DOCS / "_static" / f"path-{shape}.svg").read_text("utf-8")
    assert kept == drawn, "run: python docs/generate_pictures.py"


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("tea   6,035\nmilk  -3\n", "tea   6035\nmilk  -3\n"),
        ("[ 76. 423.]\n", "[76. 423.]\n"),
        ("one\ntwo\nthree\n", "one\n...\n"),
    ],
)
def test_output_shown_right_passes(printed, shown):
    assert_shown(printed, shown)


@pytest.mark.parametrize(
    ("printed", "shown", "message"),
    [
        ("tea 6,035\n", "tee 6,035\n", "other words"),
        ("tea 6,035\n", "tea 6,935\n", "other figures"),
        ("tea 6,035\n", "tea 6,036\n", "other figures"),
        ("tea 6,035\nmilk 3\n", "tea 6,035\n", "other words"),
        ("one\ntwo\n", "uno\n...\n", "other words"),
    ],
)
def test_output_shown_wrong_fails(printed, shown, message):
    with pytest.raises(AssertionError, match=message):
        assert_shown(printed, shown)


def test_figures_of_secure_noise_may_differ():
    assert_shown("tea 6,035\n", "tea 5,500\n", figures=False)


def test_noise_is_decided_block_by_block():
    page = Noisy()
    assert not page.block("reports = plan.privatize(values, seed=1)\nprint(reports)")
    assert page.block("secret = plan.privatize(values)\nprint(len(secret))")
    assert not page.block("print(reports)")
    assert page.block("print(secret)")
    assert page.block("total = plan.aggregate(secret)")
    assert page.block("print(total.estimate())")
    assert page.block("kept.add(secret)")
    assert page.block("print(kept)")
    assert page.block("def again():\n    return plan.privatize(values)")
    assert page.block("print(again())")
    assert not page.block("print(plan.simulate(counts, seed=3))")
