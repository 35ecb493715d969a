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


@pytest.mark.parametrize(
    "call",
    [
        lambda: metrics.estimation_error([1.0, 2.0], [1]),
        lambda: metrics.estimation_error([], []),
        lambda: metrics.estimation_error([float("nan")], [1]),
        lambda: metrics.estimation_error(["x"], [1]),
        lambda: metrics.weighted_error([1.0], [0]),
        lambda: metrics.weighted_error([1.0, 1.0], [-1, 3]),
    ],
)
def test_what_cannot_be_compared_is_refused(call):
    with pytest.raises(FrequencyError):
        call()


@pytest.mark.parametrize("k", [0, 3, 1.5, True])
def test_an_impossible_top_is_refused(k):
    with pytest.raises(InvalidInputError, match="between 1 and 2"):
        metrics.top_error([1.0, 2.0], [1, 2], k=k)
