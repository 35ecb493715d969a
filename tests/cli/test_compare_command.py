"""`localdp compare` with real files."""

import json

import pytest
from command import localdp

from localdp import Plan


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("surveys")
    plan = Plan(["tea", "coffee", "water"], epsilon=2.0)
    plan.simulate([5_000, 3_000, 2_000], seed=1).save(made / "before.agg")
    plan.simulate([5_000, 2_000, 3_000], seed=2).save(made / "after.agg")
    Plan(["tea", "milk"], epsilon=2.0).simulate([500, 300], seed=1).save(made / "other.agg")
    Plan(["tea", "milk"], epsilon=2.0).simulate([5, 3], seed=1).save(made / "few.agg")
    return made


def test_it_shows_the_largest_changes_first_and_says_whether_anything_changed(folder):
    shown = localdp("compare", "before.agg", "after.agg", cwd=folder)
    lines = shown.stdout.splitlines()
    assert lines[0] == "3 items, 10,000 people before and 10,000 people after, intervals of 90%"
    assert {line.split()[0] for line in lines[2:4]} == {"coffee", "water"}
    assert "differ by more than chance" in shown.stderr


def test_lists_and_files(folder):
    shown = localdp("compare", "before.agg", "after.agg", "--fdr", "0.05", "--json", "-o", "c.csv", cwd=folder)
    rows = json.loads(shown.stdout)
    assert {row["item"] for row in rows} == {"coffee", "water"}
    assert all(row["low"] <= row["change"] <= row["high"] for row in rows)
    assert (folder / "c.csv").read_text("utf-8").startswith('"item","before","after","change"')


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("before.agg", "before.agg"), "same reports"),
        (("few.agg", "few.agg"), "same reports"),  # so few could be the same by chance, if it were not one file
        (("before.agg", "other.agg"), "other items"),
        (("before.agg", "missing.agg"), "missing.agg"),
        (("before.agg", "after.agg", "--fdr", "x"), "--fdr"),
    ],
)
def test_what_cannot_be_compared_is_one_line(folder, arguments, sentence):
    shown = localdp("compare", *arguments, cwd=folder)
    assert shown.returncode == 2
    assert sentence in shown.stderr
    assert shown.stderr.count("\n") == 1
