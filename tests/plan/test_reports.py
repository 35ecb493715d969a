"""Reports: secret by default, checked when they are made or read, and never changed afterwards."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import localdp as ldp
from localdp.errors import (
    EmptyError,
    UnknownItemError,
    WireError,
)
from localdp.mechanisms import MECHANISMS
from localdp.plan import Reports
from localdp.randomness import keystream

NAMES = list(MECHANISMS)


@pytest.fixture
def plan():
    return ldp.Plan(["tea", "coffee", "water"], mechanism="oue", epsilon=1.0)


def test_an_empty_batch_is_not_written(plan):
    none = plan.privatize(["tea"])[1:]
    for write in (none.to_bytes, none.to_json):
        with pytest.raises(EmptyError, match="at least one"):
            write()
    assert plan.aggregate(none).n == 0


@pytest.mark.parametrize("name", NAMES)
def test_privatizing_is_secret_by_default_and_reproducible_by_seed(name):
    plan = ldp.Plan(50, mechanism=name, epsilon=0.5)
    values = np.arange(50)
    once, twice = plan.privatize(values), plan.privatize(values)
    assert not np.array_equal(once.rows, twice.rows)
    assert np.array_equal(plan.privatize(values, seed=7).rows, plan.privatize(values, seed=7).rows)
    assert not np.array_equal(plan.privatize(values, seed=7).rows, plan.privatize(values, seed=8).rows)


def test_default_randomness_is_the_operating_systems(plan, monkeypatch):
    keys = []
    monkeypatch.setattr(keystream.os, "urandom", lambda size: keys.append(size) or b"k" * size)
    plan.privatize(["tea"])
    plan.simulate([1, 2, 3])
    plan.privatize(["tea"], seed=1)
    assert keys == [16]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (["tea", "beer"], "1 value not among the 3 items of the domain: 'beer'"),
        ([0], "1 value not among the 3 items of the domain: 0"),
        ([None], "1 value not among the 3 items of the domain: None"),
        ("tea", "values must be a flat list"),
    ],
)
def test_values_outside_the_domain_are_refused(plan, values, sentence):
    with pytest.raises(UnknownItemError, match=sentence):
        plan.privatize(values)


def test_privatizing_from_many_threads_is_independent():
    plan = ldp.Plan(1000, mechanism="llh", epsilon=1.0)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(plan.privatize(np.zeros(500, int)).rows)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    batches = {rows.tobytes() for rows in results}
    assert len(batches) == 8


def test_reports_are_sliced_not_indexed(plan):
    reports = plan.privatize(["tea", "water"])
    assert len(reports[:1]) == 1
    with pytest.raises(TypeError, match="slices"):
        reports[0]


def test_reports_are_checked_and_cannot_be_changed_afterwards():
    plan = ldp.Plan(5, mechanism="ss", epsilon=1.0)
    reports = plan.privatize([0, 1, 2])
    buffer = bytearray(reports.to_bytes())
    read = plan.read(buffer)
    buffer[24:] = b"\xff" * 3
    assert plan.aggregate(read) == plan.aggregate(reports)
    for kept in (read, reports, reports[:2]):
        with pytest.raises(ValueError, match="read-only"):
            kept.rows[0, 0] = 1
    rows = np.array(reports.rows)
    mine = Reports(plan, rows)
    rows[:] = 255
    assert plan.aggregate(mine) == plan.aggregate(reports)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (np.zeros((3, 2), np.uint8), r"rows of 1 bytes, not uint8 \(3, 2\)"),
        (np.zeros((3, 1)), r"rows of 1 bytes, not float64 \(3, 1\)"),
        (np.zeros(3, np.uint8), r"rows of 1 bytes, not uint8 \(3,\)"),
        (np.full((3, 1), 255, np.uint8), "nonzero-padding"),
        (None, r"rows of 1 bytes, not object \(\)"),
    ],
)
def test_rows_that_are_not_reports_are_refused(rows, sentence):
    with pytest.raises(WireError, match=sentence):
        Reports(ldp.Plan(5, mechanism="llh", epsilon=1.0), rows)
