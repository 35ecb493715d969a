r"""Which items to name as heavy hitters, given for each the probability that it is one.

**By the mean** (the paper): those with a calibrated frequency above the threshold. Nothing to do here.

**By the F-score**: the set S that maximises its expectation. Let items be heavy independently with probabilities p_i,
and H be how many are. For a given size k the best set is the k most probable items, and

    E[F] = E[ 2 TP / (k + H) ] = 2 sum_{i<=k} p_i E[ 1/(k + 1 + H_i) ],        H_i = H without item i.

With 1/a = int_0^1 t^(a-1) dt and the generating function of H, G(t) = E[t^H] = prod_j (1 - p_j (1-t)),

    E[F] = 2 int_0^1 t^k A_k(t) G(t) dt,        A_k(t) = sum_{i<=k} p_i / (1 - p_i (1-t)),

so the sizes are compared exactly, by one quadrature whose nodes serve all of them: O(d) after sorting. The set of none
has the F-score 1 where nothing is heavy, so its expectation is G(0). With E[H] = M, all this is within 1/M of
2 sum_{i<=k} p_i / (k + M), which bounds the sizes that are tried, and stands alone for M beyond 10,000. Compare N. Ye
et al., Optimizing F-measures: A Tale of Two Approaches, ICML 2012, where the same is done in O(d^2).

**By false discoveries**: as many as possible while the expected share of false ones, the mean of 1 - p_i over them,
stays at or below a level (P. Müller et al., Optimal Sample Size for Multiple Testing, JASA 2004), but none that is more
likely false than true: certain ones would pay for it, and who reads the list would not expect it there. Estimates
without a prior have p-values instead, for which the same is promised by Y. Benjamini and Y. Hochberg, Controlling the
False Discovery Rate, JRSS B 1995.
"""

from __future__ import annotations

import numpy as np

from localdp.types import Vector

RULES = ("mean", "f1", "fdr")

_SMALL, _TERMS = 0.05, 12  # below, so many terms of the logarithm's series are exact
_MANY = 10_000
_BLOCK = 1 << 12


def best_f_score(descending: Vector) -> tuple[int, float]:
    """How many of the most probable items to take, given all probabilities in descending order, and the F expected."""
    probabilities = descending.astype(np.float64)
    expected = float(probabilities.sum())
    sizes = np.arange(1, probabilities.size + 1)
    rough = 2 * np.cumsum(probabilities) / (sizes + expected)
    none = float(np.prod(1 - probabilities))
    if none >= 0.5:  # any other set has an F-score of 0 as often
        return 0, none
    if expected > _MANY:
        return int(np.argmax(rough)) + 1, float(rough.max())
    tried = max(1, int(np.searchsorted(-probabilities, -rough.max() / 8, side="right")))
    nodes, weights = _rule(tried + expected)
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
    """How many of the most probable items to take so that the expected share of false ones is within the level."""
    rates = np.cumsum(1 - descending) / np.arange(1, descending.size + 1)
    likely = int(np.searchsorted(-descending, -min(0.5, 1 - level), side="right"))
    return min(likely, int(np.searchsorted(rates, level * (1 + 1e-12), side="right")))


def benjamini_hochberg(ascending: Vector, level: float) -> int:
    """How many of the items with the smallest p-values to take, given all of these in ascending order."""
    allowed = level * np.arange(1, ascending.size + 1) / ascending.size
    kept = np.flatnonzero(ascending <= allowed)
    return int(kept[-1]) + 1 if kept.size else 0


def _rule(scale: float) -> tuple[Vector, Vector]:
    """Nodes 1-t in (0, 1) and weights, finest near 0, where t^scale is not yet nothing."""
    edges = np.append(0.0, 2.0 ** np.arange(-np.ceil(np.log2(2 * scale + 2)), 1))
    points, weights = np.polynomial.legendre.leggauss(12)
    middles, halves = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    return (middles[:, None] + halves[:, None] * points).ravel(), (halves[:, None] * weights).ravel()


def _log_generating(descending: Vector, nodes: Vector) -> Vector:
    """log G at t = 1 - node."""
    large = int(np.searchsorted(-descending, -_SMALL))
    total = np.zeros(nodes.size)
    for start in range(0, large, _BLOCK):
        total += np.log1p(-descending[start : min(large, start + _BLOCK), None] * nodes).sum(axis=0)
    small = descending[large:]
    for power in range(1, _TERMS + 1):
        total -= (small**power).sum() * nodes**power / power
    return total
