"""`localdp estimate --ordered`, `--crossed` and `--like`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import localdp

import localdp as ldp


@pytest.fixture
def saved(tmp_path):
    """Two aggregates of the same plan, of different people."""
    plan = ldp.Plan(24, epsilon=2.0)
    rng = np.random.default_rng(1)
    shares = np.exp(-0.5 * ((np.arange(24) - 10) / 4) ** 2)
    paths = []
    for name in ("now.agg", "before.agg"):
        truth = rng.multinomial(20_000, shares / shares.sum())
        plan.simulate(truth, seed=len(paths)).save(tmp_path / name)
        paths.append(tmp_path / name)
    return paths


@pytest.mark.parametrize("options", [["--ordered"], ["--crossed", "4x6"], ["--like", "before"]])
def test_a_structure_is_used_and_named(saved, options):
    now, before = saved
    done = localdp("estimate", now, *(before if option == "before" else option for option in options), cwd=now.parent)
    assert done.returncode == 0, done.stderr
    assert f"calibrated by {options[0][2:]} and divisions" in " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ordered", "--crossed", "4x6"], "give one of"),
        (["--crossed", "4 by 6"], "such as 5x8"),
        (["--crossed", "4x7"], "28 cells, but there are 24"),
        (["--like", "now"], "shares noise"),
        (["--ordered", "--prior", "power-law"], "auto"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(saved, options, message):
    now, _ = saved
    done = localdp("estimate", now, *(now if option == "now" else option for option in options), cwd=now.parent)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_the_table_goes_by_calibrated_frequencies(saved):
    """With an order, what is calibrated need not follow what is raw."""
    now, _ = saved
    done = localdp("estimate", now, "--ordered", "--json", "--top", "24", cwd=now.parent)
    table = json.loads(done.stdout)
    rows = table if isinstance(table, list) else table["rows"]
    calibrated, raw = ([row[name] for row in rows] for name in ("calibrated", "raw"))
    assert calibrated == sorted(calibrated, reverse=True)
    assert raw != sorted(raw, reverse=True)
