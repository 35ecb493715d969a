"""The stated noise against the estimates: right noise is rarely doubted, wrong noise is, and noise can be estimated."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.errors import DoubtfulEstimateWarning, InvalidInputError
from localdp.estimate.stated_noise import estimated_variance, noise_note


def _estimates(seed, d=2_000, deviation=10.0):
    rng = np.random.default_rng(seed)
    return rng.zipf(1.7, d).clip(0, 5_000) + rng.normal(0, deviation, d)


def test_right_noise_is_rarely_doubted():
    """Six levels of 1e-4 each: of 300 surveys without any holders, 0.18 are doubted; five or more once in 1e6 times."""
    doubted = sum(noise_note(np.random.default_rng(seed).normal(0, 3, 1_000), 3.0) is not None for seed in range(300))
    assert doubted < 5


@pytest.mark.parametrize("seed", range(5))
def test_noise_with_twice_the_variance_is_found(seed):
    note = noise_note(_estimates(seed, deviation=10.0), 10.0 / np.sqrt(2))
    assert note is not None
    assert "the noise is larger than stated" in note
    assert "instead of 7.071" in note
    assert "variance='estimate'" in note


def test_noise_that_is_smaller_than_stated_is_not_doubted():
    assert noise_note(_estimates(1, deviation=5.0), 10.0) is None


def test_calibrate_warns_and_the_result_says_so():
    estimate = ldp.Estimate(_estimates(1), n=20_000, variance=25.0, total=None)
    with pytest.warns(DoubtfulEstimateWarning, match="deviations below zero"):
        found = estimate.calibrate()
    assert any("larger than stated" in note for note in found.notes)


def test_the_noise_can_be_estimated():
    values = _estimates(3, d=20_000)
    estimate = ldp.Estimate(values, n=200_000, variance="estimate", total=None)
    assert estimate.std_error == pytest.approx(10, rel=0.1)  # a bit more, because rare items differ too
    assert estimate.notes == ()
    assert np.isfinite(estimate.calibrate().frequencies).all()


def test_estimating_takes_thirty_items():
    assert estimated_variance(np.arange(30.0)) > 0
    with pytest.raises(InvalidInputError, match="30 items or more, and there are 29"):
        ldp.Estimate(np.arange(29.0), n=400, variance="estimate")


def test_counts_far_apart_are_not_doubted_for_being_whole():
    """Nobody's count is below 0, so no estimate is lower than -4.02; the deviation is 2.8 and the spacing 2.01."""
    counts = np.random.default_rng(0).binomial(1_000, 0.002, 5_000)
    found = ldp.Estimate.from_counts(counts, n=1_000, p_star=0.5, q_star=0.002)
    assert not any("below zero" in note for note in found.notes)


@pytest.mark.parametrize("variance", [0.0, 5e-324, 1e300, np.inf])
def test_extreme_noise_gives_notes_and_no_errors(variance):
    estimate = ldp.Estimate([5.0, -3.0, -4.0, 2.0], n=10, variance=variance, total=None)
    assert bool(estimate.notes) == (variance < 1)


def test_without_noise_rounding_is_no_contradiction():
    estimate = ldp.Estimate([5.0, -1e-12, -1e-13, 5.0], n=10, variance=0.0)
    assert estimate.notes == ()
