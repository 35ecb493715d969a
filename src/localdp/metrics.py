"""How far estimates are from the truth, and how well heavy hitters were found, as the paper defines it.

    estimation error   1/d sum_i (estimated_i - f_i)^2
    precision          TP / (TP + FP)
    recall             TP / (TP + FN)
    F-score            2 precision recall / (precision + recall)

An item is a heavy hitter when its frequency is larger than the threshold, strictly, whether estimated or true.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from localdp.errors import FrequencyError, InvalidInputError
from localdp.types import Places, Vector


def estimation_error(estimated: ArrayLike, true: ArrayLike) -> float:
    """The mean squared error over all items.

    >>> estimation_error([9.0, 2.0], [10, 0])
    2.5
    """
    found, truth = _pair(estimated, true)
    return float(np.mean((found - truth) ** 2))


def absolute_error(estimated: ArrayLike, true: ArrayLike) -> float:
    """The mean absolute error over all items.

    >>> absolute_error([9.0, 2.0], [10, 0])
    1.5
    """
    found, truth = _pair(estimated, true)
    return float(np.mean(np.abs(found - truth)))


def weighted_error(estimated: ArrayLike, true: ArrayLike) -> float:
    """The mean squared error over all *users*: that of an item counts once for every holder.

    >>> weighted_error([9.0, 2.0], [10, 0])
    1.0
    """
    found, truth = _pair(estimated, true)
    if truth.min() < 0 or not truth.any():
        raise FrequencyError("errors are weighted by the true frequencies, which cannot be negative or all zero")
    return float(np.average((found - truth) ** 2, weights=truth))


def top_error(estimated: ArrayLike, true: ArrayLike, k: int) -> float:
    """The mean squared error over the k items that are truly the most frequent (of equal ones, the first).

    >>> top_error([9.0, 2.0, 4.0], [10, 0, 4], k=2)
    0.5
    """
    found, truth = _pair(estimated, true)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= truth.size:
        raise InvalidInputError(f"k is a number of items between 1 and {truth.size}, not {k!r}")
    top = np.argsort(-truth, kind="stable")[:k]
    return float(np.mean((found[top] - truth[top]) ** 2))


def true_hitters(true: ArrayLike, threshold: float) -> Places:
    """The indices of the items with true frequencies larger than the threshold.

    >>> true_hitters([10, 3, 7], threshold=3).tolist()
    [0, 2]
    """
    return np.flatnonzero(_vector(true) > threshold)


@dataclass(frozen=True)
class Scores:
    """Precision, recall and F-score.

    A list that holds nothing holds nothing wrong (precision 1), and where there is nothing to find nothing was missed
    (recall 1); the F-score is 2 TP / (found + true), and 1 where both are none.
    """

    precision: float
    recall: float
    f_score: float


def heavy_hitter_scores(found: Iterable[Hashable], true_hitters: Iterable[Hashable]) -> Scores:
    """Precision, recall and F-score of the items found against the true ones.

    Both are items, or both are indices. What `heavy_hitters` or `top` give counts as its indices where the true ones
    are an array, as `metrics.true_hitters` gives it, and as its items elsewhere.

    >>> heavy_hitter_scores(["tea", "salt"], ["tea", "milk", "rice"])
    Scores(precision=0.5, recall=0.3333333333333333, f_score=0.4)
    """
    named = getattr(found, "indices", found) if isinstance(true_hitters, np.ndarray) else found
    positives, truth = set(named), set(true_hitters)
    right = len(positives & truth)
    return Scores(
        precision=right / len(positives) if positives else 1.0,
        recall=right / len(truth) if truth else 1.0,
        f_score=2 * right / (len(positives) + len(truth)) if positives or truth else 1.0,
    )


def _pair(estimated: ArrayLike, true: ArrayLike) -> tuple[Vector, Vector]:
    found, truth = _vector(estimated), _vector(true)
    if found.shape != truth.shape:
        raise FrequencyError(f"{found.size} estimates cannot be compared with {truth.size} true frequencies")
    return found, truth


def _vector(values: ArrayLike) -> Vector:
    try:
        vector = np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise FrequencyError("frequencies must be a flat list of numbers, one for each item") from None
    if vector.ndim != 1 or not vector.size or np.isnan(vector).any():
        raise FrequencyError("frequencies must be a flat list of numbers, one for each item, and none of them missing")
    return vector
