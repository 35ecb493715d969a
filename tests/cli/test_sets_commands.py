"""Plans for users who hold sets, from files of baskets to estimates on the command line."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import localdp

import localdp as ldp

BASKETS = [["tea", "milk"], [], ["bread"], ["milk", "tea", "milk"]] * 300


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A folder with a plan for sets, and the same baskets in every kind of file."""
    folder = tmp_path_factory.mktemp("baskets")
    (folder / "items.txt").write_text("tea\nmilk\nbread\nrice\n")
    done = localdp("plan", "items.txt", "-e", "4", "--set-size", "2", cwd=folder)
    assert "4 items, sets of up to 2 of them, grr, epsilon 4" in done.stdout
    (folder / "cells.csv").write_text("basket\n" + "".join(f'"{"; ".join(held)}"\n' for held in BASKETS))
    (folder / "lines.dat").write_text("".join(" ".join(held) + "\n" for held in BASKETS))
    pq.write_table(pa.table({"basket": pa.array(BASKETS)}), folder / "lists.parquet")
    return folder


@pytest.mark.parametrize("name", ["cells.csv", "lines.dat", "lists.parquet"])
def test_baskets_of_every_kind_of_file_are_estimated(planned, name, tmp_path):
    reports, counts = tmp_path / "reports.parquet", tmp_path / "counts.agg"
    done = localdp("privatize", name, "-p", "plan.json", "-o", reports, cwd=planned)
    assert done.returncode == 0, done.stderr
    assert "1,200 reports, epsilon 4" in done.stdout
    assert localdp("aggregate", reports, "-p", "plan.json", "-o", counts, cwd=planned).returncode == 0
    estimate = ldp.Aggregate.load(counts).estimate()
    truth = [600, 600, 300, 0]
    for found, true, error in zip(estimate.frequencies, truth, estimate.std_error_at(truth), strict=True):
        assert abs(found - true) < 5.5 * error  # by chance once in a million
    shown = localdp("estimate", counts, cwd=planned)
    assert shown.returncode == 0
    assert "4 items among 1200 users" in shown.stdout.replace(",", "")


def test_items_that_are_not_listed_are_refused_or_left_out(planned, tmp_path):
    (tmp_path / "more.dat").write_text("tea\ntea cocoa\n")
    refused = localdp("privatize", tmp_path / "more.dat", "-p", "plan.json", "-o", tmp_path / "r.csv", cwd=planned)
    assert refused.returncode == 2
    assert "row 2 of" in refused.stderr
    assert "has 'cocoa', which the plan does not list: correct the file, make the plan" in refused.stderr
    options = ("-p", "plan.json", "--unknown", "drop", "-o", tmp_path / "r.csv")
    done = localdp("privatize", tmp_path / "more.dat", *options, cwd=planned)
    assert done.returncode == 0
    assert "2 reports" in done.stdout
    assert "1 item was left out of the sets, because the plan does not list it." in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("privatize", "lines.dat", "-p", "plan.json", "-c", "basket", "-o", "r.csv"),
            "no columns: leave out --column",
        ),
        (("privatize", "lines.dat", "-p", "one.json", "-o", "r.csv"), "in this plan every user holds one item"),
        (("plan", "items.txt", "--set-size", "0", "-o", "x.json"), "--set-size is a whole number of at least 1"),
        (("plan", "items.txt", "--set-size", "2", "--once", "0.5", "-o", "x.json"), "set_size goes neither with once"),
    ],
)
def test_what_does_not_fit_is_one_line_and_exit_code_two(planned, arguments, message):
    (planned / "one.json").write_text(ldp.Plan(["tea", "milk"], "grr", 1.0).to_json())
    done = localdp(*arguments, cwd=planned)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
