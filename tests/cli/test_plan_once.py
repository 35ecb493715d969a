"""`localdp plan --once` and `--answers`, `localdp advise --once`, and the commands that use such plans."""

from __future__ import annotations

import json

import pytest
from command import localdp

import localdp as ldp


def test_a_plan_with_once_goes_through_the_whole_pipeline(tmp_path):
    (tmp_path / "items.txt").write_text("tea\ncoffee\nwater\n")
    (tmp_path / "values.csv").write_text("item\n" + "tea\n" * 600 + "coffee\n" * 300)
    done = localdp("plan", "items.txt", "-e", "4", "--once", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 items, grr+grr, epsilon 4 and 2 for one report" in done.stdout
    plan = ldp.Plan.from_json((tmp_path / "plan.json").read_text())
    assert plan == ldp.Plan(["tea", "coffee", "water"], epsilon=4.0, once=2.0)
    for command in (
        ("privatize", "values.csv", "-p", "plan.json", "-o", "reports.csv"),
        ("aggregate", "reports.csv", "-p", "plan.json", "-o", "counts.agg"),
        ("estimate", "counts.agg", "--json"),
    ):
        done = localdp(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert ldp.Aggregate.load(tmp_path / "counts.agg").n == 900


def test_a_mechanism_and_a_number_of_answers_can_be_chosen(tmp_path):
    done = localdp("plan", "--size", "50", "-m", "oue", "-e", "2", "--once", "1", "-o", "a.json", cwd=tmp_path)
    assert "oue+oue was asked for by name" in done.stdout
    done = localdp("plan", "--size", "50", "-m", "dbit", "--answers", "4", "-o", "b.json", cwd=tmp_path)
    assert json.loads((tmp_path / "b.json").read_text())["answers"] == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-e", "2", "--once", "2"), "once = 2 must be below epsilon = 2"),
        (("-m", "llh", "-e", "2", "--once", "1"), "llh has no second perturbation"),
        (("-m", "oue", "--answers", "3"), "only dbit takes a number of answers"),
    ],
)
def test_budgets_that_do_not_fit_are_one_line_and_exit_code_two(options, message, tmp_path):
    done = localdp("plan", "--size", "50", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_chains_are_compared_before_anything_is_collected(tmp_path):
    done = localdp("advise", "--items", "50", "--users", "1e5", *("-e", "4", "--once", "1"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Take oue+sue: the least noisy mechanism for 50 items at epsilon 4 and 1 for one\nreport" in done.stdout
    assert "   once  error in users" in done.stdout
