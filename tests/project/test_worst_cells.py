"""The scripts that look for the worst cases: how they choose cells, rank them and write their section of the page."""

from __future__ import annotations

import argparse
import importlib
import math
from typing import NamedTuple

import numpy as np
import pytest
from paths import DOCS, ROOT

SCRIPTS = ("small_surveys", "hard_cases", "groups", "sweep", "other_libraries", "mixed_noise")


class Cell(NamedTuple):
    """A cell as the scripts have them."""

    mechanism: str
    d: int
    epsilon: float


@pytest.fixture
def worst(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("worst")


@pytest.mark.usefixtures("worst")
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_has_a_section_on_the_page_and_can_be_imported(script):
    page = (DOCS / "results" / "hard-cases.md").read_text("utf-8")
    assert f"`python benchmarks/{script}.py`" in page
    assert page.index(f"<!-- begin {script} -->") < page.index(f"<!-- end {script} -->")
    assert callable(importlib.import_module(script).main)


def test_only_cells_with_all_parts_in_their_label_are_chosen(worst):
    cells = [Cell("oue", 2, 1.0), Cell("oue", 24, 1.0), Cell("grr", 2, 0.5)]
    assert worst.label(cells[2]) == "grr d=2 epsilon=0.5"
    assert worst.chosen(cells, argparse.Namespace(only=["d=2 "])) == [cells[0], cells[2]]
    assert worst.chosen(cells, argparse.Namespace(only=["oue", "d=2"])) == cells[:2]
    assert worst.chosen(cells, argparse.Namespace(only=[])) == cells


def test_the_worst_come_first_and_what_is_unknown_is_left_out(worst):
    figures = {"a": 1.0, "b": math.nan, "c": 3.0, "d": 2.0}
    assert worst.worst("Error", figures, count=2) == ["Error, largest first:", "", "- 3.000: c", "- 2.000: d", ""]
    assert worst.worst("Cover", figures, largest=False, count=1)[2] == "- 1.000: a"


def test_a_section_is_replaced_and_the_others_stay(worst, tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("# Title\n<!-- begin one -->\nold\n<!-- end one -->\n<!-- begin two -->\nkept\n<!-- end two -->\n")
    monkeypatch.setattr(worst, "PAGE", page)
    written = argparse.Namespace(quick=False, printed=False, only=[])
    worst.deliver("one", ["new", ""], written)
    worst.deliver("one", ["newer", ""], written)
    expected = "# Title\n<!-- begin one -->\n\nnewer\n\n<!-- end one -->\n<!-- begin two -->\nkept\n<!-- end two -->\n"
    assert page.read_text() == expected
    with pytest.raises(SystemExit, match="has no section three"):
        worst.deliver("three", [], written)


@pytest.mark.parametrize("option", ["quick", "printed", "only"])
def test_a_part_of_the_cells_is_printed_and_never_written(worst, tmp_path, monkeypatch, capsys, option):
    monkeypatch.setattr(worst, "PAGE", tmp_path / "none.md")
    worst.deliver(
        "one", ["a line"], argparse.Namespace(**{"quick": False, "printed": False, "only": [], option: ["x"]})
    )
    assert capsys.readouterr().out == "a line\n"


def test_two_exact_estimates_are_equally_good(worst):
    assert worst.ratio(0.0, 0.0) == 1
    assert worst.ratio(1.0, 0.0) == math.inf
    assert worst.ratio(1.0, 2.0) == 0.5


@pytest.mark.usefixtures("worst")
def test_shared_hash_functions_give_more_noise_than_ideal_ones():
    hashing = importlib.import_module("other_libraries")
    truth = np.append(np.full(399, 100), 40_000)
    p, q, n = math.e / (math.e + 3), 1 / 4, int(truth.sum())
    stated = n * q * (1 - q) / (p - q) ** 2

    def errors(functions):
        """Estimates minus frequencies, in stated standard deviations."""
        counts = hashing.fast_local_hashing(truth, 1.0, functions, seed=1)
        return ((counts - n * q) / (p - q) - truth) / math.sqrt(stated)

    few, many = errors(20), errors(20_000)
    assert abs(many[-1]) < 6  # the holders of the heaviest item add a tenth to its standard deviation
    # Another item collides with the heaviest one under a share of the functions whose variance is q (1 - q)/functions,
    # and its estimate moves by 40,000 g/(g - 1) times that share. With 20 functions this adds 90 times the stated
    # variance, and with 20,000 functions 0.09 of it. The mean of 399 squares has a standard error of 7%, and the limits
    # are five of them away: a right simulation passes them once in a million seeds.
    assert 91 * 0.64 < np.mean(few[:-1] ** 2) < 91 * 1.36
    assert 1.09 * 0.64 < np.mean(many[:-1] ** 2) < 1.09 * 1.36
