"""The known sum of all frequencies: how estimates are moved to it, what is said if they contradict it, and groups."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.errors import DoubtfulEstimateWarning, FrequencyError, InvalidInputError
from localdp.estimate.groups import group_deviation, group_quantity, whole_numbers_within
from localdp.estimate.thresholds import exact_threshold, significance_threshold
from localdp.estimate.total import adds_up_by_itself, moved_to_total, sum_note, sum_score

RNG = np.random.default_rng(0)
TRUTH = RNG.poisson(RNG.gamma(1.0, 400.0, 60))
N = int(TRUTH.sum())


def test_moved_estimates_add_up_and_the_noisier_move_further():
    estimates, variances = np.array([10.0, 20.0, 60.0]), np.array([1.0, 2.0, 5.0])
    moved = moved_to_total(estimates, 82.0, variances)
    assert moved.tolist() == [9, 18, 55]
    assert moved_to_total(moved, 82.0, variances) == pytest.approx(moved)


def test_a_sum_too_far_away_moves_all_items_alike():
    moved = moved_to_total(np.array([1_000.0, 2_000.0]), 900.0, np.array([1.0, 2.0]))
    assert moved.tolist() == [-50, 950]


@pytest.mark.parametrize("variances", [np.zeros(3), np.full(3, np.inf), np.full(3, 5e-324)])
def test_without_noise_and_with_infinite_noise_all_items_move_alike(variances):
    moved = moved_to_total(np.array([1.0, 2.0, 6.0]), 6.0, variances)
    assert moved == pytest.approx([0, 1, 5])


def test_scores_count_deviations_and_rounding_is_no_contradiction():
    assert sum_score(np.array([10.0, 20.0]), 26.0, np.array([2.0, 2.0])) == 2
    assert sum_score(np.array([0.1] * 10), 1.0, np.zeros(10)) == 0
    assert sum_score(np.array([1.0, 2.0]), 2.0, np.zeros(2)) == np.inf
    assert sum_note(4.0) is None
    assert "the sum of the estimates is 4.1 deviations below the total" in str(sum_note(-4.1))
    assert "more than a million deviations above" in sum_note(1e200)
    assert "more than a million deviations below" in sum_note(-np.inf)


def test_shares_given_as_numbers_of_people_are_recognised():
    def said(frequencies):
        return ldp.Estimate(frequencies, n=800, variance=9.0).notes[0]

    assert said([0.5, 0.3, 0.2]).endswith("If these are shares, multiply them by n, and their variance by n squared")
    assert "shares" not in said([50, 30, 20])


def test_grr_and_subsets_add_up_by_themselves_and_oue_does_not():
    for mechanism, expected in (("grr", True), ("ss", True), ("oue", False)):
        estimate = ldp.Plan(60, mechanism, 2.0).simulate(TRUTH, seed=1).estimate()
        assert adds_up_by_itself(estimate.frequencies, N) is expected


def test_honest_estimates_are_not_doubted():
    """200 surveys: each is doubted once in a million times or less by its sum, and 6e-4 of the time by its noise."""
    plan = ldp.Plan(60, "oue", 1.0)
    doubted = sum(bool(plan.simulate(TRUTH, seed=seed).estimate().notes) for seed in range(200))
    assert doubted <= 3  # more happen with a probability below 1e-5


def test_a_wrong_total_is_said_by_estimate_and_warned_about_by_calibrate():
    estimate = ldp.Estimate(TRUTH + 30.0, n=N, variance=100.0)
    assert "deviations above the total" in estimate.notes[0]
    with pytest.warns(DoubtfulEstimateWarning, match="deviations above the total"):
        calibrated = estimate.calibrate()
    assert calibrated.notes[: len(estimate.notes)] == estimate.notes
    assert np.isfinite(calibrated.frequencies).all()
    assert estimate.zeroed().notes == estimate.notes


def test_where_users_hold_several_items_the_total_is_not_known():
    estimate = ldp.Estimate(TRUTH + RNG.normal(0, 10, 60), n=N // 3, variance=100.0, total=None)
    assert estimate.notes == ()
    found = estimate.calibrate()
    assert found.total is None
    assert found.frequencies.sum() == pytest.approx(N, rel=0.02)
    projected = estimate.project("norm-sub").frequencies
    assert projected.sum() == pytest.approx(estimate.frequencies.sum())
    assert (
        estimate.group({"all": range(60)}).columns["low"][0] < N < estimate.group({"all": range(60)}).columns["high"][0]
    )


@pytest.mark.parametrize("total", [0, -5, float("nan"), float("inf"), "users"])
def test_totals_are_positive_numbers(total):
    with pytest.raises((FrequencyError, InvalidInputError), match="a total is the sum of all frequencies"):
        ldp.Estimate([1.0, 2.0], n=3, variance=1.0, total=total)


def test_another_total_than_n_is_reached():
    found = ldp.Estimate(TRUTH + RNG.normal(0, 10, 60), n=N, variance=100.0, total=float(N)).calibrate()
    assert found.frequencies.sum() == pytest.approx(N, rel=1e-3)
    several = ldp.Estimate(TRUTH + RNG.normal(0, 10, 60), n=N // 2, variance=100.0, total=N).calibrate()
    assert several.frequencies.sum() == pytest.approx(N, rel=1e-2)


@pytest.mark.parametrize("mechanism", ["oue", "ss"])
def test_all_items_together_have_exactly_the_total(mechanism):
    estimate = ldp.Plan(60, mechanism, 1.0).simulate(TRUTH, seed=1).estimate()
    everything = estimate.group({"all": range(60)})
    assert [everything.columns[name][0] for name in ("frequency", "low", "high")] == pytest.approx([N, N, N], abs=1)
    calibrated = estimate.calibrate().group({"all": range(60)})
    assert calibrated.columns["high"][0] - calibrated.columns["low"][0] <= 0.01 * N


def test_the_total_narrows_a_group_and_most_of_all_a_large_one():
    variances = np.full(10, 4.0)
    deviations = [group_deviation(variances[:size], 40.0) for size in range(1, 11)]
    assert deviations[4] == pytest.approx(np.sqrt(10))
    assert deviations[2] == pytest.approx(deviations[6])  # a group and all others are equally uncertain
    assert deviations[-1] == 0
    assert group_deviation(variances, None) == pytest.approx(np.sqrt(40))
    assert whole_numbers_within(group_quantity(5.0, 10.0, 0.9), most=12.0) == (0, 12)


@pytest.mark.parametrize("mechanism", ["oue", "grr"])
@pytest.mark.parametrize("size", [2, 20, 50])
def test_intervals_of_groups_cover_as_they_say(mechanism, size):
    """400 surveys: 90% give or take five deviations of 1.5%; farther away happens once in a million times."""
    plan, members = ldp.Plan(60, mechanism, 2.0), np.arange(size)
    true = TRUTH[members].sum()
    hits = 0
    for seed in range(400):
        table = plan.simulate(TRUTH, seed=seed).estimate().group({"some": members})
        hits += table.columns["low"][0] <= true <= table.columns["high"][0]
    assert 0.9 - 0.075 <= hits / 400 <= 0.9 + 0.075


def test_calibrated_groups_cover():
    """40 surveys: at least 90%, less five deviations of 5%."""
    plan, members = ldp.Plan(60, "oue", 2.0), np.arange(25)
    hits = 0
    for seed in range(40):
        table = plan.simulate(TRUTH, seed=seed).estimate().calibrate("bulk").group({"some": members})
        hits += table.columns["low"][0] <= TRUTH[members].sum() <= table.columns["high"][0]
    assert hits >= 26


def test_groups_are_checked_and_an_item_counts_once():
    estimate = ldp.Estimate([30.0, 25.0, 45.0], n=100, variance=16.0, domain=["tea", "coffee", "water"])
    twice = estimate.group({"hot": ["tea", "tea", "coffee"]})
    assert twice.columns["items"][0] == 2
    assert twice.columns["frequency"][0] == pytest.approx(55)
    for wrong, reason in (({}, "given as a dictionary"), ({"hot": "tea"}, "must be a list"), (["tea"], "a dictionary")):
        with pytest.raises(InvalidInputError, match=reason):
            estimate.group(wrong)


@pytest.mark.parametrize("variance", [0.0, 1e300, np.inf])
def test_groups_stand_extreme_noise(variance):
    table = ldp.Estimate([30.0, 25.0, 45.0], n=100, variance=variance).group({"two": [0, 1]})
    low, high = table.columns["low"][0], table.columns["high"][0]
    assert 0 <= low <= high <= 100


@pytest.mark.parametrize("epsilon", [6.0, 0.5])
def test_the_exact_threshold_is_used_where_it_differs_by_a_twentieth(epsilon):
    plan = ldp.Plan(60, "oue", epsilon)
    estimate = plan.simulate(TRUTH[::-1] if epsilon > 1 else TRUTH * 1_000, seed=1).estimate()
    gaussian = significance_threshold(estimate.std_error, 60)
    exact = exact_threshold(estimate.n, *estimate.probabilities, 60)
    used = estimate.significance_threshold()
    assert (abs(exact - gaussian) > 0.05 * gaussian) == (epsilon > 1)
    assert used == pytest.approx(exact if epsilon > 1 else gaussian, rel=1e-12)
    unknown = ldp.Estimate(estimate.frequencies, n=estimate.n, variance=estimate.variance)
    assert unknown.significance_threshold() == gaussian


@pytest.mark.parametrize("mechanism", ["oue", "grr"])
def test_items_named_beforehand_have_intervals_that_hold(mechanism):
    """60 surveys, ten items each: 90%, less five deviations of 1.3%; calibrated intervals of such items hold less."""
    rng, held = np.random.default_rng(8), []
    plan = ldp.Plan(60, mechanism, 1.0)
    for seed in range(60):
        named = rng.choice(30, 10, replace=False).tolist()  # the more popular half
        truth = np.sort(TRUTH)[::-1]
        found = plan.simulate(truth, seed=seed).estimate().calibrate("smooth").table(items=named)
        held += ((found["low"] <= truth[named]) & (truth[named] <= found["high"])).tolist()
    assert np.mean(held) > 0.9 - 0.065


def test_items_named_beforehand_must_exist_and_keep_their_order():
    cal = ldp.Estimate([30.0, 25.0, 45.0], n=100, variance=16.0, domain=["tea", "coffee", "water"]).calibrate()
    assert cal.table(items=["water", "tea"])["item"] == ["water", "tea"]
    assert cal.table(items=["water"])["frequency"][0] == pytest.approx(45)
    with pytest.raises(ldp.LocalDPError):
        cal.table(items=["milk"])
