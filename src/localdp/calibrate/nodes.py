"""The frequencies that stand for all in the sums of a posterior, and how much prior each stands for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from localdp.kernels.quadrature import EXACT, SMOOTH_SCALE, Rule, growing_edges, panels, whole_numbers
from localdp.priors.base import FittedPrior
from localdp.priors.fitting.noise import Noise
from localdp.priors.fitting.observations import MARGIN, REACH
from localdp.priors.fitting.parametric import FEATURE_REACH
from localdp.types import Flags, Vector

Part = tuple[Vector, Vector]
Span = tuple[float, float]

_LAST_EXACT = 256  # whole numbers before the end of the support, where mass may pile up
_WIDE = 4.0


def support(
    prior: FittedPrior, noise: Noise, estimates: Vector, span: Span, edges: tuple[float, ...]
) -> tuple[Vector, Vector, Flags]:
    """Nodes, the logarithm of weight times mass there, and which of them are nodes of panels."""
    if prior.atoms is not None:
        return *prior.atoms, np.zeros(prior.atoms[0].size, bool)
    cuts = np.concatenate([prior.edges, edges])
    find = _feature_nodes if prior.feature else _nodes
    rule = find(prior, noise, estimates, span, cuts)
    with np.errstate(divide="ignore"):
        log_mass = prior.log_mass(rule.nodes) + np.log(rule.weights)
    kept = np.isfinite(log_mass)
    k, log_mass = rule.nodes[kept], log_mass[kept]
    if prior.first > 0 and np.isfinite(prior.zero):
        k, log_mass = np.append(0.0, k), np.append(prior.zero, log_mass)
    return k, log_mass, k != np.floor(k)


def _nodes(prior: FittedPrior, noise: Noise, estimates: Vector, span: Span, cuts: Vector) -> Rule:
    """For priors with heavy tails: all of the core, and a window around every estimate beyond it."""
    exact = min(prior.n, EXACT)
    parts = [whole_numbers(prior.first, exact)]
    stop = min(prior.n + 0.5, REACH * noise.deviation + MARGIN * _deviation(noise, REACH * noise.deviation))
    covered = exact + 0.5
    if stop > covered:
        parts += _pieces(covered, stop, noise, cuts, prior.largest)
        covered = stop
    return Rule.of(*parts, *_windows(prior, noise, estimates, span, covered, cuts))


def _windows(
    prior: FittedPrior, noise: Noise, estimates: Vector, span: Span, covered: float, cuts: Vector
) -> list[Part]:
    """Nodes around every estimate, or the end of the support, that lies beyond what is covered."""
    limit = covered - MARGIN * _deviation(noise, covered)
    place, width = prior.feature or (0.0, np.inf)
    if span[1] <= limit:
        return []
    far = np.unique(np.clip(estimates[estimates > limit].round(), 0, prior.largest))
    variance = noise.variance_at(far)
    shift = variance * np.abs(far - place) / width**2  # how far a prior with light tails may pull
    low = np.maximum(far - MARGIN * np.sqrt(variance) - shift, covered)
    high = np.minimum(far + MARGIN * np.sqrt(variance), prior.n + 0.5)
    return [part for begin, end in _merged(low, high) for part in _pieces(begin, end, noise, cuts, prior.largest)]


def _feature_nodes(prior: FittedPrior, noise: Noise, estimates: Vector, span: Span, cuts: Vector) -> Rule:
    """For priors with light tails: their bulk finely, and from there to the farthest estimate."""
    place, width = prior.feature or (0.0, 1.0)
    exact = min(prior.n, EXACT)
    parts = [whole_numbers(prior.first, exact)]
    if exact == prior.n:
        return Rule.of(*parts)
    covered, end = exact + 0.5, prior.n + 0.5
    near = np.clip([place - FEATURE_REACH * width, place + FEATURE_REACH * width], covered, end)
    if near[1] - near[0] <= 8 * EXACT:
        near = np.clip(np.round(near) + 0.5, covered, end)
        parts.append(whole_numbers(int(near[0] + 0.5), int(near[1] - 0.5)))
        inner = np.zeros(0)
    elif width > _WIDE * noise.deviation:
        # A wide prior and little noise: nothing is far from its estimate.
        return Rule.of(*parts, *_windows(prior, noise, estimates, span, covered, cuts))
    else:
        inner = np.linspace(near[0], near[1], 2 + int(2 * (near[1] - near[0]) / min(width, noise.deviation)))
    top = min(end, max(near[1], span[1] + MARGIN * _deviation(noise, float(prior.n))))
    for low, high, edges in ((covered, near[0], None), (near[0], near[1], inner), (near[1], top, None)):
        if edges is None:
            step = max(min(noise.deviation, 4 * width), (high - low) / 3000, 1e-9)
            edges = np.linspace(low, high, 2 + int((high - low) / step)) if high > low else np.zeros(0)
        if edges.size:
            inside = cuts[(cuts > low) & (cuts < high)]
            parts.append(panels(np.unique(np.concatenate([edges, inside])), 8))
    return Rule.of(*parts)


def _pieces(begin: float, end: float, noise: Noise, cuts: Vector, largest: float) -> list[Part]:
    """Nodes from begin to end, as fine as the noise asks for; whole numbers at the end of the support."""
    if _deviation(noise, begin) < SMOOTH_SCALE:
        first, last = int(np.ceil(begin)), int(np.floor(end))
        return [whole_numbers(first, last)] if last >= first else []
    parts = []
    if end > largest:
        first = max(int(np.ceil(begin)), int(largest) - _LAST_EXACT)
        parts.append(whole_numbers(first, int(largest)))
        end = first - 0.5
    if end > begin:
        edges = growing_edges(begin, end, _deviation(noise, begin))
        inside = cuts[(cuts > begin) & (cuts < end)]
        parts.append(panels(np.unique(np.concatenate([edges, inside])), 8))
    return parts


def _merged(low: Vector, high: Vector) -> Iterator[Span]:
    """The union of intervals, in the order of where they begin."""
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


def _deviation(noise: Noise, k: float) -> float:
    return float(np.sqrt(noise.variance_at(np.array(max(k, 0.0)))))
