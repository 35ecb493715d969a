"""A whole run of the benchmark on tiny sizes, with other libraries that answer made-up times; no network is needed."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

import localdp as ldp
from localdp.bench import machine, peers, pipeline, run, shares, startup, timing
from localdp.bench.cases import Case, PeerProtocol
from localdp.errors import InvalidInputError
from localdp.kernels import dispatch

PEERS = (PeerProtocol("pure-ldp", "pure-ldp", "oue", 4), PeerProtocol("multi-freq-ldpy", "multi-freq-ldpy", "oue", 4))
TINY = run.Scope(
    cases=(Case("oue", 64, 1.0, 100, PEERS),),
    large=(Case("llh", 64, 1.0, 100, (PeerProtocol("hadamard response", "pure-ldp", "hadamard response", 4),)),),
    rounds=1,
    growth_rounds=1,
    dataset="retail",
    epsilons=("1",),
    reports=(200, 400),
    items=(8, 16),
    calibrated=(50, 100),
)


@pytest.fixture
def environments(tmp_path):
    """The environments of both peers, with a script in the place of Python that answers every task."""
    for name in peers.NAMES:
        python = tmp_path / name / "bin" / "python"
        python.parent.mkdir(parents=True)
        answer = '{"privatize": 0.004, "aggregate": 0.008, "decode": 0.0}'
        python.write_text(f"#!/bin/sh\nwhile read -r line; do echo '{answer}'; done\n")
        python.chmod(0o755)
        (tmp_path / name / "installed.txt").write_text(peers._pins(name).read_text())
    return tmp_path


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setenv("LOCALDP_KERNELS", "fast")
    monkeypatch.setattr(timing, "TURN_SECONDS", 0.0)
    for module, name, size in (
        (machine, "READ_BYTES", 1 << 16),
        (machine, "KEYSTREAM_BYTES", 1 << 20),
        (machine, "EXPONENTIALS", 5_000),
        (shares, "COUNTED_BYTES", 1 << 16),
        (shares, "PERTURBED_BYTES", 1 << 16),
    ):
        monkeypatch.setattr(module, name, size)


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_a_run_fills_the_whole_page(environments, monkeypatch):
    monkeypatch.setattr(run, "QUICK", TINY)
    said = []
    page = run.bench(environments, quick=True, say=said.append)
    assert said == [
        "the same protocol in other libraries",
        "large domains",
        "the limits of the machine",
        "eight million people",
        "growth",
        "one report in a call",
        "the JavaScript client",
        "starting",
    ]
    assert "{" not in page
    headings = re.findall("^#+ .*", run.TEMPLATE.read_text("utf-8"), re.MULTILINE)
    assert re.findall("^#+ .*", page, re.MULTILINE) == headings
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| oue | 100 | 64 |")]
    assert [row[4] for row in rows] == ["privatize", "aggregate"]
    assert rows[0][7] == "pure-ldp 1,000; multi-freq-ldpy 1,000"  # 0.004 s over 4 users
    assert "hadamard response 3,000" in page
    assert page.count("\n| calibrate, d = |") == 2
    assert "| `python -c 'import localdp'` |" in page
    assert re.search(r"\nThe run took \d+ seconds\.\n$", page)


def test_without_numba_nothing_is_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(dispatch, "_numba_works", lambda: False)
    with pytest.raises(InvalidInputError, match=r"needs Numba: pip install numba"):
        run.bench(tmp_path, quick=True)
    assert list(tmp_path.iterdir()) == []


def test_a_quick_run_measures_less():
    assert len(run.QUICK.cases) < len(run.WHOLE.cases)
    assert run.QUICK.rounds < run.WHOLE.rounds
    assert set(run.QUICK.reports) < set(run.WHOLE.reports)


def test_the_pipeline_times_every_step_and_returns_what_it_made():
    plan = ldp.Plan(16, "llh", 1.0)
    steps, reports, estimate = pipeline.run(plan, pipeline.np.arange(1_600) % 16)
    assert list(steps) == ["privatize", "aggregate", "estimate", "calibrate"]
    assert min(steps.values()) >= 0
    assert len(reports.rows) == estimate.n == 1_600


def test_the_peak_of_memory_is_that_of_this_process():
    before = pipeline.peak_memory()
    held = bytearray(b"x" * (64 << 20))
    assert pipeline.peak_memory() >= max(before, len(held))


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_the_pipeline_prints_for_people_or_for_programs(option):
    line = [sys.executable, "-m", "localdp.bench.pipeline", "--dataset", "retail", "--times", "1", *option]
    shown = subprocess.run(line, check=True, capture_output=True, text=True).stdout  # noqa: S603
    if option:
        measured = json.loads(shown)
        assert measured["total"] == measured["first total"]
        assert abs(measured["deviation"] - 1) < 6 / (2 * 16_470) ** 0.5  # six standard errors: false alarm about 2e-9
    else:
        assert shown.startswith("908,576 users, 16,470 items")
        for step in ("privatize", "total", "bincount", "peak memory", "noise / stated standard error"):
            assert step in shown


def test_starting_is_measured_by_the_line_a_user_would_type():
    found = startup.startup(1)
    assert "python -c 'import localdp'" in found
    assert "python -c 'import localdp.client'" in found
    assert all(took > 0 for took in found.values())
