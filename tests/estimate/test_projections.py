"""Every projection against a five-line reference, on whatever estimates there are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import localdp as ldp
from localdp.errors import FrequencyError, InvalidInputError
from localdp.estimate.projections import PROJECTIONS, norm_cut, project

TOTAL = 1_000.0
THRESHOLD = 50.0

ordinary = st.floats(-2e3, 2e3)
huge = st.sampled_from([-1e300, -1e17, 1e17, 1e300, 1e-300, 0.0, -0.0, 7.0])
level = st.one_of(ordinary, st.just(0.0))
estimates = st.one_of(
    st.lists(ordinary, min_size=1, max_size=40),
    st.lists(st.floats(-2e3, -1e-3), min_size=1, max_size=20),
    st.lists(st.one_of(ordinary, huge), min_size=1, max_size=12),
    st.tuples(level, st.integers(1, 30)).map(lambda same: [same[0]] * same[1]),
)


def loop_until_consistent(values):
    """Norm-sub as it was published: share the difference out, zero what is negative, repeat. (In fractions: it may
    never end in floats.)"""
    alive = {place: Fraction(value) for place, value in enumerate(values)}
    while True:
        shift = (Fraction(TOTAL) - sum(alive.values())) / len(alive)
        alive = {place: value + shift for place, value in alive.items()}
        if min(alive.values()) >= 0:
            return [float(alive.get(place, 0)) for place in range(len(values))]
        alive = {place: value for place, value in alive.items() if value > 0}


def largest_that_fit(values):
    """Norm-cut, one threshold after the other."""
    for threshold in sorted({value for value in values if value > 0}):
        kept = [value if value >= threshold else 0.0 for value in values]
        if np.cumsum(sorted(kept)[::-1])[-1] <= TOTAL:
            return kept
    return [0.0] * len(values)


def scaled(values):
    """Norm-mul."""
    positive = [max(value, 0.0) for value in values]
    if not any(positive):
        return [TOTAL / len(values)] * len(values)
    return [value / max(positive) * TOTAL / sum(other / max(positive) for other in positive) for value in positive]


REFERENCES = {
    "base-pos": lambda values: [max(value, 0.0) for value in values],
    "base-cut": lambda values: [value if value >= THRESHOLD else 0.0 for value in values],
    "norm": lambda values: [value - sum(v / len(values) for v in values) + TOTAL / len(values) for value in values],
    "norm-mul": scaled,
    "norm-cut": largest_that_fit,
    "norm-sub": loop_until_consistent,
}


@pytest.mark.parametrize("method", PROJECTIONS)
@given(values=estimates)
def test_projection_is_the_reference(method, values):
    found = project(values, method, TOTAL, THRESHOLD)
    scale = max(map(abs, values)) if method == "norm" else TOTAL
    assert np.allclose(found, REFERENCES[method](values), rtol=1e-9, atol=1e-9 * max(scale, 1.0))


@pytest.mark.parametrize("method", ["norm-sub", "norm-mul"])
@given(values=estimates)
def test_consistent_means_not_negative_and_summing_to_n(method, values):
    found = project(values, method, TOTAL, THRESHOLD)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(TOTAL, rel=1e-9)


@given(values=estimates, others=st.lists(st.floats(0, 1), min_size=40, max_size=40))
def test_nothing_consistent_is_nearer_than_norm_sub(values, others):
    vector = np.clip(values, -1e6, 1e6)
    found = project(vector, "norm-sub", TOTAL, 0.0)
    weights = np.array(others[: vector.size]) + 1e-9
    other = TOTAL * weights / weights.sum()
    assert np.sum((found - vector) ** 2) <= np.sum((other - vector) ** 2) * (1 + 1e-9) + 1e-6


@pytest.mark.parametrize("method", PROJECTIONS)
@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([1.0, np.nan], "needs finite frequencies; some of those given are infinite or nan"),
        ([np.inf, 1.0], "needs finite frequencies; some of those given are infinite or nan"),
        ([-np.inf, 1.0], "needs finite frequencies; some of those given are infinite or nan"),
        ([], r"`project` needs a flat list of at least one frequency; an array of shape \(0,\) was given"),
        ([[1.0]], r"flat list.*shape \(1, 1\)"),
    ],
)
def test_what_is_not_a_list_of_numbers_is_refused(method, values, reason):
    with pytest.raises(FrequencyError, match=reason):
        project(values, method, TOTAL, THRESHOLD)


@pytest.mark.parametrize("total", [-1.0, float("nan"), float("inf")])
def test_an_impossible_total_is_refused(total):
    with pytest.raises(InvalidInputError, match="number of users"):
        project([1.0], "norm", total, THRESHOLD)


def test_norm_sub_ends_on_a_million_estimates_that_the_loop_would_zero_one_by_one():
    values = 1.0 + np.arange(1_000_000.0) ** 1.5
    assert project(values, "norm-sub", 10.0, 0.0).sum() == pytest.approx(10.0)


def test_projected_estimates_keep_their_uncertainty():
    estimate = ldp.Estimate([500.0, 620.0, -80.0, 10.0], n=1000, variance=900.0, domain=list("abcd"))
    for processed in (estimate.zeroed(), *(estimate.project(method) for method in PROJECTIONS)):
        assert isinstance(processed, ldp.Estimate)
        assert processed.interval(0.8)[0].tolist() == estimate.interval(0.8)[0].tolist()
        assert processed.probability_above(450).tolist() == estimate.probability_above(450).tolist()
        assert processed.processing[0] in repr(processed)
        with pytest.raises(InvalidInputError, match="calibrate the estimates themselves"):
            processed.calibrate()
    twice = estimate.zeroed().project("norm-sub")
    assert twice.frequencies.tolist() == pytest.approx([440.0, 560.0, 0.0, 0.0])
    assert twice.processing == ("zeroed", "norm-sub")
    assert twice.origin is estimate


def test_base_cut_is_zeroed():
    estimate = ldp.Estimate([500.0, 100.0, -80.0], n=1000, variance=900.0)
    assert estimate.project("base-cut").frequencies.tolist() == estimate.zeroed().frequencies.tolist()


def test_calibrated_frequencies_can_be_made_consistent():
    data = ldp.datasets.load("retail")
    calibrated = ldp.Plan(data.d, "oue", 2.0).simulate(data.frequencies, seed=3).estimate().calibrate()
    consistent = calibrated.project("norm-sub")
    assert (consistent.frequencies >= 0).all()
    assert consistent.frequencies.sum() == pytest.approx(data.n)
    assert consistent.prior is calibrated.prior
    assert consistent.std.tolist() == calibrated.std.tolist()
    assert "norm-sub" in repr(consistent)
    error = ldp.metrics.estimation_error
    assert error(consistent.frequencies, data.frequencies) < 1.05 * error(calibrated.frequencies, data.frequencies)


@pytest.mark.parametrize("method", ["norm_sub", None, ["norm-sub"]])
def test_an_unknown_projection_is_refused_with_the_known_ones(method):
    with pytest.raises(InvalidInputError, match=r"there is no projection.*choose from base-pos.*norm-sub"):
        ldp.Estimate([1.0, 2.0], n=3, variance=1.0).project(method)


def test_norm_cut_keeps_values_that_fit_exactly():
    assert norm_cut(np.array([1.0, 3.0, 2.0, -1.0]), 5.0).tolist() == [0.0, 3.0, 2.0, 0.0]
    assert norm_cut(np.array([2.0, 3.0]), 5.0).tolist() == [2.0, 3.0]
    assert norm_cut(np.array([1.0, 3.0, 2.0]), 4.999).tolist() == [0.0, 3.0, 0.0]
