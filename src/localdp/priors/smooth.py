r"""Smooth: a power law with an exponent that drifts from rare to frequent items, as much as the data say.

    log p_f(k) = -alpha t + sum_j b_j phi_j(t) + const,     t = log k,  k = 1..n,      and a mass at k = 0

The knots are equally spaced in t, and the second derivative of phi_j is a hat around knot j: b_j is the curvature of
the log-log density there. Below the first knot and above the last the curvature is zero, so both ends are power laws.
A ridge penalty on the b_j keeps the curvature small; with an infinite penalty on all of them this is the paper's power
law.

No single penalty is chosen. Each penalty on a grid gives a fit and its marginal likelihood (see
`localdp.priors.fitting.log_linear`), and the prior is the mixture of these fits, weighted by these likelihoods.

Noise hides the shape below a third of its deviation. Three things are known there: the number of items; the number of
users, since every user holds one item; and that in real data the slope is flatter among rare items than among frequent
ones. So the penalty is fixed there, and the exponent of the rarest items has its own mild prior, which favours a
flatter slope than at higher frequencies. The mass at zero starts small, and only the data can make it large. Decision 8
gives the reasons.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp

from localdp.kernels.quadrature import Quadrature
from localdp.priors.base import FittedPrior, Prior, frozen_parameters
from localdp.priors.cells import Cells
from localdp.priors.fitting.log_linear import LikelihoodTerms, LogLinear, Nodes, Solution
from localdp.priors.fitting.observations import Observations
from localdp.types import Vector

PENALTIES = 10.0 ** np.arange(4.0, -1.01, -0.5)
"""From nearly a power law to nearly free; each fit starts from the one before."""

ZERO_CENTER, ZERO_DEVIATION = -4.0, 2.5
"""The prior of log(p(0)/p(1)): empty items are possible, but there are many only if the data say so."""

EXPONENT_CENTER, EXPONENT_DEVIATION = 0.4, 0.3
"""The prior of alpha, the exponent of the rarest items: in real data it is smaller than that of frequent items."""

HIDDEN_PENALTY = 1.0
"""The penalty on the curvature where noise hides the shape."""

_FIRST_EXPONENT = 1.6  # where the first fit starts
_NEGLIGIBLE_WEIGHT = 1e-4  # fits with a smaller weight in the mixture are left out


@dataclass(frozen=True, eq=False)
class Basis:
    """The functions of t = log k that the log-mass is a linear combination of.

    Knots are in t, `spacing` apart; the noise hides the shape below t = `visible`.
    """

    knots: Vector
    spacing: float
    visible: float

    @property
    def size(self) -> int:
        """The number of functions: -t, one for each knot, and the mass at zero."""
        return self.knots.size + 2

    def at(self, k: Vector) -> Vector:
        """The functions at the frequencies k, 0 included: a row for each frequency."""
        t = np.log(np.maximum(k, 1.0))
        columns = np.empty((t.size, self.size))
        columns[:, 0] = -t
        away = t[:, None] - self.knots
        cubes = (np.maximum(away + shift, 0.0) ** 3 for shift in (self.spacing, 0.0, -self.spacing))
        left, middle, right = cubes
        columns[:, 1:-1] = (left - 2 * middle + right) / (6 * self.spacing)
        columns[:, -1] = k == 0
        return columns

    def nodes(self, quadrature: Quadrature) -> Nodes:
        """The nodes of a quadrature and 0, which stands apart, with the functions there."""
        k = np.concatenate([[0.0], quadrature.nodes])
        return Nodes(k, np.concatenate([[0.0], np.log(quadrature.weights)]), self.at(k))

    @classmethod
    def spanning(cls, low: float, high: float) -> Basis:
        """Knots from 2 to `high`, about 0.6 of log k apart; the shape is visible from the frequency `low` on."""
        visible, stop = np.log(max(low, 2.0)), np.log(max(high, 2.0 * low, 8.0))
        count = int(np.clip(round((stop - np.log(2.0)) / 0.6), 4, 22))
        knots, spacing = np.linspace(np.log(2.0), stop, count, retstep=True)
        return cls(knots, float(spacing), visible)


@dataclass(frozen=True, eq=False, repr=False)
class SmoothPrior(FittedPrior):
    """A mixture of piecewise smooth power laws."""

    basis: Basis = field(default=None)  # type: ignore[assignment]
    thetas: Vector = field(default_factory=lambda: np.zeros((0, 0)))
    log_offsets: Vector = field(default_factory=lambda: np.zeros(0))
    """For each component, the logarithm of its weight less that of its normalizer."""
    log_evidence: float = 0.0
    """The logarithm of the marginal likelihood, summed over the penalties with equal weights."""

    def log_mass(self, k: Vector) -> Vector:
        k = np.asarray(k, np.float64)
        flat = self.basis.at(k.ravel()) @ self.thetas.T + self.log_offsets
        return np.asarray(logsumexp(flat, axis=1)).reshape(k.shape)

    @property
    def zero(self) -> float:
        return float(self.log_mass(np.zeros(1))[0])


class Smooth(Prior):
    """The default: a piecewise smooth power law with mass at zero, fitted by penalized likelihood.

    >>> Smooth().name
    'smooth'
    """

    name = "smooth"
    methods = ("marginal-likelihood",)

    def fit_observations(self, observations: Observations, method: str) -> SmoothPrior:
        deviation = min(observations.noise.deviation, float(observations.n))
        highest = max(float(observations.estimates.max()), 10 * deviation)
        basis = Basis.spanning(deviation / 3, min(highest, observations.n))
        cells = Cells.of(observations)
        whole = Nodes(cells.middles, np.log(cells.widths), basis.at(cells.middles))
        near = cells.within_reach(observations)
        data_nodes = Nodes(whole.k[near], whole.log_weights[near], whole.basis[near])
        likelihood, row_logs = observations.likelihood(data_nodes.k)
        data = LikelihoodTerms(
            likelihood,
            row_logs,
            observations.binned[1],
            basis.at(observations.tail),
            observations.d,
            float(observations.tail.sum()),
            observations.tail_variance,
            observations.total,
            observations.total_variance,
        )
        return fit_smooth(self.name, observations.n, method, basis, data_nodes, whole, data)


def fit_smooth(
    name: str, n: int, method: str, basis: Basis, data_nodes: Nodes, whole: Nodes, data: LikelihoodTerms
) -> SmoothPrior:
    """The mixture of the fits under all penalties, weighted by their marginal likelihoods.

    The likelihood of the data is a sum over `data_nodes`, which are among those of the sum over `whole`, that is over
    all frequencies. (Were they not, a narrow peak could have a likelihood at a node of one sum and no mass at those of
    the other.) `Smooth` and `OptIn` differ in `data` and its nodes alone.
    """
    solutions = _fits(LogLinear(data_nodes, whole, data), basis)
    log_weights = np.array([solution.log_marginal_likelihood for solution in solutions])
    log_evidence = float(logsumexp(log_weights)) - np.log(log_weights.size)
    log_weights -= logsumexp(log_weights)
    kept = np.exp(log_weights) > _NEGLIGIBLE_WEIGHT
    thetas = np.array([solution.theta for solution in solutions])[kept]
    normalizers = logsumexp(thetas @ whole.basis.T + whole.log_weights, axis=1)
    offsets = log_weights[kept] - logsumexp(log_weights[kept]) - normalizers
    parameters = frozen_parameters(
        alpha=float(np.exp(log_weights[kept]) @ thetas[:, 0] / np.exp(log_weights[kept]).sum()),
        penalty=float(PENALTIES[int(np.argmax(log_weights))]),
        knots=basis.knots.size,
        empty=float(np.exp(logsumexp(thetas[:, -1] + offsets))),
    )
    return SmoothPrior(name, n, parameters, method, (), basis, thetas, offsets, log_evidence)


def _fits(model: LogLinear, basis: Basis) -> list[Solution]:
    """The fit under each of `PENALTIES`."""
    center = np.zeros(basis.size)
    center[0], center[-1] = EXPONENT_CENTER, ZERO_CENTER
    start = center.copy()
    start[0] = _FIRST_EXPONENT
    solutions: list[Solution] = []
    for penalty in PENALTIES:
        weights = np.full(basis.size, penalty * basis.spacing)
        weights[1:-1][basis.knots < basis.visible] = HIDDEN_PENALTY * basis.spacing
        weights[0], weights[-1] = EXPONENT_DEVIATION**-2, ZERO_DEVIATION**-2
        solutions.append(model.solve(weights, center, solutions[-1].theta if solutions else start))
    return solutions
