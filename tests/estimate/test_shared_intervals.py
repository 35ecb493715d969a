"""Intervals are computed once for each level, and post-processed copies share them and the posterior."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.calibrate.posterior import Posterior
from localdp.estimate.projections import PROJECTIONS

TRUTH = (3_000 / np.arange(1, 121) ** 1.1).astype(np.int64)


@pytest.fixture
def estimate():
    return ldp.Plan(TRUTH.size, "oue", 2.0).simulate(TRUTH, seed=1).estimate()


def _count(monkeypatch, kind, name):
    """Count the calls of a method."""
    calls, method = [], getattr(kind, name)

    def counted(*arguments, **named):
        calls.append(arguments[1:])
        return method(*arguments, **named)

    monkeypatch.setattr(kind, name, counted)
    return calls


def _ask_everything(frequencies):
    frequencies.heavy_hitters("1%")
    frequencies.heavy_hitters("0.5%", rule="f1")
    frequencies.top(3)
    frequencies.table()
    frequencies.interval(0.9)


def test_calibrated_intervals_are_computed_once_for_each_level(estimate, monkeypatch):
    calls = _count(monkeypatch, Posterior, "shortest_intervals")
    calibrated = estimate.calibrate("power-law")
    assert calls == []
    for frequencies in (calibrated, calibrated.zeroed(), calibrated.project(), calibrated.zeroed().project("norm")):
        _ask_everything(frequencies)
    assert calls == [(0.9,)]
    calibrated.zeroed().interval(0.5)
    calibrated.table(0.5)
    assert calls == [(0.9,), (0.5,)]


def test_raw_intervals_are_computed_once_for_each_level(estimate, monkeypatch):
    calls = _count(monkeypatch, ldp.Estimate, "_interval")
    for frequencies in (estimate.zeroed(), estimate, estimate.zeroed().project()):
        _ask_everything(frequencies)
    assert calls == [(0.9,)]


def test_the_prior_is_fitted_at_once_and_the_posterior_when_it_is_needed(estimate, monkeypatch):
    calls = _count(monkeypatch, Posterior, "__init__")
    calibrated = estimate.calibrate("power-law")
    assert calibrated.prior.parameters["alpha"] > 0
    assert calls == []
    assert calibrated.frequencies.size == TRUTH.size
    for copy in (calibrated, calibrated.zeroed(), calibrated.project(), calibrated.zeroed().project("norm")):
        assert copy.std is calibrated.std
        copy.quantile(0.3)
        copy.interval()
    assert len(calls) == 1


@pytest.mark.parametrize("prior", [None, "power-law", "npmle"])
@pytest.mark.parametrize("method", PROJECTIONS)
def test_shared_intervals_are_those_that_a_fresh_computation_gives(estimate, prior, method):
    def fresh():
        again = ldp.Estimate(
            estimate.frequencies, n=estimate.n, variance=estimate.variance, excess_variance=estimate.excess_variance
        )
        return again if prior is None else again.calibrate(prior)

    shared = fresh()
    for level in (0.9, 0.5):
        for found, expected in zip(shared.project(method).interval(level), fresh().interval(level), strict=True):
            assert np.array_equal(found, expected)
    assert shared.project(method).origin is shared
    assert shared.zeroed().project(method).origin is shared


def test_shared_arrays_cannot_be_written(estimate):
    for frequencies in (estimate, estimate.calibrate("power-law")):
        for side in frequencies.interval(0.8):
            with pytest.raises(ValueError, match="read-only"):
                side[0] = 7.0


def test_many_levels_do_not_pile_up(estimate):
    first = estimate.interval(0.9)
    for level in np.linspace(0.1, 0.8, 30):
        estimate.interval(level)
    assert len(estimate._recent_intervals) <= 4
    again = estimate.interval(0.9)
    assert again[0] is not first[0]
    assert np.array_equal(again, first)


def test_a_posterior_cannot_be_changed(estimate):
    posterior = estimate.calibrate("power-law")._posterior
    with pytest.raises(AttributeError, match="Posterior is a value"):
        posterior.nodes = np.zeros(3)
