r"""Choose which items to name as heavy hitters, given each item's probability of being one.

**"mean"** (the paper's rule) names the items with a frequency above the threshold. It needs nothing from this file.

**"f1"** names the set with the largest expected F-score. Let items be heavy independently with probabilities p_i, and
let H be the number of heavy ones. Of all sets of size k, the k most probable items are best, with

    E[F] = E[ 2 TP / (k + H) ] = 2 sum_{i<=k} p_i E[ 1/(k + 1 + H_i) ],        H_i = H without item i.

With 1/a = int_0^1 t^(a-1) dt and the generating function of H, G(t) = E[t^H] = prod_j (1 - p_j (1-t)),

    E[F] = 2 int_0^1 t^k A_k(t) G(t) dt,        A_k(t) = sum_{i<=k} p_i / (1 - p_i (1-t)),

so all sizes are compared exactly by the same quadrature nodes: O(d) after sorting. The empty set has the F-score 1 if
no item is heavy and 0 otherwise, so its expectation is G(0). With E[H] = M, the exact E[F] is within 1/M of
2 sum_{i<=k} p_i / (k + M). This bounds the sizes that need to be tried, and for M beyond 10,000 it is used alone. N. Ye
et al., Optimizing F-measures: A Tale of Two Approaches, ICML 2012, compute the same in O(d^2).

**"fdr"** names as many items as possible while the expected share of false ones, the mean of 1 - p_i over them, stays
within a level (P. Müller et al., Optimal Sample Size for Multiple Testing, JASA 2004). It never names an item that is
more likely false than true. Near-certain items could make up for it in the mean, but nobody would expect it on the
list. Raw estimates have p-values instead of probabilities, and Y. Benjamini and Y. Hochberg, Controlling the False
Discovery Rate, JRSS B 1995, keep the same promise with them.
"""

from __future__ import annotations

import numpy as np

from localdp.kernels.quadrature import Quadrature, panels
from localdp.types import Vector

RULES = ("mean", "f1", "fdr")
"""The ways to choose heavy hitters."""

_SMALL, _TERMS = 0.05, 12  # for probabilities below 0.05, 12 terms of the series of the logarithm are exact
_MANY = 10_000  # expected hitters: from here on the approximation is within 1e-4
_BLOCK = 1 << 12  # items handled together, to keep the matrix of items and nodes small


def best_f_score(descending: Vector) -> tuple[int, float]:
    """How many of the most probable items to name, and the F-score to expect.

    `descending` has the probabilities of all items in descending order.

    >>> best_f_score(np.array([0.9, 0.8, 0.1]))[0]
    2
    """
    probabilities = descending.astype(np.float64)
    expected = float(probabilities.sum())
    sizes = np.arange(1, probabilities.size + 1)
    rough = 2 * np.cumsum(probabilities) / (sizes + expected)
    none = float(np.prod(1 - probabilities))
    # If no item is heavy (probability >= 0.5), every nonempty set scores 0, so its expected score is at most 0.5.
    if none >= 0.5:
        return 0, none
    if expected > _MANY:
        return int(np.argmax(rough)) + 1, float(rough.max())
    tried = max(1, int(np.searchsorted(-probabilities, -rough.max() / 8, side="right")))
    quadrature = _quadrature(tried + expected)
    nodes, weights = quadrature.nodes, quadrature.weights
    log_all = _log_generating(probabilities, nodes)
    log_left = np.log1p(-nodes)
    best, score = 0, none
    sums = np.zeros(nodes.size)
    for start in range(0, tried, _BLOCK):
        part = probabilities[start : min(tried, start + _BLOCK), None]
        terms = np.cumsum(part / (1 - part * nodes), axis=0)
        terms += sums
        sums = terms[-1].copy()
        powers = np.exp(sizes[start : start + part.size, None] * log_left + log_all)
        scores = 2 * (terms * powers) @ weights
        place = int(np.argmax(scores))
        if scores[place] > score:
            best, score = start + place + 1, float(scores[place])
    return best, min(score, 1.0)


def within_discovery_rate(descending: Vector, level: float) -> int:
    """How many of the most probable items to name if the expected share of false ones must stay within the level."""
    rates = np.cumsum(1 - descending) / np.arange(1, descending.size + 1)
    likely = int(np.searchsorted(-descending, -min(0.5, 1 - level), side="right"))
    return min(likely, int(np.searchsorted(rates, level * (1 + 1e-12), side="right")))


def benjamini_hochberg(ascending: Vector, level: float) -> int:
    """How many of the items with the smallest p-values to name; `ascending` has all p-values in ascending order."""
    allowed = level * np.arange(1, ascending.size + 1) / ascending.size
    kept = np.flatnonzero(ascending <= allowed)
    return int(kept[-1]) + 1 if kept.size else 0


def _quadrature(scale: float) -> Quadrature:
    """Nodes 1 - t in (0, 1), finest near 0, because t^scale is negligible elsewhere."""
    edges = np.append(0.0, 2.0 ** np.arange(-np.ceil(np.log2(2 * scale + 2)), 1))
    return panels(edges, 12)


def _log_generating(descending: Vector, nodes: Vector) -> Vector:
    """log G(t) at each t = 1 - node."""
    large = int(np.searchsorted(-descending, -_SMALL))
    total = np.zeros(nodes.size)
    for start in range(0, large, _BLOCK):
        total += np.log1p(-descending[start : min(large, start + _BLOCK), None] * nodes).sum(axis=0)
    small = descending[large:]
    for power in range(1, _TERMS + 1):
        total -= (small**power).sum() * nodes**power / power
    return total
