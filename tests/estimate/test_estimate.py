"""Estimates, ours and other people's."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import localdp as ldp
from localdp.errors import (
    DomainError,
    EmptyError,
    FrequencyError,
    ImpureMechanismError,
    InvalidInputError,
    UnknownItemError,
)


def test_estimate_of_an_aggregate_is_the_formula():
    plan = ldp.Plan(4, mechanism="oue", epsilon=1.0)
    estimate = ldp.Aggregate(plan, np.array([50, 40, 30, 10]), 100).estimate()
    p, q = plan.mechanism.p_star, plan.mechanism.q_star
    assert estimate.frequencies == pytest.approx((np.array([50, 40, 30, 10]) - 100 * q) / (p - q))
    assert estimate.variance == pytest.approx(100 * q * (1 - q) / (p - q) ** 2)
    assert estimate.std_error == pytest.approx(np.sqrt(estimate.variance))
    assert estimate.n == 100
    assert estimate.domain == plan.domain


def test_standard_error_grows_with_the_frequency_as_the_binomials_say():
    plan = ldp.Plan(4, mechanism="oue", epsilon=1.0)
    estimate = ldp.Aggregate(plan, np.array([50, 40, 30, 10]), 100).estimate()
    p, q = plan.mechanism.p_star, plan.mechanism.q_star
    held = np.array([0, 25, 100])
    expected = np.sqrt((held * p * (1 - p) + (100 - held) * q * (1 - q)) / (p - q) ** 2)
    assert estimate.std_error_at(held) == pytest.approx(expected)


def test_estimates_of_other_software_are_taken_as_they_are():
    given = np.array([1.5, -3.0])
    estimate = ldp.Estimate(given, n=10, variance=4.0)
    given[0] = 99
    assert estimate.frequencies.tolist() == [1.5, -3.0]
    assert (estimate.n, estimate.variance, estimate.std_error) == (10, 4.0, 2.0)
    assert estimate.domain == ldp.Domain(2)
    with pytest.raises(ValueError, match="read-only"):
        estimate.frequencies[0] = 1
    with pytest.raises(AttributeError, match="Estimate is a value"):
        estimate.n = 11


def test_counts_of_other_software_are_debiased():
    plan = ldp.Plan(4, mechanism="sue", epsilon=1.0)
    aggregate = plan.simulate([10, 20, 30, 40], seed=1)
    mechanism = plan.mechanism
    theirs = ldp.Estimate.from_counts(
        aggregate.counts, n=100, p_star=mechanism.p_star, q_star=mechanism.q_star, domain=list("abcd")
    )
    ours = aggregate.estimate()
    assert theirs.frequencies == pytest.approx(ours.frequencies)
    assert theirs.variance == pytest.approx(ours.variance)
    assert theirs.excess_variance == pytest.approx(ours.excess_variance, abs=1e-9)


@pytest.mark.parametrize("p_star", [None, [0.5, 0.6]])
def test_what_has_no_p_and_q_is_refused_with_the_reason(p_star):
    with pytest.raises(ImpureMechanismError, match=r"not a pure mechanism.*p\*.*q\*"):
        ldp.Estimate.from_counts([1, 2], n=3, p_star=p_star, q_star=0.1)
    with pytest.raises(
        ImpureMechanismError, match="needs its variance, and None was given; mechanisms that are not pure"
    ):
        ldp.Estimate([1, 2], n=3, variance=None)


@pytest.mark.parametrize(
    ("change", "error", "reason"),
    [
        ({"n": 0}, EmptyError, "no users"),
        ({"n": -1}, InvalidInputError, "number of users.*-1"),
        ({"n": 2.5}, InvalidInputError, "number of users.*2.5"),
        ({"n": True}, InvalidInputError, "number of users.*True"),
        ({"n": 10**30}, InvalidInputError, "number of users.*1000000"),
        ({"variance": 10**400}, InvalidInputError, "variance.*one number"),
        ({"excess_variance": "x"}, InvalidInputError, "excess_variance.*'x'"),
        ({"excess_variance": float("inf")}, InvalidInputError, "excess_variance.*inf"),
        ({"frequencies": [10**400, 1]}, FrequencyError, "list of numbers"),
        ({"variance": -1.0}, InvalidInputError, "variance.*-1.0"),
        ({"variance": float("nan")}, InvalidInputError, "variance.*nan"),
        ({"variance": [1.0, 2.0, 3.0]}, InvalidInputError, "variance.*one number"),
        ({"domain": 3}, DomainError, "2 estimates were given for a domain of 3 items"),
        ({"domain": ["a", "a"]}, DomainError, "'a'"),
        ({"frequencies": [1.0]}, DomainError, "two items"),
        ({"frequencies": []}, DomainError, "two items"),
        ({"frequencies": [[1.0, 2.0]]}, FrequencyError, r"flat.*\(1, 2\)"),
        ({"frequencies": ["x", "y"]}, FrequencyError, "list of numbers"),
        ({"frequencies": [1.0, float("nan")]}, FrequencyError, "item 1 is nan"),
        ({"frequencies": [1.0, float("inf")]}, FrequencyError, "item 1 is inf"),
    ],
)
def test_unusable_estimates_are_refused(change, error, reason):
    arguments = {"frequencies": [1.0, 2.0], "n": 10, "variance": 4.0} | change
    with pytest.raises(error, match=reason):
        ldp.Estimate(arguments.pop("frequencies"), **arguments)


def test_an_infinite_estimate_is_named():
    with pytest.raises(FrequencyError, match="item 1 is nan"):
        ldp.Estimate([1.0, float("nan")], n=10, variance=4.0)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"p_star": 0.2, "q_star": 0.5}, r"p\* must be larger than q\*, but 0.2 and 0.5"),
        ({"p_star": 1.5, "q_star": 0.5}, "probabilit.*1.5"),
        ({"p_star": "x", "q_star": 0.5}, "probabilit.*'x'"),
        ({"p_star": float("nan"), "q_star": 0.5}, "probabilit.*nan"),
        ({"p_star": 0.5, "q_star": 0.5}, "larger than"),
        ({"p_star": 5e-324, "q_star": 0.0}, "larger than"),
    ],
)
def test_impossible_probabilities_are_refused(arguments, reason):
    with pytest.raises(InvalidInputError, match=reason):
        ldp.Estimate.from_counts([1, 2], n=3, **arguments)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ([1.5, 2], "whole"),
        ([-1, 2], "n = 3"),
        ([1, 4], "n = 3"),
        ([1e19, 1], "whole"),
    ],
)
def test_impossible_counts_are_refused(counts, reason):
    with pytest.raises(FrequencyError, match=reason):
        ldp.Estimate.from_counts(counts, n=3, p_star=0.5, q_star=0.1)


def test_significance_threshold_and_zeroing_are_the_papers():
    estimate = ldp.Estimate(np.linspace(-50, 50, 1000), n=100, variance=16.0)
    threshold = estimate.significance_threshold()
    assert threshold == pytest.approx(norm.ppf(1 - 0.05 / 1000) * 4.0)
    zeroed = estimate.zeroed()
    kept = estimate.frequencies >= threshold
    assert (zeroed.frequencies[kept] == estimate.frequencies[kept]).all()
    assert (zeroed.frequencies[~kept] == 0).all()
    for beta in (0, 1, -1, float("nan"), "x", 5e-324):
        with pytest.raises(InvalidInputError, match="beta is a probability between 0 and 1"):
            estimate.significance_threshold(beta)


def test_shares_are_frequencies_divided_by_the_people():
    estimate = ldp.Estimate([30.0, 25.0, 45.0], n=100, variance=16.0)
    assert estimate.shares.tolist() == [0.3, 0.25, 0.45]
    calibrated = estimate.calibrate()
    assert calibrated.shares == pytest.approx(calibrated.frequencies / 100)
    assert calibrated.project("norm-sub").shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("given", [{"b": 60, "a": 50}, pd.Series([60, 50], index=["b", "a"])])
def test_estimates_by_item_are_put_in_the_order_of_the_domain(given):
    ordered = ldp.Estimate(given, n=110, variance=[2, 1], domain=["a", "b"])
    assert ordered.frequencies.tolist() == [50, 60]
    assert ordered.variance.tolist() == [1, 2]
    assert ldp.Estimate(given, n=110, variance=4).domain.items == ("b", "a")
    with pytest.raises(UnknownItemError, match=r"need the items of the domain: 1 value not among .*: 'b'$"):
        ldp.Estimate(given, n=110, variance=4, domain=["a", "c"])


@pytest.mark.parametrize("prior", ["auto", "power-law", "npmle"])
def test_calibrated_frequencies_can_be_pickled_and_copied(prior):
    calibrated = ldp.Estimate([150.0, 100, 40, 10], n=300, variance=64.0).calibrate(prior)
    for twin in (pickle.loads(pickle.dumps(calibrated)), copy.deepcopy(calibrated)):  # noqa: S301
        assert twin.frequencies.tolist() == calibrated.frequencies.tolist()
        assert repr(twin.prior) == repr(calibrated.prior)
        with pytest.raises(TypeError):
            twin.prior.parameters["new"] = 1


def test_the_narrowest_intervals_have_their_ends_in_order():
    calibrated = ldp.Estimate([150.0, 100, 40, 10], n=300, variance=64.0).calibrate("power-law")
    low, high = calibrated.interval(1e-12)
    assert (low <= high).all()


def test_a_misspelled_item_of_a_group_is_no_catch_all():
    estimate = ldp.Estimate([60, 50, 5], n=115, variance=4, domain=ldp.Domain(["tea", "milk"], other="else"))
    assert estimate.group({"rest": ["else"]})["frequency"].tolist() == [5]
    for asked in (lambda: estimate.group({"hot": ["teaa"]}), lambda: estimate.table(items=["teaa"])):
        with pytest.raises(UnknownItemError, match=r"1 value not among the 3 items of the domain: 'teaa'$"):
            asked()


def test_an_estimate_that_is_missing_is_named_by_its_item():
    with pytest.raises(FrequencyError, match="the frequency of item 'mate' is nan, which is not a finite number"):
        ldp.Estimate({"tea": 5.0, "mate": np.nan}, n=10, variance=1.0)


@pytest.mark.parametrize("items", ["tea", 0, b"tea"])
def test_items_named_beforehand_are_a_list(items):
    found = ldp.Estimate([9.5, -2.0, 31.0], n=40, variance=16.0, domain=["tea", "coffee", "water"])
    with pytest.raises(InvalidInputError, match="in a list"):
        found.table(items=items)
