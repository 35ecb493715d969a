"""How far estimates are from the truth, and how well heavy hitters were found, as the paper defines it.

    estimation error   1/d sum_i (estimated_i - f_i)^2
    precision          TP / (TP + FP)         the share of the found items that are true hitters
    recall             TP / (TP + FN)         the share of the true hitters that were found
    F-score            2 precision recall / (precision + recall)

TP counts true hitters that were found, FP found items that are not true hitters, and FN true hitters that were missed.
An item is a heavy hitter when its frequency is larger than the threshold; a frequency equal to it is not enough.

Estimates are arrays with one number for each item, or results (`Estimate`, `Calibrated`); true frequencies are arrays
or a data set.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from localdp.domain import Domain
from localdp.errors import FrequencyError, InvalidInputError
from localdp.estimate import Frequencies
from localdp.hitters import HeavyHitters
from localdp.types import Indices, Places, Vector
from localdp.validation import checked_amount, checked_estimates, checked_threshold, shown


class HasFrequencies(Protocol):
    """Anything with a frequency for each item: an `Estimate`, calibrated frequencies, a data set."""

    @property
    def frequencies(self) -> ArrayLike:
        """One number for each item."""


def estimation_error(estimated: ArrayLike | HasFrequencies, true: ArrayLike | HasFrequencies) -> float:
    """The mean squared error over all items.

    >>> from localdp import Estimate
    >>> estimation_error(Estimate([9.0, 2.0], n=11, variance=1.0), [10, 0])
    2.5
    >>> estimation_error([9.0, 2.0], [10, 0])
    2.5
    """
    found, truth = _checked_pair(estimated, true)
    return float(np.mean((found - truth) ** 2))


def absolute_error(estimated: ArrayLike | HasFrequencies, true: ArrayLike | HasFrequencies) -> float:
    """The mean absolute error over all items.

    >>> absolute_error([9.0, 2.0], [10, 0])
    1.5
    """
    found, truth = _checked_pair(estimated, true)
    return float(np.mean(np.abs(found - truth)))


def weighted_error(estimated: ArrayLike | HasFrequencies, true: ArrayLike | HasFrequencies) -> float:
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


def top_error(estimated: ArrayLike | HasFrequencies, true: ArrayLike | HasFrequencies, k: int) -> float:
    """The mean squared error over the k most frequent items, by their true frequencies; ties go to the first items.

    This is the error of "frequent values" of Wang et al., Locally Differentially Private Frequency Estimation with
    Consistency, NDSS 2020, in users instead of shares.

    >>> top_error([9.0, 2.0, 4.0], [10, 0, 4], k=2)
    0.5
    """
    found, truth = _checked_pair(estimated, true)
    top = np.argsort(-truth, kind="stable")[: checked_amount(k, truth.size, "the top k")]
    return float(np.mean((found[top] - truth[top]) ** 2))


def set_error(
    estimated: ArrayLike | HasFrequencies, true: ArrayLike | HasFrequencies, sets: Iterable[ArrayLike]
) -> float:
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


def true_hitters(true: ArrayLike | HasFrequencies, threshold: float) -> Places:
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


def heavy_hitter_scores(
    found: HeavyHitters | Iterable[Hashable],
    true_hitters: HeavyHitters | Iterable[Hashable] | None = None,
    *,
    items: Iterable[Hashable] | None = None,
    indices: Iterable[Hashable] | None = None,
) -> Scores:
    """Precision, recall and F-score of the found items against the true heavy hitters.

    `found` is the result of `heavy_hitters` or `top`, or a list. The true hitters are given by name, as `items` or as
    `indices`. Where only one of the two is possible, as for numbers where all items are texts, they may also be given
    without saying which: a list and an array mean the same. If `found` is a list too, both lists hold items or both
    hold indices. A true item that is not in the domain counts as missed.

    >>> heavy_hitter_scores(["tea", "salt"], ["tea", "milk", "rice"])
    Scores(precision=0.5, recall=0.3333333333333333, f_score=0.4)
    >>> from localdp import Estimate
    >>> hits = Estimate([900.0, 5.0, 700.0], n=2000, variance=25.0, domain=["tea", "milk", "salt"]).heavy_hitters(300)
    >>> heavy_hitter_scores(hits, items=["tea"]) == heavy_hitter_scores(hits, indices=[0])
    True
    """
    given = {"true_hitters": true_hitters, "items": items, "indices": indices}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise InvalidInputError(
            "give the true hitters once: as items=..., as indices=... or, where only one of these is possible, as the "
            f"second argument (given: {' and '.join(named) or 'nothing'})"
        )
    positives, truth = _same_kind(found, given[named[0]], named[0])
    right = len(positives & truth)
    return Scores(
        precision=right / len(positives) if positives else 1.0,
        recall=right / len(truth) if truth else 1.0,
        f_score=2 * right / (len(positives) + len(truth)) if positives or truth else 1.0,
    )


def _same_kind(found: Any, true: Any, kind: str) -> tuple[set[Hashable], set[Hashable]]:
    """The found and the true hitters as two sets of items, or as two sets of indices.

    `kind` says what the true hitters are: "items", "indices", or "true_hitters" if that was not said.
    """
    truth = _as_set(true, "the true hitters")
    if not isinstance(found, HeavyHitters):
        positives = _as_set(found, "the found hitters")
        numbers = [_are_indices(one) for one in (positives, truth)]
        if kind == "indices" and not all(numbers):
            raise InvalidInputError("indices are whole numbers of at least 0: with indices=..., give both lists so")
        if positives and truth and any(numbers) and not any(map(_is_index, positives if numbers[1] else truth)):
            raise InvalidInputError(
                "one of the two lists holds numbers and the other does not: give items in both, or indices in both"
            )
        return positives, truth
    domain = found.domain
    if kind == "true_hitters" and isinstance(true, HeavyHitters):
        kind = "items"
    elif kind == "true_hitters":
        kind = _kind_of(truth, domain)
    if kind == "items":
        return set(found.items), truth
    if not _are_indices(truth) or max(truth, default=0) >= domain.size:  # type: ignore[type-var,operator]
        raise InvalidInputError(
            f"the true hitters {shown(sorted(truth, key=str))} are not indices from 0 to {domain.size - 1}: give "
            "items=... if they are items"
        )
    return set(found.indices.tolist()), truth


def _kind_of(truth: set[Hashable], domain: Domain) -> str:
    """Whether hitters are "items" or "indices" of this domain, if only one of the two is possible."""
    if isinstance(domain.items, range) or not _are_indices(truth) or not truth:
        return "items"
    if not truth & set(domain.items):
        return "indices"
    if max(truth) >= domain.size:  # type: ignore[type-var,operator]
        return "items"
    raise InvalidInputError(
        f"the true hitters {shown(sorted(truth, key=str))} can be items of this domain or indices: say items=... or "
        "indices=..."
    )


def _as_set(hitters: Any, what: str) -> set[Hashable]:
    """The hitters as a set of plain values."""
    if isinstance(hitters, str | bytes | Frequencies) or not isinstance(hitters, Iterable):
        hint = "; ask it for its heavy_hitters or its top first" if isinstance(hitters, Frequencies) else ""
        raise InvalidInputError(f"{what} are a list of items or of indices, not {shown(hitters, 60)}{hint}")
    return set(hitters.tolist() if isinstance(hitters, np.ndarray) else hitters)


def _is_index(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 0)


def _are_indices(values: set[Hashable]) -> bool:
    return all(map(_is_index, values))


def _checked_pair(estimated: ArrayLike | HasFrequencies, true: ArrayLike | HasFrequencies) -> tuple[Vector, Vector]:
    """Estimated and true frequencies of the same items."""
    found, truth = _checked_frequencies(estimated), _checked_frequencies(true)
    if found.size != truth.size:
        raise FrequencyError(
            f"{found.size} estimates cannot be compared with {truth.size} true frequencies: give one of each for every "
            "item"
        )
    if isinstance(estimated, Frequencies) and isinstance(true, Frequencies) and estimated.domain != true.domain:
        raise FrequencyError("these frequencies are of different items, or of the same items in another order")
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


def _checked_frequencies(values: ArrayLike | HasFrequencies) -> Vector:
    """Finite numbers, one for each item, and at least one."""
    if isinstance(values, HeavyHitters):
        raise FrequencyError(
            "a list of hitters has the frequencies of some items only: give the estimate or the calibrated frequencies "
            "that it was made from"
        )
    given: Any = values
    vector = checked_estimates(getattr(given, "frequencies", given))
    if not vector.size:
        raise FrequencyError("there are no frequencies: give one for each item")
    return vector
