"""A numeric column from `localdp plan --scale` to the mean, the median and the picture."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import localdp

import localdp as ldp
from localdp.engines import local
from localdp.errors import InvalidInputError
from localdp.plots import plot_cumulative, plot_scale


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Minutes of 3,000 people, some of whom gave none, with a plan and counts."""
    place = tmp_path_factory.mktemp("minutes")
    minutes = np.random.default_rng(1).gamma(4, 10, 3_000)
    lines = ["" if number % 10 == 0 else f"{value:.1f}" for number, value in enumerate(minutes)]
    (place / "minutes.csv").write_text("\n".join(["minutes", *lines]) + "\n")
    done = localdp("plan", "--scale", "0:120:5", "--other", "no answer", "-e", "2", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "24 bins of 5 from 0 to 120 (numbers beyond these count as the nearer one)" in done.stdout
    for words in (
        ("privatize", "minutes.csv", "--plan", "plan.json", "-o", "reports.parquet"),
        ("aggregate", "reports.parquet", "--plan", "plan.json", "-o", "counts.agg"),
    ):
        done = localdp(*words, cwd=place)
        assert done.returncode == 0, done.stderr
    return place


def test_the_terminal_shows_cells_in_order_and_the_summary(folder):
    done = localdp("estimate", "counts.agg", "--plot", "bars.png", cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[2].startswith("0 to 5")
    assert lines[26].startswith("no answer")
    assert [line.split()[0] for line in lines[-6:]] == ["mean", "median", "10th", "25th", "75th", "90th"]
    assert (folder / "bars.png").read_bytes().startswith(b"\x89PNG")


def test_machines_get_the_figures_with_their_intervals(folder):
    done = localdp("estimate", "counts.agg", "--summary", "--json", cwd=folder)
    figures = {row["figure"]: row for row in json.loads(done.stdout)}
    assert abs(figures["mean"]["value"] - 40) < 6
    assert figures["median"]["low"] <= figures["median"]["value"] <= figures["median"]["high"]
    assert localdp("estimate", "counts.agg", "--summary", "-o", "figures.csv", cwd=folder).returncode == 0
    assert (folder / "figures.csv").read_text().startswith('"figure","value","low","high"')


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["plan", "--scale", "1:5:x"],
            "--scale is LOW:HIGH or LOW:HIGH:STEP in numbers",
        ),
        (["plan", "--scale", "0:120:7"], "in steps of 7; a step ends at 119"),
        (["plan", "--scale", "5"], "--scale is LOW:HIGH or LOW:HIGH:STEP"),
        (["plan", "--scale", "5:1"], "a scale goes up from low to high"),
        (["plan", "--scale", "1:5", "--size", "5"], "give exactly one of them"),
        (["plan", "--scale", "1:5", "--set-size", "2"], "everybody has one number on a scale"),
        (["plan", "--size", "5", "-m", "wave"], "ask for a Scale"),
        (["advise", "--scale", "1:5", "--users", "100"], "with which --epsilon"),
        (["advise", "--scale", "1:5", "--users", "100", "-e", "1", "--items", "5"], "--scale goes with --users"),
        (["hitters", "counts.agg"], "no significance threshold: give a threshold, as a number of users or as a share"),
    ],
)
def test_bad_input_is_one_line(folder, words, message):
    done = localdp(*words, "-o", "new.json", cwd=folder) if words[0] == "plan" else localdp(*words, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_advice_says_how_well_the_mean_and_the_median_will_be_known(tmp_path):
    words = ("advise", "--scale", "0:120:5", "--users", "10000", "-e", "1")
    advice = ldp.advise(ldp.Scale(0, 120, step=5), 10_000, epsilon=1.0)
    assert localdp(*words, cwd=tmp_path).stdout == f"{advice}\n"
    best, *_ = json.loads(localdp(*words, "--json", cwd=tmp_path).stdout)
    assert (best["mechanism"], best["error of the mean"]) == ("wave", advice.mean_error)
    assert localdp(*words, "-o", "advice.csv", cwd=tmp_path).returncode == 0
    assert (tmp_path / "advice.csv").read_text().startswith('"mechanism","bytes"')


def test_a_summary_needs_a_scale(tmp_path):
    ldp.Plan(5, epsilon=1.0).simulate([100] * 5, seed=1).save(tmp_path / "items.agg")
    done = localdp("estimate", "items.agg", "--summary", cwd=tmp_path)
    assert done.returncode == 2
    assert "--summary is for plans with --scale" in done.stderr


def test_engines_count_outputs(folder):
    plan = ldp.Plan.from_json((folder / "plan.json").read_text())
    assert local.aggregate_files([folder / "reports.parquet"], plan) == ldp.Aggregate.load(folder / "counts.agg")


def test_pictures_show_shares_and_the_cumulative_curve(folder):
    cal = ldp.Aggregate.load(folder / "counts.agg").estimate().calibrate()
    bars = plot_scale(cal).patches
    assert len(bars) == 24
    assert sum(bar.get_height() for bar in bars) == pytest.approx(100 * (1 - cal.shares[-1]))
    curve = plot_cumulative(cal).lines[0].get_ydata()
    assert (np.diff(curve) >= -1e-9).all()
    with pytest.raises(InvalidInputError, match="calibrated answers to a Scale"):
        plot_scale(ldp.Plan(5, epsilon=1.0).simulate([100] * 5, seed=1).estimate().calibrate())


def test_values_that_are_no_numbers_are_named_by_row_or_dropped_as_asked(tmp_path):
    assert localdp("plan", "--scale", "0:120:5", "-o", "plan.json", cwd=tmp_path).returncode == 0
    (tmp_path / "ages.csv").write_text("age\n31\nforty\n50\nNA\n62\n")
    words = ("privatize", "ages.csv", "-p", "plan.json", "-o", "reports.csv")
    refused = localdp(*words, cwd=tmp_path)
    assert refused.returncode == 2
    assert "2 of 5 values are missing or no number, the first in row 2 below the header of ages.csv" in refused.stderr
    done = localdp(*words, "--unknown", "drop", cwd=tmp_path)
    assert "3 reports" in done.stdout
    assert "2 of 5 values were dropped" in done.stderr


def test_a_decimal_comma_is_named(tmp_path):
    assert localdp("plan", "--scale", "0:10", "-o", "plan.json", cwd=tmp_path).returncode == 0
    (tmp_path / "v.csv").write_text('marks\n"7,5"\n"8,0"\n')
    done = localdp("privatize", "v.csv", "-p", "plan.json", "-o", "r.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert "numbers have a decimal point, and no commas" in done.stderr
