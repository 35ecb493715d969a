"""Implausible reports are flagged, honest ones no more often than stated, and the laws behind it are exact."""

from __future__ import annotations

import tracemalloc
from math import comb

import numpy as np
import pytest
from scipy.stats import binom

import localdp as ldp
from localdp.errors import EmptyError, InvalidInputError, PlanMismatchError
from localdp.forgery.plausibility import REPEATED, SUM, SUPPORT, summed_tails
from localdp.kernels.binomial_tails import binomial_at_least, binomial_at_most
from localdp.mechanisms.laws import WeightLaw

UNARY = [
    ldp.Plan(6, "sue", 1.0),
    ldp.Plan(6, "oue", 1.0),
    ldp.Plan(6, "oue+sue", 2.0, once=0.7),
    ldp.Plan(5, "dbit", 1.0, answers=1),
    ldp.Plan(5, "dbit", 1.0, answers=3),
]
ALL = [
    ldp.Plan(40, "oue", 1.0),
    ldp.Plan(40, "sue+sue", 2.0, once=1.0),
    ldp.Plan(40, "dbit", 1.0, answers=6),
    ldp.Plan(40, "grr", 3.0),
    ldp.Plan(40, "ss", 1.0),
    ldp.Plan(40, "llh", 1.0),
    ldp.Plan(40, "olh", 1.0),
    ldp.Plan(40, "hr", 0.6),
]


def _name(plan):
    return f"{plan.mechanism.name} {plan.mechanism.options()}"


@pytest.mark.parametrize("plan", UNARY, ids=_name)
def test_the_law_of_a_weight_is_that_of_the_channel_whatever_is_held(plan):
    mechanism = plan.mechanism
    channel = mechanism.channel()
    weights = np.array(
        [mechanism.count(channel.reports[place : place + 1]).sum() for place in range(len(channel.reports))]
    )
    law = mechanism.weight_law
    every = np.arange(weights.max() + 2)
    for probabilities in np.asarray(channel):
        above = [probabilities[weights >= weight].sum() for weight in every]
        below = [probabilities[weights <= weight].sum() for weight in every]
        np.testing.assert_allclose(law.at_least(every), above, atol=1e-14)
        np.testing.assert_allclose(law.at_most(every), below, atol=1e-14)


@pytest.mark.parametrize("law", [WeightLaw(0.5, 7, 0.2), WeightLaw(0.9, 0, 0.3), WeightLaw(0.1, 30, 0.01)])
def test_the_tails_of_a_sum_of_weights_are_those_of_a_convolution(law):
    one = np.convolve([1 - law.own, law.own], [binom.pmf(k, law.others, law.other) for k in range(law.others + 1)])
    summed = np.ones(1)
    for _ in range(5):
        summed = np.convolve(summed, one)
    for total in range(summed.size):
        below, above = summed_tails(total, 5, law)
        assert below == pytest.approx(summed[: total + 1].sum(), rel=1e-9)
        assert above == pytest.approx(summed[total:].sum(), rel=1e-9)


@pytest.mark.parametrize(("trials", "chance"), [(1, 0.3), (40, 0.02), (1_000, 0.5), (10_000_000, 0.27), (2_000, 1e-9)])
def test_binomial_tails_are_exact_far_out_too(trials, chance):
    spread = np.sqrt(trials * chance * (1 - chance)) * np.array([-9, -2, -0.5, 0, 0.5, 3, 9, 25])
    counts = np.unique(np.round(trials * chance + spread).astype(np.int64))
    if trials <= 10_000:
        counts = np.concatenate([[-1, 0], counts[(counts >= 0) & (counts <= trials)], [trials, trials + 1]])
    above, below = binom.sf(counts - 1, trials, chance), binom.cdf(counts, trials, chance)
    np.testing.assert_allclose(binomial_at_least(counts, trials, chance), above, rtol=1e-8, atol=1e-250)
    np.testing.assert_allclose(binomial_at_most(counts, trials, chance), below, rtol=1e-8, atol=1e-250)


def test_one_forged_report_of_ten_million_items_costs_no_memory():
    counts = np.array([2_690_000, 2_700_000, 2_702_000, 10_000_000])
    tracemalloc.start()
    tails = binomial_at_least(counts, 10_000_000, 0.27)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(tails, binom.sf(counts - 1, 10_000_000, 0.27), rtol=1e-7, atol=1e-250)
    assert most < 4 << 20


