"""Our own experiments: the test of normality, RAPPOR with Bloom filters, optimality, few items and opt-in."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from localdp.datasets import Dataset
from localdp.experiments.measures import bloom, few_items, fits, goodness, opt_in, optimality
from localdp.experiments.measures.bloom import BITS, COHORTS, HASHES, BloomRappor
from localdp.experiments.measures.normality import combined_p_value, gaussian_test
from localdp.experiments.measures.power_laws import power_law_test
from localdp.experiments.tasks import AUTO, LIKELIHOOD, MOMENTS, RAW, Task
from localdp.plan import Plan
from localdp.priors import Fixed

FALLING = Dataset("falling", (40_000 / np.arange(1, 601) ** 1.1).astype(np.int64) + 1, "Falls as rank^-1.1.")


def test_gaussian_noise_passes_and_other_noise_fails():
    random = np.random.default_rng(0)
    passed = [gaussian_test(random.normal(0, 7, 2_000), 7.0).p_value for _ in range(24)]
    assert combined_p_value(passed) > 1e-6
    for noise in (
        random.normal(0.5, 7, 20_000),
        random.normal(0, 8, 20_000),
        random.standard_t(3, 20_000) * 7 / 3**0.5,
    ):
        assert gaussian_test(noise, 7.0).p_value < 1e-6


def test_one_strange_trial_is_seen_in_the_combined_p_value():
    assert combined_p_value([0.5] * 23 + [1e-30]) < 1e-9
    assert combined_p_value([0.5] * 24) > 0.1
    assert combined_p_value([0.0]) == 0.0 or combined_p_value([0.0]) < 1e-200


def test_flips_spend_the_epsilon_that_is_asked_for():
    # Two items that share no bit differ in 2h bits, and each bit of a report then has odds (1-f)/f.
    filters = BloomRappor(10, epsilon=3.0)
    worst = max(
        math.prod((1 - filters.flip) / filters.flip if bit else filters.flip / (1 - filters.flip) for bit in bits)
        for bits in product((0, 1), repeat=2 * HASHES)
    )
    assert math.log(worst) == pytest.approx(3.0)


def test_every_item_has_two_different_bits_in_every_cohort():
    bits = BloomRappor(500, 1.0).bits()
    assert bits.shape == (COHORTS, 500, HASHES)
    assert (bits[..., 0] != bits[..., 1]).all()
    assert bits.min() >= 0
    assert bits.max() < BITS


def test_averaged_over_hash_functions_bloom_rappor_is_unbiased():
    # 200 hash functions: five standard errors, on three items, is about two false alarms in a million.
    frequencies = np.array([5_000, 300, 0, 100])
    found = np.array(
        [BloomRappor(4, 4.0, hashing).simulate(frequencies, seed=hashing) - frequencies for hashing in range(200)]
    )
    assert (np.abs(found.mean(axis=0)) < 5 * found.std(axis=0) / math.sqrt(200)).all()


def test_without_collisions_only_the_flips_make_noise():
    # One item and nobody else: the deviation of 400 runs is known within 3.5%, and five of those is 18%.
    filters = BloomRappor(2, 4.0)
    noise = [filters.simulate(np.array([0, 40_000]), seed)[1] - 40_000 for seed in range(400)]
    assert np.std(noise) == pytest.approx(filters.deviation(40_000), rel=0.18)


def test_with_fixed_hash_functions_the_noise_is_biased_and_not_gaussian():
    measured = bloom.run(Task(FALLING, "bloom", 4.0))
    assert measured[None, bloom.NAME, "noise p-value"] < 1e-9
    assert measured[None, bloom.NAME, "noise repeated"] > 0.5
    assert measured[None, bloom.NAME, "noise deviation / stated"] > 1.5
    assert measured[None, bloom.PURE, "noise p-value"] > 1e-6
    assert abs(measured[None, bloom.PURE, "noise repeated"]) < 5 / math.sqrt(FALLING.d)


def test_no_rival_beats_the_posterior_mean_under_the_true_prior():
    several = [optimality.run(Task(FALLING, "oue", 2.0, seed=seed)) for seed in range(6)]
    errors = {name: np.mean([run[None, name, optimality.METRIC] for run in several]) for name in optimality.RIVALS}
    best = np.mean([run[None, optimality.MEAN, optimality.METRIC] for run in several])
    assert min(errors.values()) > best


def _gain_by_a_second_survey(factor):
    """By how much the correction lowers the error of posterior means that are wrong by a factor, in 8 seeded trials."""
    random, truth, gains = np.random.default_rng(5), FALLING.frequencies.astype(float), []
    plan = Plan(FALLING.d, "oue", 2.0)
    for _ in range(8):
        first, second = (
            factor
            * plan.simulate(FALLING.frequencies, seed=int(random.integers(2**31)))
            .estimate()
            .calibrate(Fixed(truth.astype(np.int64)))
            .frequencies
            for _ in range(2)
        )
        corrected = first - optimality._average_errors(second, truth, first)
        gains.append(((first - truth) ** 2).mean() / ((corrected - truth) ** 2).mean() - 1)
    return np.mean(gains)


def test_a_second_survey_corrects_a_wrong_posterior_and_not_a_right_one():
    assert _gain_by_a_second_survey(1.0) < 0
    assert _gain_by_a_second_survey(1.1) > 0.2


def test_errors_are_averaged_in_groups_from_the_largest_down():
    learnt = np.arange(30, 0, -1).astype(float)  # the groups have 8, 16 and the remaining 6 items
    truth = learnt - np.repeat([1.0, 2.0, 3.0], [8, 16, 6])
    assert optimality._average_errors(learnt, truth, learnt).tolist() == [1.0] * 8 + [2.0] * 16 + [3.0] * 6
    assert optimality._average_errors(learnt, truth, np.array([99.0, 22.5, -5.0])).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("alpha", [1.5, 2.0, 3.0])
def test_a_power_law_is_not_rejected_if_it_is_true(alpha):
    # The bound on the p-value is never too small, so that a seed in ten thousand would fail.
    support = np.arange(1, 200_001)
    law = support**-alpha / (support**-alpha).sum()
    drawn = np.random.default_rng(11).choice(support, 3_000, p=law)
    assert power_law_test(drawn)[1] > 1e-4
    assert power_law_test(drawn + 3)[1] < 1e-12


def test_the_best_threshold_is_the_best_of_all():
    random = np.random.default_rng(4)
    truth = np.sort(random.pareto(1.0, 60) * 10)[::-1]
    raw = truth + random.normal(0, 20, 60)
    best = ((optimality._best_cut(raw, truth) - truth) ** 2).sum()
    every = [((np.where(raw >= cut, raw, 0.0) - truth) ** 2).sum() for cut in [*raw, math.inf]]
    assert best == pytest.approx(min(every))


def test_light_and_heavy_items_make_up_the_error():
    measured = few_items.run(Task(few_items.most_frequent(FALLING), "ss", 4.0, seed=2))
    for method in (RAW, MOMENTS, LIKELIHOOD, AUTO):
        parts = measured[None, method, few_items.LIGHT] + measured[None, method, few_items.HEAVY]
        assert parts == pytest.approx(measured[None, method, few_items.TOTAL])
    assert 0 < measured[None, LIKELIHOOD, few_items.BELOW] < 1
    assert few_items.falling(FALLING).d == few_items.SUBSET_ITEMS


def test_both_fits_are_timed():
    measured = fits.run(Task(FALLING, "oue", 1.0))
    assert {key[1:] for key in measured} == {(m, k) for m in (MOMENTS, LIKELIHOOD) for k in (fits.SECONDS, fits.ALPHA)}
    assert min(measured.values()) > 0


def test_opt_in_counts_help_and_rank_the_power_law_first_of_the_papers_families():
    measured = opt_in.run(Task(FALLING, "oue", 1.0))
    scores = {name: measured[None, name, opt_in.SCORE] for name in opt_in.PAPER_FAMILIES}
    assert max(scores, key=scores.get) == "power-law"
    errors = {key[1]: value for key, value in measured.items() if key[2] == opt_in.ERROR}
    assert min(errors, key=errors.get) in (opt_in.COMBINED, opt_in.CALIBRATED)


@pytest.mark.slow
def test_the_test_of_the_family_rejects_what_does_not_fit(monkeypatch):
    monkeypatch.setattr(goodness, "REPLICATES", 19)  # enough for a p-value of 5%
    measured = goodness.run(Task(FALLING, "oue", 2.0))
    for name in goodness.OTHERS:
        assert measured[None, name, goodness.P_VALUE] <= 0.05, name
    assert measured[None, goodness.SMOOTH, goodness.P_VALUE] > 0.05
