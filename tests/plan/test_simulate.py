"""Simulated aggregates have exactly the law of running every user."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, kstest, norm

import localdp as ldp
from localdp.errors import DomainError, EmptyError, FrequencyError, UnknownItemError
from localdp.formats import bitstrings
from localdp.mechanisms import MECHANISMS

POPULATION = (2, 1, 0)
DRAWS = 6_000
WHOLE = "every one must be a whole number"


def _law_of_counts(mechanism):
    """The exact distribution of the counts when the population runs, by convolution of the channel.

    Under an ideal hash every report supports each item independently, so that is the channel of olh and blh here.
    """
    size = mechanism.size
    if mechanism.exactly_pure:
        channel = mechanism.channel()
        support = np.array([mechanism.supports(channel.reports, item) for item in range(size)]).T
        each = [_pooled(zip(map(tuple, support.astype(int).tolist()), row, strict=True)) for row in np.asarray(channel)]
    else:
        each = [
            _pooled(
                (
                    bits,
                    float(
                        np.prod(
                            [
                                abs(1 - bit - (mechanism.p_star if i == v else mechanism.q_star))
                                for i, bit in enumerate(bits)
                            ]
                        )
                    ),
                )
                for bits in itertools.product((0, 1), repeat=size)
            )
            for v in range(size)
        ]
    total = {(0,) * size: 1.0}
    for value, users in enumerate(POPULATION):
        for _ in range(users):
            total = _pooled(
                (tuple(a + b for a, b in zip(sums, bits, strict=True)), p * r)
                for (sums, p), (bits, r) in itertools.product(total.items(), each[value].items())
            )
    return total


def _pooled(pairs):
    pooled = Counter()
    for key, probability in pairs:
        pooled[key] += probability
    return pooled


@pytest.mark.parametrize("name", MECHANISMS)
def test_simulation_has_the_law_of_the_users(name):
    """Chi-square on the joint distribution of all counts of three users; false alarms 1e-6."""
    plan = ldp.Plan(3, mechanism=name, epsilon=0.6)
    law = _law_of_counts(plan.mechanism)
    assert sum(law.values()) == pytest.approx(1)
    seen = Counter(tuple(plan.simulate(POPULATION, seed=seed).counts.tolist()) for seed in range(DRAWS))
    assert set(seen) <= set(law)
    expected = np.array(list(law.values())) * DRAWS
    observed = np.array([seen[key] for key in law])
    common = expected >= 5
    statistic = ((observed - expected)[common] ** 2 / expected[common]).sum()
    assert statistic <= chi2.isf(1e-6, common.sum() - 1)


@pytest.mark.parametrize("name", MECHANISMS)
def test_simulation_is_reproducible_by_seed_only(name):
    plan = ldp.Plan(20, mechanism=name, epsilon=0.5)
    frequencies = np.arange(20) * 10
    one, same, other = (plan.simulate(frequencies, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other
    assert plan.simulate(frequencies) != plan.simulate(frequencies)
    assert one.n == frequencies.sum()


def test_noise_of_the_paper():
    """Jia & Gong's Figure 4: OUE at epsilon 1 on 8,019,015 users has mean 0 and deviation 5434 (they write variance).

    Mean, deviation and shape (Kolmogorov-Smirnov) over 41,270 items, false alarms 1e-6 each.
    """
    data = ldp.datasets.load("kosarak")
    assert (data.n, data.d) == (8_019_015, 41_270)
    estimate = ldp.Plan(data.d, mechanism="oue", epsilon=1.0).simulate(data.frequencies, seed=1).estimate()
    assert round(estimate.std_error) == 5434
    noise = estimate.frequencies - data.frequencies
    limit = norm.isf(0.5e-6)
    assert abs(noise.mean()) <= limit * 5434 / np.sqrt(data.d)
    standard = noise / estimate.std_error_at(data.frequencies)
    assert abs(standard.std() - 1) <= limit / np.sqrt(2 * data.d)
    assert noise.std() == pytest.approx(5434, rel=0.02)
    assert kstest(standard, "norm").pvalue > 1e-6


@pytest.mark.parametrize("name", ["llh", "ss", "olh", "grr"])
def test_a_real_run_has_the_stated_noise(name):
    """Running users, not simulating: standardized errors over 1,000 items, false alarms 1e-6."""
    data = np.random.default_rng(0).zipf(1.5, 1000).clip(0, 5000)
    plan = ldp.Plan(1000, mechanism=name, epsilon=1.0)
    reports = plan.privatize(np.repeat(np.arange(1000), data), seed=4)
    estimate = plan.aggregate(plan.read(reports.to_bytes())).estimate()
    standard = (estimate.frequencies - data) / estimate.std_error_at(data)
    assert abs(standard.mean()) < 5 / np.sqrt(1000) + 0.1
    assert abs(standard.std() - 1) < 5 / np.sqrt(2000)


def test_reports_fit_their_bytes():
    for name, kind in MECHANISMS.items():
        mechanism = kind(300, 0.5)
        assert bitstrings.byte_length(mechanism.report_bits) == mechanism.report_bytes, name


@pytest.fixture
def plan():
    return ldp.Plan(["tea", "coffee", "water"], mechanism="oue", epsilon=1.0)


def test_the_negative_frequency_is_named(plan):
    with pytest.raises(FrequencyError, match="item 1 has -1"):
        plan.simulate([3, -1, -5])


@pytest.mark.parametrize(
    ("frequencies", "error", "sentence"),
    [
        ([1, -2, 3], FrequencyError, "cannot be negative: item 1 has -2"),
        ([1, 2.5, 3], FrequencyError, WHOLE),
        ([1, float("nan"), 3], FrequencyError, WHOLE),
        ([1, float("inf"), 3], FrequencyError, WHOLE),
        (["a", "b", "c"], FrequencyError, "these are answers"),
        ([1, None, 3], FrequencyError, WHOLE),
        ([1, [2], 3], FrequencyError, WHOLE),
        ([1, 2j, 3], FrequencyError, WHOLE),
        ([1, 1e30, 3], FrequencyError, WHOLE),
        ([2**62, 2**62, 2**62], FrequencyError, "sum to more than 2.53 people"),
        ([True, False, True], FrequencyError, WHOLE),
        ([1, 2], DomainError, "a flat list of 3, one for each item, not of shape"),
        (6, DomainError, "a flat list of 3, one for each item, not of shape"),
    ],
)
def test_frequencies_must_count_people(plan, frequencies, error, sentence):
    with pytest.raises(error, match=sentence):
        plan.simulate(frequencies)


def test_whole_floats_are_whole_numbers(plan):
    assert plan.simulate([1.0, 2.0, 3.0], seed=1) == plan.simulate([1, 2, 3], seed=1)


@pytest.mark.parametrize("other", [None, "something else"])
def test_frequencies_by_item_are_put_in_the_order_of_the_items(other):
    plan = ldp.Plan(["tea", "coffee", "milk", "water"], "grr", 1.0, other=other)
    answers = ["milk"] * 50 + ["tea"] * 30 + ["water"] * 20
    counts = [30, 0, 50, 20] + [0] * (other is not None)
    by_position = plan.simulate(counts, seed=1)
    for given in (Counter(answers), dict(Counter(answers)), pd.Series(answers).value_counts(), pd.Series(counts)):
        assert plan.simulate(given, seed=1) == by_position
    for stranger in ({"tea": 5, "cocoa": 1}, pd.Series([5, 1], index=["tea", "cocoa"])):
        with pytest.raises(UnknownItemError, match=r"an item for each frequency: 1 value not among .*'cocoa'$"):
            plan.simulate(stranger)
    with pytest.raises(FrequencyError, match="have an item twice"):
        plan.simulate(pd.Series([5, 1], index=["tea", "tea"]))
    with pytest.raises(EmptyError, match="nobody holds an item"):
        plan.simulate({})


def test_counts_of_numbered_items_go_by_number():
    plan = ldp.Plan(4, "grr", 1.0)
    assert plan.simulate(pd.Series([2, 2, 2, 0]).value_counts(), seed=1) == plan.simulate([1, 0, 3, 0], seed=1)


@pytest.mark.parametrize("as_given", [list, np.array, pd.Series])
def test_answers_are_refused_with_what_counts_them(as_given):
    with pytest.raises(FrequencyError, match=r"these are answers.*collections\.Counter"):
        ldp.Plan(["tea", "coffee"], "grr", 1.0).simulate(as_given(["tea", "tea", "coffee"]))