@pytest.mark.parametrize("same_item", [False, True])
@pytest.mark.parametrize("plan", ALL, ids=_name)
def test_honest_batches_give_false_alarms_at_most_at_the_stated_rate(plan, same_item):
    rate, batches, reports = 0.2, 150, 60
    rng = np.random.default_rng(8)
    alarms, sums = 0, []
    for seed in range(batches):
        values = np.full(reports, 3) if same_item else rng.integers(0, plan.domain.size, reports)
        found = plan.plausibility(plan.privatize(values, seed=seed), false_alarms=rate)
        alarms += not found.plausible
        sums.append(found.p_values.get(SUM, np.nan))
        assert not (found.plausible and found.flagged.size)
    assert alarms <= binom.ppf(1 - 1e-6, batches, rate)
    if not np.isnan(sums).any():  # the sum has many values, so its p-values must be nearly uniform, not just cautious
        assert binom.ppf(1e-6, batches, 0.4) <= np.sum(np.array(sums) <= 0.5) <= binom.ppf(1 - 1e-6, batches, 0.5)


@pytest.mark.parametrize("mechanism", ["sue", "oue", "oue+sue"])
@pytest.mark.parametrize("forged_byte", [0, 255])
def test_all_ones_and_all_zeros_are_always_flagged_among_honest_reports(mechanism, forged_byte):
    plan = ldp.Plan(160, mechanism, 2.0, once=1.0) if "+" in mechanism else ldp.Plan(160, mechanism, 1.0)
    rows = plan.privatize(np.arange(1_000) % 160, seed=2).rows.copy()
    rows[[5, 700]] = forged_byte
    found = plan.plausibility(ldp.Reports(plan, rows))
    assert found.flagged.tolist() == [5, 700]
    assert not found.plausible
    assert "2 of them flagged, is implausible: single reports support" in found.sentence


def test_all_answers_lit_are_flagged_under_dbit():
    plan = ldp.Plan(500, "dbit", 4.0, answers=16)
    fields = plan.mechanism.fields(plan.privatize(np.arange(200), seed=2).rows)
    fields[9] |= np.uint64(1 << plan.mechanism.item_bits)
    rows = ldp.mechanisms.bitstrings.from_fields(fields, plan.mechanism.item_bits + 1)
    assert plan.plausibility(ldp.Reports(plan, rows)).flagged.tolist() == [9]


def test_weights_that_are_odd_only_together_are_found_by_their_sum():
    plan = ldp.Plan(64, "oue", 1.0)
    rows = plan.privatize(np.arange(2_000) % 64, seed=4).rows.copy()
    rows[:, 0] |= 0b1111  # every report supports items 0 to 3
    found = plan.plausibility(ldp.Reports(plan, rows))
    assert found.p_values[SUM] < 1e-30
    assert found.flagged.size == 0


@pytest.mark.parametrize("plan", [plan for plan in ALL if plan.mechanism.name != "grr"], ids=_name)
def test_a_batch_that_all_supports_one_item_is_implausible(plan):
    honest = plan.privatize(np.arange(4_000) % 40, seed=1).rows
    pushing = honest[plan.mechanism.supports(honest, 3)][:100]
    found = plan.plausibility(ldp.Reports(plan, pushing))
    assert found.p_values[SUPPORT] < 1e-9
    assert not found.plausible


def test_one_hash_function_for_all_reports_is_implausible_and_its_reports_are_flagged():
    plan = ldp.Plan(40, "olh", 1.0)
    rows = plan.privatize(np.arange(300) % 40, seed=1).rows.copy()
    rows[10:14] = rows[10]
    found = plan.plausibility(ldp.Reports(plan, rows))
    assert found.flagged.tolist() == [10, 11, 12, 13]
    assert found.p_values[REPEATED] == pytest.approx(comb(300, 4) / 2.0**96, rel=1e-3)
    assert "the same hash function" in found.sentence


def test_forgers_who_imitate_honest_reports_and_hide_among_them_pass():
    """The limit of every test: 1% of the reports push one item, and look honest otherwise."""
    plan = ldp.Plan(100, "oue", 1.0)
    rows = plan.privatize(np.arange(5_000) % 100, seed=6).rows.copy()
    rows[:50, 0] |= 1
    assert plan.plausibility(ldp.Reports(plan, rows)).plausible


def test_one_report_is_enough():
    plan = ldp.Plan(100, "oue", 1.0)
    assert plan.plausibility(plan.privatize([1], seed=1)).plausible
    dark = np.zeros((1, 13), np.uint8)
    assert plan.plausibility(ldp.Reports(plan, dark)).flagged.tolist() == [0]


def test_what_cannot_be_tested_is_a_sentence():
    plan = ldp.Plan(9, "oue", 1.0)
    reports = plan.privatize([1, 2], seed=1)
    with pytest.raises(PlanMismatchError, match="were not made under"):
        ldp.Plan(8, "oue", 1.0).plausibility(reports)
    with pytest.raises(EmptyError, match="there are no reports"):
        plan.plausibility(reports[:0])
    with pytest.raises(InvalidInputError, match="false_alarms is a probability"):
        plan.plausibility(reports, false_alarms=0)
