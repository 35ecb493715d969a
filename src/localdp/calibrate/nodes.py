"""Quadrature nodes and their log prior weights, for sums over the posterior.

    sum over k of p_f(k) F(k)   ~   sum over nodes of exp(log weight) * F(node)

F is the likelihood of an estimate times something smooth, so it matters only within a few deviations of the noise
around the estimate, and panels as wide as a deviation are narrow enough. There are four kinds of priors:

- atoms: they are the nodes;
- cells: two nodes in each cell of the core, and beyond the core a window around every estimate;
- heavy tails (power laws and their like): all frequencies up to `CORE_DEVIATIONS` of the noise, and beyond them a
  window around every estimate;
- light tails (Gaussian, Laplace, Poisson; those with a `feature`): such a prior may pull a far estimate a long way
  towards its bulk, so the bulk is covered finely and everything from there to the farthest estimate too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from localdp.kernels.quadrature import (
    EXACT_UP_TO,
    SMOOTH_SCALE,
    Quadrature,
    cut_at,
    growing_edges,
    panels,
    whole_numbers,
)
from localdp.priors.base import FittedPrior
from localdp.priors.cells import CellPrior
from localdp.priors.fitting.noise import Noise
from localdp.priors.fitting.observations import NOISE_REACH
from localdp.priors.fitting.parametric import FEATURE_REACH
from localdp.types import Flags, Vector

Span = tuple[float, float]
"""From the smallest to the largest of some numbers."""

_POINTS = 8  # nodes of a panel; with panels a deviation wide, sums over the posterior are good to seven digits
_LAST_EXACT = 256  # whole numbers before the largest frequency of the prior, where its mass may pile up
_WIDE = 4.0  # a prior with a bulk wider than this many noise deviations hardly moves an estimate
_MOST_PANELS = 3000  # the most panels on either side of the bulk, however long that side is


@dataclass(frozen=True, eq=False)
class WeightedNodes:
    """Ascending nodes k, log(weight * p_f(k)), and whether each is a node of a panel.

    A node of a panel stands for a stretch of frequencies around it; any other stands for itself alone.
    """

    k: Vector
    log_weights: Vector
    in_panel: Flags


def posterior_nodes(
    prior: FittedPrior, noise: Noise, estimates: Vector, span: Span, breaks: tuple[float, ...] = ()
) -> WeightedNodes:
    """The nodes for the posteriors of these estimates; `span` is their smallest and largest.

    Panels end at the `breaks`, where a function to be averaged over the posterior has a step.
    """
    if prior.atoms is not None:
        return WeightedNodes(*prior.atoms, np.zeros(prior.atoms[0].size, bool))
    all_breaks = np.concatenate([prior.edges, breaks])
    if isinstance(prior, CellPrior):
        quadrature = _in_cells(prior, noise, estimates, span, all_breaks)
    else:
        build = _light_tailed if prior.feature else _heavy_tailed
        quadrature = build(prior, noise, estimates, span, all_breaks)
    with np.errstate(divide="ignore"):
        log_weights = prior.log_mass(quadrature.nodes) + np.log(quadrature.weights)
    possible = np.isfinite(log_weights)
    k, log_weights = quadrature.nodes[possible], log_weights[possible]
    if prior.first > 0 and np.isfinite(prior.zero):
        k, log_weights = np.append(0.0, k), np.append(prior.zero, log_weights)
    # Nodes of panels are never whole numbers, except by a coincidence that does no harm.
    return WeightedNodes(k, log_weights, k != np.floor(k))


def _in_cells(prior: CellPrior, noise: Noise, estimates: Vector, span: Span, breaks: Vector) -> Quadrature:
    """The cells as panels with two nodes each, and a window around every estimate beyond the core.

    A cell of one frequency is a node itself. Cells are cut where there is a break.
    """
    ends = prior.cells.ends
    used = int(np.searchsorted(ends, noise.core + NOISE_REACH * noise.deviation_at(noise.core)))
    if prior.cells.widths[: used + 1].max() > max(1.0, noise.deviation / 2):
        return _heavy_tailed(prior, noise, estimates, span, breaks)  # the prior was fitted under more noise than this
    edges = cut_at(breaks, np.append(-0.5, ends[: used + 1] + 0.5))
    single = np.diff(edges) == 1
    whole = edges[1:][single] - 0.5
    wide = panels(edges, 2)
    kept = np.repeat(~single, 2)
    parts = [Quadrature(whole, np.ones(whole.size)), Quadrature(wide.nodes[kept], wide.weights[kept])]
    return Quadrature.join(*parts, *_windows(prior, noise, estimates, span, float(edges[-1]), breaks))


def _heavy_tailed(prior: FittedPrior, noise: Noise, estimates: Vector, span: Span, breaks: Vector) -> Quadrature:
    """All frequencies of the core, and a window around every estimate beyond it."""
    exact = min(prior.n, EXACT_UP_TO)
    parts = [whole_numbers(prior.first, exact)]
    stop = min(prior.n + 0.5, noise.core + NOISE_REACH * noise.deviation_at(noise.core))
    covered = exact + 0.5
    if stop > covered:
        parts += _stretch(covered, stop, noise, breaks, prior.largest)
        covered = stop
    return Quadrature.join(*parts, *_windows(prior, noise, estimates, span, covered, breaks))


def _windows(
    prior: FittedPrior, noise: Noise, estimates: Vector, span: Span, covered: float, breaks: Vector
) -> list[Quadrature]:
    """Nodes around every estimate that needs frequencies beyond those covered.

    An estimate above the largest frequency of the prior has its window there.
    """
    limit = covered - NOISE_REACH * noise.deviation_at(covered)
    centre, width = prior.feature or (0.0, np.inf)
    if span[1] <= limit:
        return []
    far = np.unique(np.clip(estimates[estimates > limit].round(), 0, prior.largest))
    variance = noise.variance_at(far)
    pull = variance * np.abs(far - centre) / width**2  # how far down a prior with light tails may pull an estimate
    low = np.maximum(far - NOISE_REACH * np.sqrt(variance) - pull, covered)
    high = np.minimum(far + NOISE_REACH * np.sqrt(variance), prior.n + 0.5)
    return [part for begin, end in _union(low, high) for part in _stretch(begin, end, noise, breaks, prior.largest)]


def _light_tailed(prior: FittedPrior, noise: Noise, estimates: Vector, span: Span, breaks: Vector) -> Quadrature:
    """Nodes that cover the bulk finely, and also the frequencies below it and above it up to the farthest estimate."""
    centre, width = prior.feature or (0.0, 1.0)
    exact = min(prior.n, EXACT_UP_TO)
    parts = [whole_numbers(prior.first, exact)]
    if exact == prior.n:
        return Quadrature.join(*parts)
    covered, end = exact + 0.5, prior.n + 0.5
    bulk = np.clip([centre - FEATURE_REACH * width, centre + FEATURE_REACH * width], covered, end)
    if bulk[1] - bulk[0] <= 8 * EXACT_UP_TO:
        bulk = np.clip(np.round(bulk) + 0.5, covered, end)
        parts.append(whole_numbers(int(bulk[0] + 0.5), int(bulk[1] - 0.5)))
    elif width > _WIDE * noise.deviation:
        # A wide prior and little noise: every frequency is near its estimate, as it is under heavy tails.
        return Quadrature.join(*parts, *_windows(prior, noise, estimates, span, covered, breaks))
    else:
        fine = 2 + int(2 * (bulk[1] - bulk[0]) / min(width, noise.deviation))
        parts.append(panels(cut_at(breaks, np.linspace(bulk[0], bulk[1], fine)), _POINTS))
    top = min(end, max(bulk[1], span[1] + NOISE_REACH * noise.deviation_at(prior.n)))
    for low, high in ((covered, bulk[0]), (bulk[1], top)):
        if high > low:
            step = max(min(noise.deviation, 4 * width), (high - low) / _MOST_PANELS, 1e-9)
            parts.append(panels(cut_at(breaks, np.linspace(low, high, 2 + int((high - low) / step))), _POINTS))
    return Quadrature.join(*parts)


def _stretch(begin: float, end: float, noise: Noise, breaks: Vector, largest: float) -> list[Quadrature]:
    """Nodes from begin to end, as fine as the noise needs; whole numbers at the end of the prior's range."""
    if noise.deviation_at(begin) < SMOOTH_SCALE:
        first, last = int(np.ceil(begin)), int(np.floor(end))
        return [whole_numbers(first, last)] if last >= first else []
    parts = []
    if end > largest:
        first = max(int(np.ceil(begin)), int(largest) - _LAST_EXACT)
        parts.append(whole_numbers(first, int(largest)))
        end = first - 0.5
    if end > begin:
        parts.append(panels(cut_at(breaks, growing_edges(begin, end, noise.deviation_at(begin))), _POINTS))
    return parts


def _union(low: Vector, high: Vector) -> Iterator[Span]:
    """The union of the intervals low..high, as disjoint intervals in ascending order; empty ones are left out."""
    order = np.argsort(low)
    begin, end = float(low[order[0]]), float(high[order[0]])
    for a, b in zip(low[order[1:]].tolist(), high[order[1:]].tolist(), strict=True):
        if a > end:
            if end > begin:
                yield begin, end
            begin = a
        end = max(end, b)
    if end > begin:
        yield begin, end
