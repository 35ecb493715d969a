"""The page of the benchmark, from made-up numbers."""

from __future__ import annotations

import re

import pytest
from paths import ROOT

from localdp.bench import page
from localdp.bench.cases import Case, PeerProtocol
from localdp.bench.growth import Growth
from localdp.bench.javascript import InJavaScript
from localdp.bench.machine import Limits
from localdp.bench.one_report import OneReport
from localdp.bench.run import TEMPLATE
from localdp.bench.shares import Share

CASE = Case(
    "oue", 1_024, 1.0, 200_000, (PeerProtocol("them", "them", "OUE", 100), PeerProtocol("others", "others", "oue", 50))
)
SIDES = {
    "fast": {"privatize": 1e-7, "both": 2e-7},
    "numpy": {"privatize": 4e-7, "both": 6e-7},
    "fast, one thread": {"privatize": 2e-7, "both": 3e-7},
    "numpy, one thread": {"privatize": 5e-7, "both": 9e-7},
    "them": {"privatize": 2e-5, "both": 4e-5},
    "others": {"privatize": 1.5e-3, "both": 1e-5},
}


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(1.23456e-6, "1.23"), (1.2e-9, "0.0012"), (9.994e-4, "999"), (1e-3, "1,000"), (2.5, "2,500,000")],
)
def test_microseconds_have_three_digits_or_all_before_the_point(seconds, shown):
    assert page.microseconds(seconds) == shown


def test_a_case_is_a_row_for_each_step_with_ratios_to_the_fastest_peer():
    head, line, privatize, both = page.against_peers([(CASE, SIDES)], ("privatize", "both")).splitlines()
    assert head == (
        "|  | n | d | epsilon | step | fast, µs | NumPy, µs | peers, µs | fastest peer / fast | fastest peer / NumPy | "
        "NumPy / fast | NumPy / fast, one thread |"
    )
    assert line.count("---") == head.count("|") - 1
    assert privatize == (
        "| oue | 200,000 | 1,024 | 1 | privatize | 0.1 | 0.4 | them 20; others 1,500 | **200** | 50 | 4.0 | 2.5 |"
    )
    assert both == (
        "| oue | 200,000 | 1,024 | 1 | privatize + aggregate | 0.2 | 0.6 | them 40; others 10 | **50** | 17 | 3.0 | "
        "3.0 |"
    )


def test_the_limits_of_the_machine_and_our_shares():
    shares = [Share("count", "reading memory", {"fast": 0.987, "numpy": 0.125})]
    assert page.against_machine(Limits(26.12e9, 20.08e9, 0.0142), shares) == (
        "Reading memory: 26.1 GB/s. AES-128-CTR keystream: 20.1 GB/s. `np.exp` of 10,000,000 numbers: 0.014 s.\n\n"
        "| work | limit | share of the limit, fast | NumPy |\n| --- | --- | --- | --- |\n"
        "| count | reading memory | **0.99** | 0.12 |"
    )


def test_the_pipeline_at_every_epsilon():
    run = {
        "privatize": 0.1,
        "aggregate": 0.2,
        "estimate": 0.0,
        "calibrate": 0.3,
        "total": 0.6,
        "first total": 1.2,
        "bincount": 0.03,
        "write": 0.04,
        "read": 0.05,
        "peak bytes": 2**29,
        "stated deviation": 5440.84,
        "mean": -0.00081,
        "deviation": 0.99789,
    }
    assert page.end_to_end({"1": run, "4": {**run, "total": 0.9}}).splitlines() == [
        "|  | epsilon 1 | epsilon 4 |",
        "| --- | --- | --- |",
        "| privatize | 0.100 s | 0.100 s |",
        "| aggregate | 0.200 s | 0.200 s |",
        "| estimate | 0.000 s | 0.000 s |",
        "| calibrate | 0.300 s | 0.300 s |",
        "| total | 0.600 s | 0.900 s |",
        "| total, first run | 1.200 s | 1.200 s |",
        "| `np.bincount` | 0.030 s | 0.030 s |",
        "| write the reports | 0.040 s | 0.040 s |",
        "| read the reports | 0.050 s | 0.050 s |",
        "| total / `np.bincount` | **20** | **30** |",
        "| peak memory | 0.50 GiB | 0.50 GiB |",
        "| stated standard error | 5,440.8 | 5,440.8 |",
        "| noise / stated standard error: mean | -0.0008 | -0.0008 |",
        "| noise / stated standard error: deviation | 0.9979 | 0.9979 |",
    ]


def test_growth_ends_with_the_last_size_over_the_first():
    grown = Growth("oue, n =", "report", (1_000, 20_000), {"privatize": [20.0, 5.0], "aggregate": [1234.5, 2469.0]})
    assert page.growing([grown]).splitlines()[2:] == [
        "| oue, n = | privatize | report | 1,000: 20, 20,000: 5 | 0.25 |",
        "| oue, n = | aggregate | report | 1,000: 1.23e+03, 20,000: 2.47e+03 | 2.00 |",
    ]


def test_one_report_in_a_call():
    took = {"privatize": 63e-6, "derived": 12.34e-6, "remembered": 0.4e-6}
    shown = page.one_at_a_time([OneReport("llh", 16_470, 1.0, took)]).splitlines()
    assert shown[2:] == ["| llh | 16,470 | 1 | 63 | 12.3 | 0.4 |"]


def test_the_javascript_client():
    measured = InJavaScript("oue", 16_470, 4.0, parse=21.25, first=4.04, fresh=0.02, derived=0.5)
    shown = page.in_javascript([measured]).splitlines()
    assert shown[2:] == ["| oue | 16,470 | 4 | 50,000 | 2,000 | 21.2 | 4.0 |"]
    assert page.in_javascript([]) == "(Node was not there.)"


def test_ways_to_start():
    assert page.starting({"localdp --help": 0.27812}).splitlines()[2:] == ["| `localdp --help` | 0.278 s |"]


def test_the_committed_page_has_the_sentences_and_tables_of_the_code():
    """Its numbers are those of a run; its words must be the ones that a run would write today."""
    committed = (ROOT / "benchmarks" / "RESULTS.md").read_text("utf-8")
    for line in TEMPLATE.read_text("utf-8").splitlines():
        pattern = ".+".join(re.escape(part) for part in re.split(r"\{\w+\}", line))
        assert re.search(f"^{pattern}$", committed, re.MULTILINE), line
    run = dict.fromkeys(("privatize", "aggregate", "estimate", "calibrate", "total", "first total", "bincount"), 1.0)
    run |= dict.fromkeys(("write", "read", "peak bytes", "stated deviation", "mean", "deviation"), 1.0)
    tables = (
        page.against_peers([], ()),
        page.against_machine(Limits(1, 1, 1), []).partition("\n\n")[2],
        page.end_to_end(dict.fromkeys(("1", "4", "8"), run)),
        page.growing([]),
        page.one_at_a_time([]),
        page.starting({}),
    )
    labels = [re.sub(r"\| \**\d.*|\| [+-].*", "", line) for table in tables for line in table.splitlines()]
    for label in labels:
        assert label in committed, label
