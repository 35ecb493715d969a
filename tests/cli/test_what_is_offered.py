"""What shells complete, what is shown of results, and what is said about items that look alike."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess

import pytest
from command import COMMAND, localdp

import localdp as ldp
from localdp.advice.shapes import SEVERAL
from localdp.cli import options
from localdp.cli.advise import SHAPES
from localdp.datasets.shipped import NOTES
from localdp.hitters.rules import RULES
from localdp.mechanisms import MECHANISMS
from localdp.priors import PRIORS


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("plan --mechanism ", {*MECHANISMS, "auto", "oue+sue", "sue+oue", "privset", "wave"}),
        ("plan -m o", {"oue", "olh", "oue+sue"}),
        ("estimate c.agg --prior ", set(PRIORS) - {"fixed", "opt-in"}),
        ("hitters c.agg --rule ", set(RULES)),
        ("estimate c.agg --method ", {"mean-variance", "mle"}),
        ("privatize --unknown ", {"fail", "drop"}),
        ("reproduce --dataset ", set(NOTES)),
        ("advise --like held-0", {"held-0.3%", "held-0.1%"}),
        ("hit", {"hitters"}),
    ],
)
def test_shells_are_offered_the_names(tmp_path, words, offered):
    """This is how bash asks: the words typed so far, and which of them is being typed."""
    typed = f"{COMMAND.name} {words}"
    asked = {
        "_LOCALDP_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - (not words.endswith(" "))),
    }
    shown = localdp(cwd=tmp_path, environment=asked)
    assert set(shown.stdout.split()) == offered


def test_the_names_that_are_offered_are_those_that_exist():
    assert set(options.MECHANISMS) == {*MECHANISMS, "auto"}
    assert set(options.PRIORS) == set(PRIORS) - {"fixed", "opt-in"}
    assert options.RULES == RULES
    assert set(options.DATASETS) == set(NOTES)
    assert {*SEVERAL, "power-law", *NOTES} == set(SHAPES)


def test_python_and_the_command_have_one_rule_and_say_it(collected, tmp_path):
    shown = localdp("hitters", collected / "counts.agg", "-t", "1%", cwd=tmp_path, fresh=True)
    hits = ldp.Aggregate.load(collected / "counts.agg").estimate().calibrate().heavy_hitters("1%")
    assert shown.stdout == f"{hits.table().text(len(hits))}\n"
    assert "(rule mean)" in shown.stdout
    assert shown.stderr.startswith("Rule mean lists the items whose estimated frequency is above the threshold.\n")
    assert f"{hits.frequencies[0] / hits.n:.2%}" in shown.stdout


def test_an_item_below_the_threshold_is_explained():
    estimate = ldp.Estimate([20.0, 20.0, 20.0, 21.0, 2.0], n=100, variance=25.0)
    hits = estimate.heavy_hitters(20, "f1")
    assert hits.frequencies.tolist() == [21.0, 20.0, 20.0, 20.0]
    assert "3 of them are estimated at or below the threshold, but may well be above it" in hits.notes[0]
    assert "estimated at" not in estimate.heavy_hitters(20).notes[0]
    assert "stays within 0.3" in estimate.heavy_hitters(20, fdr=0.3).notes[0]
    assert estimate.top(2).notes == ()


@pytest.mark.parametrize("command", ["estimate", "hitters"])
def test_top_is_a_number_of_the_most_frequent_items_or_all(collected, tmp_path, command):
    names = []
    for top, rows in (("3", 3), ("1,000", 200)):
        shown = localdp(command, collected / "counts.agg", "--top", top, cwd=tmp_path).stdout.splitlines()[2:]
        assert len(shown) == rows
        names.append([line.split("  ")[0] for line in shown])
    assert names[0] == names[1][:3]


def test_every_result_has_a_column_of_shares():
    estimate = ldp.Estimate([30.0, 50.0, 20.0], n=100, variance=4.0, domain=["a", "b", "c"])
    for table in (
        estimate.table(),
        estimate.compare("gaussian"),
        estimate.calibrate("gaussian").table(),
        estimate.heavy_hitters(10).table(),
        estimate.top(2).table(),
        estimate.group({"ab": ["a", "b"]}),
    ):
        frequency = "calibrated" if "calibrated" in table.columns else "frequency"
        assert table["share"].tolist() == (table[frequency] / 100).tolist()
        assert f"{table['share'][0]:.2%}" in str(table)


@pytest.mark.parametrize("threshold", ["0.5", -1, "-5%", "0%", "101%", "half", float("nan")])
def test_thresholds_that_mean_nothing_are_refused(threshold):
    with pytest.raises(ldp.LocalDPError, match="a threshold is a number of users"):
        ldp.Estimate([30.0, 50.0], n=100, variance=4.0).heavy_hitters(threshold)


def test_items_that_look_alike_are_named_when_a_plan_is_made(tmp_path):
    alike = ["caf\u00e9", "cafe\u0301"]
    with pytest.warns(UserWarning, match=r"'caf\\xe9' and 'cafe\\u0301' look the same"):
        plan = ldp.Plan(alike, epsilon=1.0)
    assert ldp.Plan.from_json(plan.to_json()) == plan  # whoever receives it cannot change it, and is not warned
    (tmp_path / "items.txt").write_text("\n".join(alike), "utf-8")
    made = localdp("plan", "items.txt", cwd=tmp_path)
    assert made.returncode == 0
    assert "look the same: they are one text in two" in made.stderr
    assert "Warning" not in made.stderr
    (tmp_path / "values.csv").write_text("drink\nCAFE\u0301\n", "utf-8")
    refused = localdp("privatize", "values.csv", "-p", "plan.json", "-o", "r.csv", cwd=tmp_path)
    assert "differs from an item only in spaces, capitals or the way accents are written" in refused.stderr


@pytest.mark.parametrize(
    ("items", "value", "hint"),
    [
        (["0", "1"], 0, "the items are text, and this is a number"),
        ([0, 1], "0", "the items are numbers, and this is text"),
        (2, "1", "the items are numbers, and this is text"),
        (["tea", "milk"], " Tea", "differs from an item only in spaces"),
    ],
)
def test_a_value_that_is_nearly_an_item_gets_a_hint(items, value, hint):
    with pytest.raises(ldp.errors.UnknownItemError, match=hint):
        ldp.Plan(items, epsilon=1.0).privatize([value])


def test_repeated_items_are_refused_in_python_and_by_the_command(tmp_path):
    with pytest.raises(ldp.errors.DomainError, match="'tea' is in the domain twice"):
        ldp.Plan(["tea", "milk", "tea"], epsilon=1.0)
    for name, text in (("items.csv", "item\ntea\nmilk\ntea\n"), ("items.txt", "tea\nmilk\ntea\n")):
        (tmp_path / name).write_text(text)
        refused = localdp("plan", name, cwd=tmp_path)
        assert refused.returncode == 2
        assert "are the same item, 'tea'" in refused.stderr


def test_long_tables_are_cut_on_a_terminal_only(collected, tmp_path):
    ours, theirs = pty.openpty()
    command = [COMMAND, "hitters", collected / "counts.agg", "--top", "150"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=theirs, stderr=subprocess.DEVNULL):  # noqa: S603
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # the terminal is gone when the command has ended
            while part := os.read(ours, 1 << 16):
                shown += part
    os.close(ours)
    lines = shown.decode().splitlines()
    assert len(lines) == 43
    assert lines[-1] == "... and 110 more (all of them with -o FILE, or through a pipe)"
    assert len(localdp(*command[1:], cwd=tmp_path).stdout.splitlines()) == 152
