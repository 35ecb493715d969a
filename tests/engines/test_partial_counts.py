"""Partial counts add up, whatever the rows look like, and errors travel as text."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

import localdp as ldp
from localdp import errors
from localdp.engines import partial
from localdp.engines.failures import CARRIED, TaskError, described, found_in, raised
from localdp.engines.partial import FileCount, Partial, Sums, aggregates, merged, partial_counts
from localdp.engines.rows import reports_in
from localdp.errors import WireCode, WireError

PLANS = [ldp.Plan(size, name, epsilon) for name, size, epsilon in (
    ("grr", 9, 1.0), ("oue", 70, 1.0), ("sue", 9, 1.0), ("ss", 40, 1.0), ("olh", 20, 1.0), ("llh", 300, 2.0),
    ("hr", 33, 0.5), ("dbit", 30, 1.0),
)]  # fmt: skip


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.mechanism.name)
def test_partial_counts_of_any_division_add_up_to_the_counts(plan):
    values = np.random.default_rng(1).integers(0, plan.domain.size, 5_000)
    rows = plan.privatize(values, seed=1).rows
    sums = sum(partial_counts(plan, part) for part in np.split(rows, [0, 1, 17, 4_000]))
    assert sums.dtype == np.int64
    assert np.array_equal(plan.mechanism.complete(sums, 5_000), plan.mechanism.count(rows))


def test_llh_sends_the_folded_sums_of_its_field_and_not_its_histogram():
    mechanism = ldp.Plan(41_270, "llh", 4.0).mechanism
    assert mechanism.partial_size == 1 << 16
    rows = ldp.Plan(41_270, mechanism).privatize([7, 7, 8], seed=1).rows
    kept = (sums := mechanism.count_partial(rows)).copy()
    mechanism.complete(sums, 3)
    assert np.array_equal(sums, kept)  # the sums can be completed again


def test_small_batches_are_held_back_and_counted_together(monkeypatch):
    plan = PLANS[0]
    rows = plan.privatize(np.arange(900) % 9, seed=1).rows
    calls = []
    counted = partial.partial_counts
    monkeypatch.setattr(partial, "partial_counts", lambda *given: (calls.append(len(given[1])), counted(*given))[1])
    monkeypatch.setattr(partial, "_HELD_BYTES", 400)
    tally = Sums(plan)
    for start in range(0, 900, 100):
        tally.add(rows[start : start + 100], "even" if start % 200 else "odd")
    found = aggregates(plan, tally.partial())
    assert sorted(calls) == [100, 200, 200, 200, 200]
    assert found["odd"].n + found["even"].n == 900
    assert np.array_equal(found["odd"].counts + found["even"].counts, plan.mechanism.count(rows))


def test_merging_does_not_change_what_is_merged():
    plan = PLANS[0]
    one, two = Sums(plan), Sums(plan)
    one.add(plan.privatize([1, 2], seed=1).rows, skipped=1)
    two.add(plan.privatize([3], seed=1).rows, skipped=2)
    parts = [one.partial(), two.partial()]
    before = [part.groups[None].sums.copy() for part in parts]
    total = merged([*parts, Partial(files={0: FileCount(3)}), Partial(files={0: FileCount(2, "abc")})])
    assert (total.groups[None].n, total.groups[None].skipped) == (3, 3)
    assert total.files == {0: FileCount(5, "abc")}
    assert all(np.array_equal(part.groups[None].sums, kept) for part, kept in zip(parts, before, strict=True))


def test_a_failure_survives_merging():
    failed = merged([Partial(), Partial(failure=described(errors.EmptyError("nobody is there"))), Partial()])
    with pytest.raises(errors.EmptyError, match="nobody is there"):
        aggregates(PLANS[0], failed)


@pytest.mark.parametrize(
    "error",
    [
        errors.PlanMismatchError("another plan"),
        WireError(WireCode.NONZERO_PADDING, "a report has bits set"),
        errors.DataFileError("not a Parquet file"),
    ],
)
def test_errors_travel_as_text_and_keep_their_kind(error):
    again = raised(described(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert getattr(again, "code", None) == getattr(error, "code", None)
    wrapped = f"Spark says:\n Traceback ... {TaskError(described(error))} at java.lang"
    assert str(found_in(wrapped)) == str(error)
    assert found_in("something else") is None


def test_a_file_that_a_worker_does_not_see_is_explained():
    missing = FileNotFoundError(2, "No such file or directory", "/data/mon.parquet")
    assert isinstance(missing, CARRIED)
    with pytest.raises(errors.EngineError, match=r"mon.parquet: No such file.*every worker .* the same paths"):
        raise raised(described(missing))


KINDS = {
    "binary": pa.binary(),
    "large": pa.large_binary(),
    "view": pa.binary_view(),
    "fixed": pa.binary(9),
    "dictionary": pa.dictionary(pa.int32(), pa.binary()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_every_type_of_bytes_are_read(kind):
    plan = PLANS[1]  # 70 bits in 9 bytes
    rows = plan.privatize(np.arange(50), seed=2).rows
    values = [bytes(row) for row in rows]
    column = (
        pa.array(values, pa.binary()).cast(KINDS[kind])
        if kind != "dictionary"
        else pa.array(values).dictionary_encode()
    )
    found, kept = reports_in(column.slice(3, 40), plan, "fail")
    assert kept is None
    assert np.array_equal(found, rows[3:43])
    assert not found.flags.writeable


def test_bad_rows_are_found_wherever_they_are():
    plan = PLANS[1]
    good = [bytes(row) for row in plan.privatize(np.arange(64), seed=2).rows]
    mixed = [*good[:20], None, b"short", b"\xff" * 9, *good[20:], b"\xff" * 9]
    rows, kept = reports_in(pa.array(mixed, pa.binary()), plan, "skip")
    assert [bytes(row) for row in rows] == good
    assert np.flatnonzero(~kept).tolist() == [20, 21, 22, 67]
    with pytest.raises(WireError, match=r"a row has no report, and reports of this plan are of 9 \[wrong-length\]"):
        reports_in(pa.array(mixed, pa.binary()), plan, "fail")
    with pytest.raises(WireError, match=r"a row is of 5 bytes, and reports .* are of 9"):
        reports_in(pa.array(mixed[21:], pa.binary()), plan, "fail")
    with pytest.raises(WireError, match="bits set past the last of its 70 bits"):
        reports_in(pa.array(mixed[22:], pa.binary()), plan, "fail")


@pytest.mark.parametrize("column", [pa.array(["text"]), pa.array([1])])
def test_columns_that_are_not_bytes_are_refused(column):
    with pytest.raises(errors.InvalidInputError, match="a column of reports holds bytes, not"):
        reports_in(column, PLANS[0], "fail")


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.mechanism.name)
def test_plans_travel_to_workers(plan):
    again = pickle.loads(pickle.dumps(plan))  # noqa: S301
    assert again == plan
    assert again.mechanism == plan.mechanism
