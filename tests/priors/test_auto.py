"""The prior `auto`: an average with weights that add up, named in the notes, and honest where noise hides the shape."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp

RETAIL = ldp.datasets.load("retail").frequencies


def _estimate(truth, epsilon, seed=1):
    return ldp.Plan(truth.size, "oue", epsilon).simulate(truth, seed=seed).estimate()


def test_weights_sum_to_one_and_the_notes_name_the_parts():
    found = _estimate(RETAIL[:3_000], 3.0).calibrate()
    shares = dict(found.prior.parameters)
    assert set(shares) <= {"smooth", "bulk", "npmle"}
    assert sum(shares.values()) == pytest.approx(1, abs=0.015)  # shares below 0.005 are not shown
    assert found.notes[0].startswith("auto averaged priors by how well they explain the estimates: ")
    assert all(name in found.notes[0] for name in shares)
    assert np.exp(found.prior.log_masses).sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("d", [2, 10, 31])
def test_few_items_use_divisions_alone(d):
    truth = np.random.default_rng(d).poisson(300, d)
    found = _estimate(truth, 1.0).calibrate()
    assert dict(found.prior.parameters) == {"divisions": 1.0}
    assert "divisions 100%" in found.notes[0]
    assert found.prior.items == d
    assert found.frequencies.sum() == pytest.approx(truth.sum(), rel=0.02)


def test_more_items_use_curves_too():
    found = _estimate(np.random.default_rng(0).zipf(1.5, 400).clip(0, 5_000), 4.0).calibrate()
    assert "smooth" in found.prior.parameters


def test_the_average_is_the_weighted_sum_of_its_parts():
    estimate = _estimate(np.random.default_rng(0).zipf(1.5, 80).clip(0, 5_000) * 20, 1.0)
    found = estimate.calibrate()
    shares = dict(found.prior.parameters)
    cells = found.prior.cells
    parts = {name: cells.masses(estimate.calibrate(name).prior) for name in shares}
    expected = sum(share * parts[name] for name, share in shares.items())
    assert len(shares) > 1
    assert np.exp(found.prior.log_masses) == pytest.approx(expected, abs=0.01)


def test_levels_in_doubt_have_a_limited_weight():
    """Frequencies without levels: `npmle` may be no worse than the curves, but has at most 40%."""
    truth = np.random.default_rng(1).poisson(np.random.default_rng(2).gamma(4.0, 50.0, 500))
    found = _estimate(truth, 2.0).calibrate()
    assert found.prior.parameters.get("npmle", 0.0) <= 0.4 + 1e-9


@pytest.mark.parametrize("steepness", [0.7, 2.5, 4.5])
def test_a_spike_narrower_than_a_node_gains_no_likelihood(steepness):
    """140 million users, 122,551 items: most frequencies lie far below the noise, where a fit might invent a spike."""
    rng = np.random.default_rng(3)
    shares = np.exp(-steepness * rng.exponential(1, 122_551))
    truth = rng.multinomial(140_000_000, shares / shares.sum())
    low, high = _estimate(truth, 1.0).calibrate().interval(0.9)
    assert np.mean((low <= truth) & (truth <= high)) >= 0.75
