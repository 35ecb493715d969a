"""How far estimates are from the truth, and how well heavy hitters were found, as the paper defines it.

    estimation error   1/d sum_i (estimated_i - f_i)^2
    precision          TP / (TP + FP)         the share of the found items that are true hitters
    recall             TP / (TP + FN)         the share of the true hitters that were found
    F-score            2 precision recall / (precision + recall)

TP counts true hitters that were found, FP found items that are not true hitters, and FN true hitters that were missed.
An item is a heavy hitter when its frequency is larger than the threshold; a frequency equal to it is not enough.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from localdp.errors import FrequencyError
from localdp.types import Indices, Places, Vector
from localdp.validation import checked_amount, checked_estimates, checked_threshold, shown


def estimation_error(estimated: ArrayLike, true: ArrayLike) -> float:
    """The mean squared error over all items.

    >>> estimation_error([9.0, 2.0], [10, 0])
    2.5
    """
    found, truth = _checked_pair(estimated, true)
    return float(np.mean((found - truth) ** 2))


def absolute_error(estimated: ArrayLike, true: ArrayLike) -> float:
    """The mean absolute error over all items.

    >>> absolute_error([9.0, 2.0], [10, 0])
    1.5
    """
    found, truth = _checked_pair(estimated, true)
    return float(np.mean(np.abs(found - truth)))


def weighted_error(estimated: ArrayLike, true: ArrayLike) -> float:
    """The mean squared error over all *users*: each item counts once for every user who holds it.

    >>> weighted_error([9.0, 2.0], [10, 0])
    1.0
    """
    found, truth = _checked_pair(estimated, true)
    if truth.min() < 0 or not truth.any():
        raise FrequencyError(
            "the weighted error counts each item once for every holder, so no true frequency may be negative and at "
            "least one must be above 0"
        )
    return float(np.average((found - truth) ** 2, weights=truth))


def top_error(estimated: ArrayLike, true: ArrayLike, k: int) -> float:
    """The mean squared error over the k most frequent items, by their true frequencies; ties go to the first items.

    This is the error of "frequent values" of Wang et al., Locally Differentially Private Frequency Estimation with
    Consistency, NDSS 2020, in users instead of shares.

    >>> top_error([9.0, 2.0, 4.0], [10, 0, 4], k=2)
    0.5
    """
    found, truth = _checked_pair(estimated, true)
    top = np.argsort(-truth, kind="stable")[: checked_amount(k, truth.size, "the top k")]
    return float(np.mean((found[top] - truth[top]) ** 2))


def set_error(estimated: ArrayLike, true: ArrayLike, sets: Iterable[ArrayLike]) -> float:
    """The mean squared error of sums over sets of items; a set is a list of the indices of its items.

    This is the error of "set values" of Wang et al., Locally Differentially Private Frequency Estimation with
    Consistency, NDSS 2020, in users instead of shares.

    >>> set_error([9.0, 2.0, 4.0], [10, 0, 4], sets=[[0, 1], [0, 2]])
    1.0
    """
    found, truth = _checked_pair(estimated, true)
    errors = [float((found - truth)[_checked_set(items, truth.size)].sum()) for items in sets]
    if not errors:
        raise FrequencyError("there are no sets of items: give at least one, as a list of the indices of its items")
    return float(np.mean(np.square(errors)))


def true_hitters(true: ArrayLike, threshold: float) -> Places:
    """The indices of the items with a true frequency larger than the threshold.

    >>> true_hitters([10, 3, 7], threshold=3).tolist()
    [0, 2]
    """
    return np.flatnonzero(_checked_frequencies(true) > checked_threshold(threshold))


@dataclass(frozen=True)
class Scores:
    """Precision, recall and F-score of a list of heavy hitters, each from 0 to 1.

    If nothing was found, precision is 1, since nothing found is wrong. If there are no true hitters, recall is 1, since
    none was missed. The F-score is 2 TP / (found + true), and 1 if both lists are empty.

    >>> heavy_hitter_scores([], ["tea"])
    Scores(precision=1.0, recall=0.0, f_score=0.0)
    """

    precision: float
    recall: float
    f_score: float


def heavy_hitter_scores(found: Iterable[Hashable], true_hitters: Iterable[Hashable]) -> Scores:
    """Precision, recall and F-score of the found items against the true heavy hitters.

    Both lists hold items, or both hold indices. The result of `heavy_hitters` or `top` may be given as `found`: if the
    true hitters are an array, as from `metrics.true_hitters`, its indices are compared, and otherwise its items.

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


def _checked_pair(estimated: ArrayLike, true: ArrayLike) -> tuple[Vector, Vector]:
    """Estimated and true frequencies of the same items."""
    found, truth = _checked_frequencies(estimated), _checked_frequencies(true)
    if found.size != truth.size:
        raise FrequencyError(
            f"{found.size} estimates cannot be compared with {truth.size} true frequencies: give one of each for every "
            "item"
        )
    return found, truth


def _checked_set(items: ArrayLike, size: int) -> Indices:
    """The indices of the items of a set: at least one, each below `size` and named once."""
    try:
        given = np.asarray(items)
    except ValueError:  # lists of different lengths
        given = np.zeros(0)
    flat = given.ndim == 1 and given.size > 0 and given.dtype.kind in "iu"
    if flat and np.unique(given).size == given.size and given.min() >= 0 and given.max() < size:
        return given.astype(np.int64)
    raise FrequencyError(
        f"a set of items is a flat list of at least one index from 0 to {size - 1}, each named once, not {shown(items)}"
    )


def _checked_frequencies(values: ArrayLike) -> Vector:
    """Finite numbers, one for each item, and at least one."""
    vector = checked_estimates(values)
    if not vector.size:
        raise FrequencyError("there are no frequencies: give one for each item")
    return vector
