"""The limits of the machine and our shares of them, on sizes small enough for a test: no time is judged."""

from __future__ import annotations

import platform

import pytest

import localdp as ldp
from localdp.bench import cases, machine, shares, timing
from localdp.randomness.keystream import seeded


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(timing, "TURN_SECONDS", 0.0)
    monkeypatch.setattr(machine, "READ_BYTES", 1 << 16)
    monkeypatch.setattr(machine, "KEYSTREAM_BYTES", 1 << 20)
    monkeypatch.setattr(machine, "EXPONENTIALS", 5_000)
    monkeypatch.setattr(shares, "COUNTED_BYTES", 1 << 16)
    monkeypatch.setattr(shares, "PERTURBED_BYTES", 1 << 16)


def test_the_better_of_two_measurements_is_the_faster_one():
    one, other = machine.Limits(3.0, 5.0, 0.25), machine.Limits(4.0, 2.0, 0.5)
    assert one.best_of(other) == other.best_of(one) == machine.Limits(4.0, 5.0, 0.25)


def test_limits_are_bytes_divided_by_the_best_seconds(monkeypatch):
    monkeypatch.setattr(machine, "seconds", lambda action: (action(), 0.5)[1])
    assert machine.limits(1) == machine.Limits((1 << 16) / 0.5, (1 << 20) / 0.5, 0.5)


def test_the_description_names_the_system_and_every_version():
    text = machine.description()
    for word in (platform.python_version(), "numpy ", "scipy ", "numba ", "cryptography ", "threads", "load average"):
        assert word in text


def test_a_package_that_is_missing_is_said_to_be():
    assert machine._version("localdp-no-such-package") == "(not installed)"


def test_every_work_is_compared_with_a_limit_under_both_kernels():
    measured, reached = shares.measure_shares(rounds=2)
    assert isinstance(measured, machine.Limits)
    assert [share.what for share in reached] == [
        "count oue reports, d = 1,024",
        "count oue reports, d = 16,470",
        "count oue reports, d = 41,270",
        "perturb by oue, d = 1,024, epsilon 1",
        "perturb by oue, d = 16,470, epsilon 1",
        "calibrate 5,000 items, the prior given",
    ]
    for share in reached:
        assert set(share.reached) == {"fast", "numpy"}
        assert min(share.reached.values()) > 0


@pytest.mark.parametrize(("limit", "least"), [(shares.READ, 5.0), (shares.KEYSTREAM, 2.0), (shares.EXPONENTIAL, 0.125)])
def test_the_least_time_is_the_size_over_the_speed(limit, least):
    work = shares._Work("work", limit, lambda: None, 10.0)
    assert shares._least(work, machine.Limits(2.0, 5.0, 0.125)) == least


def test_counting_reads_every_byte_of_the_reports():
    work = shares._counting(1_024)
    assert work.size == 1 << 16
    assert work.action().n == (1 << 16) // 128


def test_perturbing_knows_how_much_keystream_it_draws(monkeypatch):
    monkeypatch.setattr(shares, "PERTURBED_BYTES", 1 << 20)
    work = shares._perturbing(1_024)
    values = cases.values_of(1_024, (1 << 20) // 128)
    source = seeded(1)
    ldp.Plan(1_024, "oue", 1.0).mechanism.randomize(values, source)
    assert work.size == pytest.approx(8 * source.drawn, rel=0.05)
