"""A question and a mechanism that the library does not know, on engines, in files and through Calibrate."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from questions_outside import Hour

import localdp as ldp
from localdp.engines import connect
from localdp.studies import Single

PLAN = ldp.Plan(Hour(3), "test-gaps", 2.0)
TIMES = ["09:30"] * 3_000 + ["17:25"] * 2_000 + ["23:59"] * 1_000
HELD = np.array([0, 0, 0, 3_000, 0, 2_000, 0, 1_000])


@pytest.mark.parametrize("engine", ["local", "dask"])
@pytest.mark.parametrize("asked", [PLAN, Single(PLAN).parts()[0]], ids=["plan", "part"])
def test_an_outside_question_goes_through_an_engine_and_calibrate(engine, asked, tmp_path):
    """Raw estimates are within 6 deviations of the truth: a right one of eight is farther away once in 6e7 times."""
    with connect(engine) as used:
        table = pa.table({"value": TIMES})
        frame = used.frame([table.slice(0, 3_333), table.slice(3_333)])
        made = used.privatize(frame, asked, out=str(tmp_path / "out"))
        total = used.aggregate(made, asked)
        counted = used.aggregate_files(sorted((tmp_path / "out").glob("*.parquet")), asked)
    assert (total, total.n, total.plan) == (counted, 6_000, PLAN)
    assert total.counts.size == PLAN.mechanism.outcomes == PLAN.domain.size + 2
    total.save(tmp_path / "counts.agg")
    loaded = ldp.Aggregate.load(tmp_path / "counts.agg")
    assert loaded == total
    estimate = loaded.estimate()
    assert np.abs((estimate.frequencies - HELD) / estimate.std_errors).max() < 6
    calibrated = estimate.calibrate(warn=False)  # the noise is fresh, and errors of neighbouring hours go together
    assert [hour for hour, *_ in calibrated.top(3).table()] == ["09h", "15h", "21h"]
    low, high = calibrated.interval(1 - 1e-9)
    assert ((low <= HELD) & (high >= HELD)).all()
