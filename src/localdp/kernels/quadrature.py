"""Sum a function over all frequencies by evaluating it at a few of them.

    sum over k = first..last of F(k)   ~   sum over nodes of weight * F(node)

Small frequencies are nodes themselves, each with weight 1, so their part of the sum is exact. Beyond them F changes
slowly from one whole number to the next: its sum over the whole numbers a..b is close to its integral from a - 1/2 to
b + 1/2, and Gauss-Legendre panels compute that integral. F must change little within a panel, so panels are at most as
wide as their own start (power laws) or the deviation of the noise, and they end where a prior has a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from localdp.types import Vector

EXACT_UP_TO = 1024
"""Most sums are exact up to this frequency. Some use a fraction or a multiple of it as their limit."""

SMOOTH_SCALE = 2.0
"""The sum over whole numbers of a Gaussian at least this wide equals its integral to sixteen digits."""


@dataclass(frozen=True, eq=False)
class Quadrature:
    """Ascending nodes and their weights.

    >>> squares = whole_numbers(0, 4)
    >>> float(squares.weights @ squares.nodes**2)
    30.0
    """

    nodes: Vector
    weights: Vector

    @classmethod
    def join(cls, *parts: Quadrature) -> Quadrature:
        """One quadrature made of several that do not overlap, given in any order."""
        nodes = np.concatenate([part.nodes for part in parts])
        weights = np.concatenate([part.weights for part in parts])
        order = np.argsort(nodes, kind="stable")
        return cls(nodes[order], weights[order])


@cache
def _legendre(points: int) -> tuple[Vector, Vector]:
    """The nodes and weights of Gauss-Legendre on -1..1."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return nodes, weights


def whole_numbers(first: int, last: int) -> Quadrature:
    """Every whole number from first to last, each with weight 1; no nodes if last is below first."""
    nodes = np.arange(first, last + 1, dtype=np.float64)
    return Quadrature(nodes, np.ones(nodes.size))


def panels(edges: Vector, points: int) -> Quadrature:
    """Gauss-Legendre with `points` nodes on each interval between ascending edges.

    It integrates polynomials up to degree 2 * points - 1 exactly:

    >>> cubic = panels(np.array([0.0, 1.0, 2.0]), points=2)
    >>> round(float(cubic.weights @ cubic.nodes**3), 12)
    4.0
    """
    nodes, weights = _legendre(points)
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    return Quadrature((middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel())


def cut_at(breaks: Vector | None, edges: Vector) -> Vector:
    """Ascending edges, and the breaks between the first and the last of them.

    >>> cut_at(np.array([0.5, 7.0]), np.array([0.0, 1.0, 2.0])).tolist()
    [0.0, 0.5, 1.0, 2.0]
    """
    if breaks is None:
        return edges
    return np.unique(np.concatenate([edges, breaks[(breaks > edges[0]) & (breaks < edges[-1])]]))


def logarithmic(first: int, last: int, step: float = 0.35) -> Quadrature:
    """A quadrature for the sum of a prior over first..last: whole numbers, then panels of equal width in log k.

    It is for sums without noise, where a power law is the steepest function; `step` is the widest panel in log k.
    """
    exact = min(last, max(EXACT_UP_TO // 4, first))
    parts = [whole_numbers(first, exact)]
    if last > exact:
        start, stop = np.log(exact + 0.5), np.log(last + 0.5)
        edges = np.linspace(start, stop, 1 + max(1, int(np.ceil((stop - start) / step))))
        in_log = panels(edges, 8)
        k = np.exp(in_log.nodes)
        parts.append(Quadrature(k, in_log.weights * k))  # dk = k d(log k)
    return Quadrature.join(*parts)


def growing_edges(start: float, stop: float, widest: float) -> Vector:
    """Edges of panels from start to stop: each panel is as wide as its start or as `widest`, whichever is less.

    >>> growing_edges(1.0, 12.0, 4.0).tolist()
    [1.0, 2.0, 4.0, 8.0, 12.0]
    """
    edges = [start]
    while edges[-1] < min(stop, widest):
        edges.append(min(stop, 2 * edges[-1]))
    steps = max(1, int(np.ceil((stop - edges[-1]) / widest))) if edges[-1] < stop else 0
    return np.concatenate([edges, np.linspace(edges[-1], stop, steps + 1)[1:]]) if steps else np.array(edges)
