"""Counts of `wave`: what Calibrate makes of them, and what is refused."""

import numpy as np
import pytest

import localdp as ldp
from localdp.errors import ImpureMechanismError, InvalidInputError


@pytest.fixture(scope="module")
def ages():
    held = np.r_[np.round(3000 * np.exp(-0.5 * ((np.arange(60) - 25) / 9) ** 2)), 9000].astype(int)
    plan = ldp.Plan(ldp.Scale(0, 59, other="no answer"), "wave", 2.0)
    return held, plan.simulate(held, seed=4)


def test_the_posterior_is_near_the_truth(ages):
    """76,000 reports at epsilon 2: the tolerances are more than five deviations, as the intervals say."""
    held, aggregate = ages
    cal = aggregate.estimate().calibrate()
    true_mean = held[:60] @ np.arange(60) / held[:60].sum()
    assert abs(cal.mean().value - true_mean) < 1
    assert cal.mean().high - cal.mean().low < 1
    assert abs(cal.percentile(50).value - 25) <= 1
    assert cal.shares[60] == pytest.approx(held[60] / held.sum(), abs=0.03)
    assert cal.frequencies.sum() == pytest.approx(held.sum())
    assert (cal.frequencies >= 0).all()
    errors = np.abs(np.cumsum(cal.shares) - np.cumsum(held) / held.sum())
    assert errors.max() < 0.03
    assert cal.share_between(20, 30).value == pytest.approx(held[20:31].sum() / held.sum(), abs=0.03)
    low, high = cal.interval()
    assert ((low <= cal.frequencies) & (cal.frequencies <= high + 1)).mean() > 0.9


def test_answers_in_words_and_tables(ages):
    cal = ages[1].estimate().calibrate()
    assert cal.notes[0].startswith("ordered: single cells deviate from it by about")
    assert len(cal.table()) == 61
    assert cal.top(3).indices.size == 3
    assert "among" in cal._repr_html_()
    assert repr(cal).startswith("<Calibrated frequencies of 61 cells among")
    assert cal.heavy_hitters(2500).indices.size > 3


def test_raw_estimates_are_refused_with_the_reason(ages):
    estimate = ages[1].estimate()
    assert estimate.n == ages[1].n
    for ask in (
        lambda: estimate.frequencies,
        lambda: estimate.shares,
        lambda: estimate.std_error,
        lambda: estimate.project("norm-sub"),
        lambda: estimate.zeroed(),
        lambda: estimate.heavy_hitters(100),
        lambda: estimate.top(3),
        lambda: estimate.table(),
        lambda: estimate.interval(),
        lambda: estimate.probability_above(10),
        lambda: estimate.group({"all": [1, 2]}),
        lambda: estimate.compare(),
        lambda: estimate.rank_priors(),
        lambda: estimate.combine([1] * 61),
        lambda: estimate.calibrate().heavy_hitters(),
        lambda: estimate.calibrate().zeroed(),
        lambda: estimate.calibrate().table(items=[3]),
    ):
        with pytest.raises(ImpureMechanismError, match=r"wave is not pure: .*use estimate\.calibrate\(\)"):
            ask()
    with pytest.raises(InvalidInputError, match="takes no other prior"):
        estimate.calibrate("power-law")
    with pytest.raises(InvalidInputError, match="there is no prior beside it"):
        print(estimate.calibrate().prior)
    assert repr(estimate).startswith("<Counts of")


def test_the_same_people_who_report_several_times_are_counted_once(ages):
    held, aggregate = ages
    once = aggregate.estimate().calibrate()
    merged = ldp.Aggregate(aggregate.plan, aggregate.counts * 3, aggregate.n * 3)
    again = merged.estimate(reports_per_person=3).calibrate()
    assert again.n == held.sum()
    np.testing.assert_allclose(again.frequencies, once.frequencies, rtol=1e-6)
    with pytest.raises(InvalidInputError, match="give one number"):
        merged.estimate(reports_per_person=(1, 7))


def test_a_saved_aggregate_is_read_again(ages, tmp_path):
    ages[1].save(tmp_path / "ages.agg")
    assert ldp.Aggregate.load(tmp_path / "ages.agg") == ages[1]


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_where_all_answers_are_equal_the_spike_is_found(epsilon):
    """All 20,000 people give one number: the interval of the mean contains it, and is short."""
    plan = ldp.Plan(ldp.Scale(0, 100), "wave", epsilon)
    held = np.zeros(101, int)
    held[37] = 20_000
    cal = plan.simulate(held, seed=8).estimate().calibrate()
    assert abs(cal.percentile(50).value - 37) <= 2
    assert cal.mean(0.99999).low <= 37 <= cal.mean(0.99999).high


@pytest.mark.parametrize("n", [1, 2, 30])
def test_few_people_say_little(n):
    plan = ldp.Plan(ldp.Scale(0, 40), "wave", 1.0)
    cal = plan.aggregate(plan.privatize([10] * n, seed=2)).estimate().calibrate()
    assert cal.mean().low < 10 < cal.mean().high
    assert cal.mean().high - cal.mean().low > 9
    assert cal.frequencies.sum() == pytest.approx(n)
