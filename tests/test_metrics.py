"""The paper's metrics, on examples worked out by hand and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import localdp as ldp
from localdp import metrics
from localdp.errors import FrequencyError, InvalidInputError

sets = st.sets(st.integers(0, 12))


def test_errors_are_the_means_they_say():
    estimated, true = [8.0, -1.0, 4.0, 0.0], [10, 0, 4, 2]
    assert metrics.estimation_error(estimated, true) == (4 + 1 + 0 + 4) / 4
    assert metrics.absolute_error(estimated, true) == (2 + 1 + 0 + 2) / 4
    assert metrics.weighted_error(estimated, true) == (10 * 4 + 0 * 1 + 4 * 0 + 2 * 4) / 16
    assert metrics.top_error(estimated, true, k=1) == 4
    assert metrics.top_error(estimated, true, k=3) == (4 + 0 + 4) / 3
    assert metrics.set_error(estimated, true, sets=[[0], [3, 0], np.array([1, 2])]) == (4 + 16 + 1) / 3


def test_a_frequency_equal_to_the_threshold_is_not_larger():
    assert metrics.true_hitters([5, 6, 4, 6], threshold=5).tolist() == [1, 3]
    estimate = ldp.Estimate([5.0, 5.5, 4.0], n=20, variance=1.0)
    assert estimate.heavy_hitters(5).indices.tolist() == [1]


@given(found=sets, true=sets)
def test_scores_are_their_definitions(found, true):
    scores = metrics.heavy_hitter_scores(found, true)
    right, wrong, missed = len(found & true), len(found - true), len(true - found)
    assert scores.precision == (right / (right + wrong) if found else 1.0)
    assert scores.recall == (right / (right + missed) if true else 1.0)
    product, total = 2 * scores.precision * scores.recall, scores.precision + scores.recall
    assert scores.f_score == pytest.approx(product / total if total else 0.0)


def test_scores_take_what_heavy_hitters_gives():
    estimate = ldp.Estimate([50.0, 5.0, 40.0], n=100, variance=1.0, domain=["tea", "milk", "salt"])
    hits = estimate.heavy_hitters(30)
    assert metrics.heavy_hitter_scores(hits, ["tea"]) == metrics.Scores(0.5, 1.0, pytest.approx(2 / 3))
    assert metrics.heavy_hitter_scores(hits.indices, np.array([0, 2])).f_score == 1.0
    assert metrics.heavy_hitter_scores(hits, metrics.true_hitters([50, 5, 40], 30)).f_score == 1.0


NAMED = ldp.Estimate([50.0, 5.0, 40.0], n=100, variance=1.0, domain=["tea", "milk", "salt"])
AMBIGUOUS = ldp.Estimate([50.0, 5.0, 40.0], n=100, variance=1.0, domain=[2, 7, 0])


@pytest.mark.parametrize("shape", [list, np.array, set, tuple])
def test_a_list_and_an_array_mean_the_same(shape):
    """The first and the last item are found; of the indices 0 and 2, and of the items of these indices."""
    hits = NAMED.heavy_hitters(30)
    assert metrics.heavy_hitter_scores(hits, shape([0, 2])).f_score == 1.0
    assert metrics.heavy_hitter_scores(hits, indices=shape([0, 2])).f_score == 1.0
    assert metrics.heavy_hitter_scores(hits, shape(["tea", "salt"])).f_score == 1.0
    assert metrics.heavy_hitter_scores(hits, items=shape(["tea", "salt"])).f_score == 1.0
    numbered = ldp.Estimate([50.0, 5.0, 40.0], n=100, variance=1.0).heavy_hitters(30)
    assert metrics.heavy_hitter_scores(numbered, shape([0, 2])).f_score == 1.0


@pytest.mark.parametrize("shape", [list, np.array])
def test_items_and_indices_are_never_guessed(shape):
    hits = AMBIGUOUS.heavy_hitters(45)  # the item 2, which has the index 0
    with pytest.raises(InvalidInputError, match=r"the true hitters \[0, 2\] can be items of this domain or indices"):
        metrics.heavy_hitter_scores(hits, shape([0, 2]))
    assert metrics.heavy_hitter_scores(hits, items=shape([2])).f_score == 1.0
    assert metrics.heavy_hitter_scores(hits, indices=shape([2])).f_score == 0.0
    assert metrics.heavy_hitter_scores(hits, indices=shape([0])).f_score == 1.0
    assert metrics.heavy_hitter_scores(hits, shape([2, 7])) == metrics.Scores(1.0, 0.5, pytest.approx(2 / 3))


def test_a_second_list_of_hitters_is_compared_by_its_items():
    other = ldp.Estimate([50.0, 40.0, 5.0], n=100, variance=1.0, domain=["salt", "tea", "milk"])
    assert metrics.heavy_hitter_scores(NAMED.heavy_hitters(30), other.heavy_hitters(30)).f_score == 1.0


def test_a_true_item_outside_the_domain_was_missed():
    scores = metrics.heavy_hitter_scores(NAMED.heavy_hitters(30), items=["tea", "salt", "rice", "oil"])
    assert (scores.precision, scores.recall) == (1.0, 0.5)


@pytest.mark.parametrize(
    ("found", "given", "sentence"),
    [
        (["tea"], {}, "give the true hitters once.*given: nothing"),
        (["tea"], {"items": ["tea"], "indices": [0]}, "give the true hitters once.*given: items and indices"),
        (NAMED.heavy_hitters(30), {"indices": [3]}, r"\[3\] are not indices from 0 to 2: give items="),
        (NAMED.heavy_hitters(30), {"indices": ["tea"]}, r"\['tea'\] are not indices from 0 to 2"),
        (NAMED.heavy_hitters(30), {"true_hitters": [5]}, r"\[5\] are not indices from 0 to 2"),
        (["tea"], {"indices": [0]}, "indices are whole numbers of at least 0"),
        (["tea"], {"true_hitters": [0, 2]}, "one of the two lists holds numbers and the other does not"),
        ([0, 2], {"true_hitters": ["tea"]}, "one of the two lists holds numbers and the other does not"),
        (["tea"], {"true_hitters": "tea"}, "the true hitters are a list of items or of indices, not 'tea'"),
        (NAMED, {"true_hitters": ["tea"]}, "not <Estimate of 3 items.*ask it for its heavy_hitters or its top first"),
        (7, {"true_hitters": [7]}, "the found hitters are a list of items or of indices, not 7"),
    ],
)
def test_hitters_that_cannot_be_compared_are_refused(found, given, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        metrics.heavy_hitter_scores(found, **given)


@pytest.mark.parametrize("metric", [metrics.estimation_error, metrics.absolute_error, metrics.weighted_error])
def test_results_are_taken_as_they_are(metric):
    data = ldp.datasets.load("retail")
    estimate = ldp.Plan(data.d, "oue", 4.0).simulate(data.frequencies, seed=1).estimate()
    calibrated = estimate.calibrate("power-law")
    assert metric(calibrated, data) == metric(calibrated.frequencies, data.frequencies)
    assert metric(estimate.zeroed(), data) == metric(estimate.zeroed().frequencies, data.frequencies)
    assert metrics.true_hitters(data, 500).tolist() == metrics.true_hitters(data.frequencies, 500).tolist()
    assert metrics.top_error(calibrated, data, k=3) == metrics.top_error(calibrated.frequencies, data.frequencies, k=3)


def test_a_list_of_hitters_is_not_taken_for_all_frequencies():
    with pytest.raises(FrequencyError, match="a list of hitters has the frequencies of some items only"):
        metrics.estimation_error(NAMED.top(3), [50, 5, 40])


def test_frequencies_of_different_items_are_not_compared():
    with pytest.raises(FrequencyError, match="of different items, or of the same items in another order"):
        metrics.estimation_error(NAMED, AMBIGUOUS)


@pytest.mark.parametrize(
    ("estimated", "true", "sentence"),
    [
        ([1.0, 2.0], [1], "2 estimates cannot be compared with 1 true frequencies"),
        ([], [], "there are no frequencies"),
        ([float("nan")], [1], "frequency of item 0 is nan, which is not a finite number"),
        ([1.0, 2.0], [1, float("inf")], "frequency of item 1 is inf, which is not a finite number"),
        (["x"], [1], "a flat list of numbers"),
        ([[1.0]], [[1]], r"a flat list, one for each item, not of shape \(1, 1\)"),
    ],
)
@pytest.mark.parametrize("metric", [metrics.estimation_error, metrics.absolute_error, metrics.weighted_error])
def test_what_cannot_be_compared_is_refused(metric, estimated, true, sentence):
    with pytest.raises(FrequencyError, match=sentence):
        metric(estimated, true)


@pytest.mark.parametrize("true", [[0, 0], [-1, 3]])
def test_errors_cannot_be_weighted_by_negative_or_no_users(true):
    with pytest.raises(FrequencyError, match="no true frequency may be negative and at least one must be above 0"):
        metrics.weighted_error([1.0, 1.0], true)


@pytest.mark.parametrize("k", [0, 3, 1.5, True, "1", None])
def test_an_impossible_top_is_refused(k):
    with pytest.raises(InvalidInputError, match=f"the top k must be a whole number from 1 to 2, not {k!r}"):
        metrics.top_error([1.0, 2.0], [1, 2], k=k)


def test_of_equal_frequencies_the_first_items_are_on_top():
    assert metrics.top_error([0.0, 7.0, 5.0], [5, 5, 5], k=1) == 25
    assert metrics.top_error([0.0, 7.0, 5.0], [5, 5, 5], k=np.int64(2)) == (25 + 4) / 2


def test_errors_within_a_set_cancel_before_they_are_squared():
    assert metrics.set_error([11.0, 9.0, 0.0], [10, 10, 0], sets=([0, 1],)) == 0
    assert metrics.set_error([11.0, 9.0, 0.0], [10, 10, 0], sets=iter([[0], [1]])) == 1


@pytest.mark.parametrize(
    "items", [[], [0, 3], [-1], [1, 1], [0.0], [True, False, True], [[0, 1]], [[0], [1, 2]], 1, "tea", None]
)
def test_a_set_lists_indices_of_items_once(items):
    with pytest.raises(FrequencyError, match="at least one index from 0 to 2, each named once"):
        metrics.set_error([1.0, 2.0, 3.0], [1, 2, 3], sets=[[0], items])


def test_an_error_over_no_sets_is_refused():
    with pytest.raises(FrequencyError, match="there are no sets of items"):
        metrics.set_error([1.0, 2.0], [1, 2], sets=[])


@pytest.mark.parametrize("threshold", [float("nan"), "5", None, True])
def test_a_threshold_is_a_number_of_users(threshold):
    with pytest.raises(InvalidInputError, match="a threshold is a number of users, not"):
        metrics.true_hitters([1, 2], threshold)
