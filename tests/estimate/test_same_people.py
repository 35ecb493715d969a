"""The same people on several days: variances, the number of people, and bounds where it is not known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import localdp as ldp
from localdp.errors import InvalidInputError
from localdp.estimate import same_people
from localdp.estimate.same_people import bounded_reports, variance_of_mean
from localdp.plan.reports import Reports
from localdp.randomness.keystream import seeded

TRUTH = np.array([600, 250, 100, 50, 0, 0, 0, 0])


def _days(plan, days, seed, truth=TRUTH):
    """The merged counts of the same people on several days."""
    source = seeded(seed)
    kept = plan.mechanism.permanent(np.repeat(np.arange(truth.size), truth), source)
    merged = ldp.Aggregate(plan)
    for _ in range(days):
        merged.add(Reports(plan, plan.mechanism.again(kept, source)))
    return merged


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "once"), [("oue", 1.0, None), ("oue+sue", 2.0, 1.0), ("grr+grr", 2.0, 1.0)]
)
def test_the_stated_variance_is_that_of_simulated_days(mechanism, epsilon, once):
    """120 surveys of 10 days: the variance of an empty item's estimate is right to within 70% (five deviations of 13%).

    Counted as new people, the variance would be too small by a factor of 1.6 to 10.
    """
    plan = ldp.Plan(TRUTH.size, mechanism, epsilon, **({} if once is None else {"once": once}))
    found = []
    for seed in range(120):
        estimate = _days(plan, 10, seed).estimate(reports_per_person=10)
        found.append(estimate.frequencies[4:])
    assert estimate.n == 1_000
    assert np.mean(np.square(found)) == pytest.approx(estimate.variance, rel=0.7)
    assert np.mean(np.square(found)) > 1.3 * plan.mechanism.variance(10_000) / 100


def test_once_is_what_it_was_and_more_days_add_nothing_without_a_second_perturbation():
    plan = ldp.Plan(4, "oue", 1.0)
    aggregate = plan.simulate([500, 300, 150, 50], seed=1)
    one, other = aggregate.estimate(), aggregate.estimate(reports_per_person=1)
    assert np.array_equal(one.frequencies, other.frequencies)
    assert (one.variance, one.probabilities) == (other.variance, other.probabilities)
    thrice = ldp.Aggregate(plan, aggregate.counts * 3, aggregate.n * 3).estimate(reports_per_person=3)
    assert thrice.frequencies == pytest.approx(one.frequencies)
    assert thrice.variance == pytest.approx(one.variance)
    assert thrice.n == one.n


def test_the_variance_runs_from_one_report_to_the_permanent_response():
    assert variance_of_mean(100.0, 400.0, 1) == 400
    assert variance_of_mean(100.0, 400.0, 1e9) == pytest.approx(100)
    assert variance_of_mean(100.0, 100.0, 30) == 100


@pytest.mark.parametrize("d", [8, 60])
def test_an_unknown_number_is_bounded_by_the_noise(d):
    """The right number is within the bound 95% of the time: of 60 surveys at least 45 (fewer: once in 10 million)."""
    rng, right, held = np.random.default_rng(d), 6.0, 0
    bounds = []
    for _ in range(60):
        n, permanent, once = 60_000, 3.0, 9.0
        noise = np.sqrt((right * permanent + once - permanent) / n)
        shares = rng.dirichlet(np.full(d, 0.3)) * 0.1 + rng.normal(0, noise, d)
        bounds.append(bounded_reports(shares, n, permanent, once, (1.0, 30.0)))
        held += bounds[-1] >= right
    assert held >= 45
    assert all(1 <= bound <= 30 for bound in bounds)
    if d >= 30:
        assert np.median(bounds) < 15


@pytest.mark.parametrize("given", [0, 0.5, -3, "seven", (3, 2), (1, 2, 3), float("nan"), 10_001, True, None])
def test_numbers_of_reports_are_checked(given):
    aggregate = ldp.Plan(2, "grr", 1.0).simulate([6_000, 4_000], seed=1)
    with pytest.raises(InvalidInputError, match="reports_per_person is how many reports each person has sent"):
        aggregate.estimate(reports_per_person=given)


def test_few_items_bound_the_noise_by_the_spread_around_their_own_mean():
    """Of d items, d - 1 deviations are free."""
    shares = np.array([0.1, 0.4, 0.2, 0.3])
    spread = ((shares - 0.25) ** 2).sum()
    exact = spread / chi2.isf(same_people._CONFIDENCE, 3)
    assert same_people._largest_variance(shares) == pytest.approx(exact, rel=1e-9)
