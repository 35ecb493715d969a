"""NPMLE: the distribution of the frequencies that makes the estimates most likely, whatever its shape.

    maximize   sum_i log sum_j w_j p_s(fhat_i - k_j)     over the levels k_j and their masses w_j

The solution has few levels (J. Kiefer and J. Wolfowitz, 1956). It excels where frequencies have a few levels and is too
coarse for heavy tails. Candidates lie a fifth of a deviation apart, and closer near zero. The place of a level that m
items belong to is known to within a deviation of the noise over the root of m. Nor is it known that all m items have
exactly the same frequency: if they scatter, with a variance below sigma^2 sqrt(2/m), no test can tell. So the mass of a
level is spread by `SPREAD` of that variance, and at least over the frequencies that are nearest to the candidate: the
prior is a histogram. An interval is then never narrower than the doubt about the levels.

In the far tail, where every estimate could be a level of its own, the prior is a power law instead: it is nearly flat
within reach of the noise, so these estimates keep their own uncertainty.
"""

from __future__ import annotations

import numpy as np

from localdp.priors.base import Prior, frozen_parameters
from localdp.priors.fitting.mixtures import mixing_weights
from localdp.priors.fitting.observations import Observations
from localdp.priors.steps import StepPrior
from localdp.types import Vector

SPREAD = 0.5
"""How widely a level is spread: its variance, over that of the noise, is the root of this over the number of items."""

_PER_DEVIATION = 5  # candidates to a deviation of the noise
_STEPS_PER_E_FOLD = 24  # steps of the tail between a frequency k and e*k
_EXPONENTS = (1.01, 6.0)  # the exponents that the tail may have


class NPMLE(Prior):
    """Nonparametric maximum likelihood: any distribution, fitted as a few levels.

    >>> NPMLE().methods
    ('mle',)
    """

    name = "npmle"
    methods = ("mle",)

    @property
    def uses_total(self) -> bool:
        return False

    def fit_observations(self, observations: Observations, method: str) -> StepPrior:
        points, counts = observations.binned
        ends, log_heights, levels = np.zeros(0), np.zeros(0), 0
        if points.size:
            candidates = candidate_frequencies(observations)
            weights = mixing_weights(observations.likelihood(candidates)[0], counts)
            levels = int((weights > 0).sum())
            ends, log_heights = _spread(observations, candidates, weights * counts.sum())
        if observations.tail.size:
            tail_ends, tail_heights = _tail(observations, float(ends[-1]) if ends.size else -1.0)
            ends, log_heights = np.append(ends, tail_ends), np.append(log_heights, tail_heights)
        filled = int(np.flatnonzero(np.isfinite(log_heights))[-1]) + 1
        ends, log_heights = _joined(ends[:filled], log_heights[:filled])
        parameters = frozen_parameters(levels=levels, tail=int(observations.tail.size))
        return StepPrior(self.name, observations.n, parameters, method, (), ends, log_heights)


def _spread(observations: Observations, candidates: Vector, items: Vector) -> tuple[Vector, Vector]:
    """The levels as a histogram, the ends of its steps and their log-heights; `items` are those at each candidate."""
    held = items > 0
    middles = np.append(np.floor((candidates[1:] + candidates[:-1]) / 2), candidates[-1])
    begins, stops = np.append(-1.0, middles[:-1])[held], middles[held]
    levels, masses = candidates[held], items[held] / observations.d
    # The variance of a uniform distribution with the half-width h is h^2/3.
    noise, number = observations.noise.variance_at(levels), np.maximum(items[held], 1.0)
    place, width = noise / number, noise * np.sqrt(SPREAD / number)
    reach = np.sqrt(3 * (place + np.where(levels > 0, width, 0.0)))
    reach = np.minimum(reach, np.minimum(levels, observations.n - levels))  # on both sides alike, to keep the mean
    begins = np.clip(np.minimum(begins, np.ceil(levels - reach) - 1), -1.0, None)
    stops = np.clip(np.maximum(stops, np.floor(levels + reach)), None, float(observations.n))
    heights = masses / (stops - begins)
    ends = np.unique(np.concatenate([begins, stops]))
    rises = np.zeros(ends.size)
    np.add.at(rises, np.searchsorted(ends, begins), heights)
    np.add.at(rises, np.searchsorted(ends, stops), -heights)
    # The step that ends at ends[j] has the height reached after ends[j-1].
    filled = np.cumsum(rises)[:-1]
    with np.errstate(divide="ignore"):
        logs = np.log(np.where(filled > 1e-12 * heights.max(), filled, 0.0))
    if ends[0] >= 0:
        return ends, np.append(-np.inf, logs)
    return ends[1:], logs


def candidate_frequencies(observations: Observations) -> Vector:
    """Where a level may be: 0, a few small frequencies, then one in each fifth of a deviation, or in each person."""
    deviation = min(observations.noise.deviation, float(observations.n))
    points = observations.binned[0]
    top = max(1.0, min(float(observations.n), points.max() + deviation))
    step = max(deviation / _PER_DEVIATION, 1.0)
    small = np.exp(np.linspace(0.0, np.log(max(2.0, step)), 24)).round()
    even = observations.ladder(_PER_DEVIATION, top).round()
    return np.unique(np.minimum(np.concatenate([[0.0], small, even]), np.floor(top)))


def _tail(observations: Observations, start: float) -> tuple[Vector, Vector]:
    """The power law of the estimates beyond the cut, in steps from above `start` to n: their ends and log-heights.

    Its exponent is the most likely one (B. Hill, 1975).
    """
    begin = max(start + 0.5, 0.5)
    logs = np.log(np.maximum(observations.tail / max(observations.cut, begin), 1.0))
    exponent = float(np.clip(1 + 1 / max(float(logs.mean()), 1e-6), *_EXPONENTS))
    count = 2 + int(_STEPS_PER_E_FOLD * np.log(max((observations.n + 0.5) / begin, 1.0)))
    edges = np.exp(np.linspace(np.log(begin), np.log(observations.n + 0.5), count)[1:])
    ends = np.unique(np.floor(np.append(edges[:-1], observations.n)))
    ends = ends[ends > start]
    widths = np.diff(ends, prepend=start)
    log_heights = -exponent * np.log(np.maximum(ends - widths / 2, 0.5))
    total = np.log(np.sum(widths * np.exp(log_heights - log_heights.max()))) + log_heights.max()
    return ends, log_heights - total + np.log(observations.tail.size / observations.d)


def _joined(ends: Vector, log_heights: Vector) -> tuple[Vector, Vector]:
    """The same steps, with neighbours of equal height (most of them empty) made one."""
    last = np.append(log_heights[1:] != log_heights[:-1], True)
    return ends[last], log_heights[last]
