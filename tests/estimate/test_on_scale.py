"""Results of scales: means, percentiles and shares of ranges, from the reports."""

import numpy as np
import pytest

import localdp as ldp
from localdp.errors import InvalidInputError


@pytest.fixture(scope="module")
def ages():
    held = np.zeros(25, np.int64)
    held[:24] = 20_000 * np.exp(-0.5 * ((np.arange(24) - 8) / 3.5) ** 2)
    held[24] = 30_000
    plan = ldp.Plan(ldp.Scale(0, 120, step=5, other="no answer"), "oue", 3.0)
    return held, plan.simulate(held, seed=5).estimate().calibrate()


def test_summaries_are_near_the_truth(ages):
    """With 200,000 reports at epsilon 3 the deviations are far below the tolerances: 1e-9 for a false alarm."""
    held, cal = ages
    middles = np.arange(24) * 5 + 2.5
    true_mean = held[:24] @ middles / held[:24].sum()
    assert abs(cal.mean().value - true_mean) < 1
    assert cal.mean().low < cal.mean().value < cal.mean().high
    assert cal.mean(0.99).low < cal.mean().low
    assert abs(cal.percentile(50).value - 42.5) < 1.5
    share = cal.share_between(20, 60)
    assert abs(share.value - held[4:12].sum() / held.sum()) < 0.01
    assert 0 <= share.low < share.value < share.high <= 1
    assert share.level == 0.9


def test_the_cell_of_no_answer_is_left_out_of_the_mean_but_has_its_share(ages):
    held, cal = ages
    assert cal.shares[-1] == pytest.approx(held[-1] / held.sum(), abs=0.01)
    everything = cal.share_between(0, 120)
    assert everything.value == pytest.approx(1 - cal.shares[-1], abs=1e-6)
    assert cal.percentile(99.99).value < 120


def test_ends_of_ranges_are_ends_of_bins(ages):
    cal = ages[1]
    same = [cal.share_between(*ends).value for ends in ((20, 60), (20, 59), (20.0, 60.0))]
    assert len(set(same)) == 1
    assert cal.share_between(-np.inf, 999) == cal.share_between(0, 120)
    for low, high in ((18, 60), (20, 58), (20, 61), (60, 20), (np.nan, 60), ("a", 60), (20, 20)):
        with pytest.raises(InvalidInputError):
            cal.share_between(low, high)


def test_whole_numbers_are_included_at_both_ends():
    held = np.array([100, 200, 300, 900, 500])
    cal = ldp.Plan(ldp.Scale(1, 5), epsilon=8.0).simulate(held, seed=1).estimate().calibrate()
    assert cal.share_between(2, 3).value == pytest.approx(0.25, abs=0.02)
    assert cal.share_between(4, 4).value == pytest.approx(0.45, abs=0.02)
    assert (cal.share_between(1, 5).low, cal.share_between(1, 5).high) == pytest.approx((1, 1))
    assert cal.percentile(50).value == 4
    with pytest.raises(InvalidInputError, match=r"cuts a cell of the scale at 2\.5"):
        cal.share_between(2.5, 4)
    for ends in ((6, 9), (-3, 0)):
        with pytest.raises(InvalidInputError, match="lies outside of the scale, which goes from 1 to 5"):
            cal.share_between(*ends)
    for percent in (0, 100, -1, np.nan, "half"):
        with pytest.raises(InvalidInputError, match="a percentile is"):
            cal.percentile(percent)


def test_quantile_stays_a_vector_over_cells_and_processing_keeps_the_kind():
    cal = ldp.Plan(ldp.Scale(1, 5), epsilon=2.0).simulate([100, 200, 300, 900, 500], seed=1).estimate().calibrate()
    assert cal.quantile(0.5).shape == (5,)
    assert cal.project("norm-sub").mean() is not None
    assert repr(cal).startswith("<Calibrated frequencies of 5 items")


def test_a_cell_apart_does_not_bend_the_curve():
    """The frequency of "no answer" says nothing about its neighbour on the list, and the other way round."""
    held = np.r_[np.full(30, 1000), 40_000]
    plan = ldp.Plan(ldp.Scale(1, 30, other="none"), "oue", 1.0)
    cal = plan.simulate(held, seed=2).estimate().calibrate()
    assert abs(cal.frequencies[29] - 1000) < 500
    assert abs(cal.frequencies[30] - 40_000) < 2000


def test_the_summary_is_made_of_the_single_figures(ages):
    _, cal = ages
    found = cal.summary(0.8)
    assert list(found) == ["mean", "median", "10th percentile", "25th percentile", "75th percentile", "90th percentile"]
    assert found["mean"] == cal.mean(0.8)
    assert found["90th percentile"] == cal.percentile(90, 0.8)
    with pytest.raises(InvalidInputError):
        cal.summary(1.5)


@pytest.mark.parametrize("mechanism", ["grr", "wave"])
def test_a_range_that_nobody_is_in_may_be_empty(mechanism):
    """All 500 people say 3: intervals of the ranges without them begin at nobody, and of those with them end at all."""
    held = np.array([0, 0, 500, 0, 0])
    cal = ldp.Plan(ldp.Scale(1, 5), mechanism, 1.0).simulate(held, seed=1).estimate().calibrate()
    assert cal.share_between(1, 2).low == 0.0
    assert cal.share_between(4, 5).low == 0.0
    assert cal.share_between(3, 5).high == 1.0
    low = cal.share_between(1, 4).low * 500
    assert low == pytest.approx(round(low))


def test_the_interval_of_a_range_contains_its_share_up_to_the_last_digit():
    """Everybody is in the whole scale, and 0.9999999999999998 of them were, with an interval from 1 to 1."""
    found = ldp.Plan(ldp.Scale(0, 60), "wave", 16.0).simulate(np.full(61, 5), seed=1).estimate().calibrate()
    for ends in ((0, 60), (0, 0), (3, 3), (60, 60), (10, 19)):
        share = found.share_between(*ends)
        assert share.low <= share.value <= share.high, ends
