"""Sums over all frequencies without visiting all of them.

    sum over k = first..last of F(k)   ~   sum over nodes of weight * F(node)

exact for the first thousand whole numbers, Gauss-Legendre beyond, where F varies slowly from one whole number to the
next. Panels are no wider than what F may do: double their start (power laws), the deviation of the noise,
and narrower around features that a prior names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from localdp.types import Vector

EXACT = 1024
SMOOTH_SCALE = 2.0
"""A Gaussian at least this wide sums over whole numbers as it integrates, to sixteen digits."""


@dataclass(frozen=True)
class Rule:
    """Ascending nodes and their weights."""

    nodes: Vector
    weights: Vector

    @classmethod
    def of(cls, *parts: tuple[Vector, Vector]) -> Rule:
        """One rule out of several that do not overlap."""
        nodes, weights = (np.concatenate(side) for side in zip(*parts, strict=True))
        order = np.argsort(nodes, kind="stable")
        return cls(nodes[order], weights[order])


@cache
def _legendre(points: int) -> tuple[Vector, Vector]:
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return nodes, weights


def whole_numbers(first: int, last: int) -> tuple[Vector, Vector]:
    """Every whole number, with weight 1."""
    nodes = np.arange(first, last + 1, dtype=np.float64)
    return nodes, np.ones(nodes.size)


def panels(edges: Vector, points: int) -> tuple[Vector, Vector]:
    """Gauss-Legendre on each interval between ascending edges."""
    nodes, weights = _legendre(points)
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()


def logarithmic(first: int, last: int, step: float = 0.35, points: int = 8) -> Rule:
    """For sums of a prior alone, over all frequencies: panels of equal width in log k."""
    exact = min(last, max(EXACT // 4, first))
    parts = [whole_numbers(first, exact)]
    if last > exact:
        start, stop = np.log(exact + 0.5), np.log(last + 0.5)
        edges = np.linspace(start, stop, 1 + max(1, int(np.ceil((stop - start) / step))))
        t, weights = panels(edges, points)
        parts.append((np.exp(t), weights * np.exp(t)))
    return Rule.of(*parts)


def growing_edges(start: float, stop: float, widest: float) -> Vector:
    """Edges from start to stop, each panel as wide as its start or as `widest`, whichever is less."""
    edges = [start]
    while edges[-1] < min(stop, widest):
        edges.append(min(stop, 2 * edges[-1]))
    steps = max(1, int(np.ceil((stop - edges[-1]) / widest))) if edges[-1] < stop else 0
    return np.concatenate([edges, np.linspace(edges[-1], stop, steps + 1)[1:]]) if steps else np.array(edges)
