r"""Divisions: among few items, an average over how evenly the users may be divided, unanimity included.

Few items do not say what distribution they come from. So nothing is fitted. The prior is a distribution over all ways
to divide the users among the d items, in two steps. Some items may have no holders at all. The users are divided among
the others as a Dirichlet distribution with the exponent a says, so that a division has the weight

    prod_i g(f_i),        g(k) = Gamma(k + a) / (Gamma(a) k!) + A [k = 0],        f_1 + .. + f_d = total.

With a = 1 and A = 0 all divisions are equally likely. A large exponent makes the items nearly equal, a small one lets
few items hold nearly everybody. A is `ATOM` times the weight of all frequencies up to one deviation of the noise. The
prior is the average over `PARTS`, each weighted by the probability that it gives to the estimates and the total, which
`localdp.priors.fitting.divisions` computes over all divisions.

**Why an atom that depends on the noise.** With two items the prior decides what is said about estimates near 0 and near
the total, and no data can correct it. All divisions being equally likely, a yes/no question that nobody affirms has
twice the squared error of the estimate clipped to 0..n. With an atom of 1.4, the error is at most about 1.1 times that
of the clipped estimate wherever the truth is, and 0.75 times where it helps most. Among more items, a larger atom is
possible too, since several estimates near 0 support each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy.special import betainc, gammaln, logsumexp

from localdp.priors.base import Prior, frozen_parameters
from localdp.priors.cells import CellPrior, Cells
from localdp.priors.fitting.divisions import Lattice
from localdp.priors.fitting.noise import Noise
from localdp.priors.fitting.noise_by_item import NoiseByItem
from localdp.priors.fitting.observations import Observations
from localdp.types import Vector

ATOM, LARGE_ATOM = 1.4, 8.0
"""The weight of no holders, over that of all frequencies up to one deviation of the noise."""

MANY_ENOUGH, SOME = 8, 5
"""From so many items on, unequal divisions and large atoms have their full weight; between 2 and so many, less."""

_NEGLIGIBLE = 1e-3  # kinds with less than this share of the largest probability are left out
_LARGE = 1e7  # from here on the gamma function is replaced by its asymptotic form, which is more exact


@dataclass(frozen=True)
class Part:
    """One kind of division: the exponent, the atom, and its weight before anything is seen."""

    exponent: float
    atom: float
    weight: float


def parts_for(items: int) -> tuple[Part, ...]:
    """The kinds of divisions that are averaged among this many items."""
    uneven = min(1.0, (items - 2) / (MANY_ENOUGH - 2))
    several = min(1.0, (items - 2) / (SOME - 2))
    every = [
        Part(0.3, 0.0, 0.5 * uneven),
        Part(0.5, 0.0, uneven),
        Part(1.0, ATOM, 3.0),
        Part(1.0, LARGE_ATOM, 0.6 * several),
        Part(0.5, LARGE_ATOM, 0.3 * uneven),
        Part(2.0, 0.0, 0.6),
        Part(4.0, 0.0, 0.4),
        Part(10.0, 0.0, 0.25),
        Part(30.0, 0.0, 0.12),
        Part(100.0, 0.0, 0.06),
    ]
    return tuple(part for part in every if part.weight > 0)


@dataclass(frozen=True)
class Weights:
    """The weight g of one frequency, less a factor that is the same for all divisions of the total."""

    part: Part
    items: int
    total: float
    log_atom: float

    @classmethod
    def of(cls, part: Part, items: int, total: float, deviation: float) -> Weights:
        """The weights among so many items with noise of this deviation."""
        up_to = min(deviation, total / 2)
        log_atom = np.log(part.atom) + _log_up_to(up_to, part.exponent) if part.atom else -np.inf
        return cls(part, items, total, float(log_atom))

    @property
    def _log_ratio(self) -> float:
        """The logarithm of the factor for each holder, which makes the mean of g the mean frequency."""
        return -float(np.log1p(self.part.exponent * self.items / self.total))

    def on_lattice(self, k: Vector, step: float) -> Vector:
        """log g at multiples of `step`, each standing for the frequencies that are nearest to it."""
        alone = np.logaddexp(_log_up_to(max(step / 2 - 0.5, 0.0), self.part.exponent), self.log_atom)
        held = _log_rising(np.maximum(k, 1.0), self.part.exponent) - gammaln(self.part.exponent) + np.log(step)
        half = np.where((k >= self.total) & (step > 1), np.log(0.5), 0.0)  # the last one has no neighbour above
        return np.asarray(np.where(k == 0, alone, held + half + k * self._log_ratio))

    def log_sum(self) -> float:
        """The logarithm of the sum of the weights of all divisions."""
        a, empty = self.part.exponent, np.arange(self.items, dtype=np.float64)
        held = self.items - empty
        ways = gammaln(self.items + 1) - gammaln(empty + 1) - gammaln(held + 1)
        atoms = np.where(empty > 0, empty * self.log_atom if np.isfinite(self.log_atom) else -np.inf, 0.0)
        divided = _log_rising(np.array(self.total), held * a) - gammaln(held * a)
        return float(logsumexp(ways + atoms + divided) + self.total * self._log_ratio)

    def masses(self, cells: Cells) -> Vector:
        """The mass of each cell for a single item, if the total is not known."""
        a, mean = self.part.exponent, self.total / self.items
        up_to = betainc(a, cells.ends + 1, a / (a + mean))
        masses = np.diff(up_to, prepend=0.0) / up_to[-1]
        others = a * np.log1p(mean / a)
        empty = float(np.exp(self.log_atom - np.logaddexp(self.log_atom, others)))
        masses *= 1 - empty
        masses[0] += empty
        return np.asarray(np.maximum(masses, 0.0))


@dataclass(frozen=True, eq=False, repr=False)
class DivisionsPrior(CellPrior):
    """The average over `kinds` with the probabilities `chances`; its cells have the average for a single item."""

    kinds: tuple[Weights, ...] = ()
    chances: Vector = field(default_factory=lambda: np.zeros(0))

    @property
    def items(self) -> int:
        """The number of items among which the users are divided; 0 if no kind of division explains the estimates."""
        return self.kinds[0].items if self.kinds else 0


class Divisions(Prior):
    """For few items with a known total: an average over how evenly the users may be divided.

    >>> Divisions().name
    'divisions'
    """

    name = "divisions"
    methods = ("marginal-likelihood",)

    def fit_observations(self, observations: Observations, method: str) -> DivisionsPrior:
        noise, total, items = observations.noise, observations.total, observations.d
        noises = noises_of(getattr(observations, "by_item", noise), items)
        lattice = Lattice.of(noises, observations.estimates, total)
        kinds, found_logs = [], []
        for part in parts_for(items):
            weights = Weights.of(part, items, total, noise.deviation)
            found = lattice.divided(partial(weights.on_lattice, step=lattice.step))
            kinds.append(weights)
            found_logs.append(np.log(part.weight) + found.log_evidence - np.log(lattice.step) - weights.log_sum())
        possible = np.isfinite(
            max(found_logs)
        )  # otherwise the estimates contradict the total, and all are averaged alike
        logs = np.array(found_logs) if possible else np.zeros(len(kinds))
        kept = logs > logs.max() + np.log(_NEGLIGIBLE)
        kinds = [weights for weights, one in zip(kinds, kept, strict=True) if one]
        chances = np.exp(logs[kept] - logsumexp(logs[kept]))
        cells = Cells.of(observations)
        average = chances @ np.array([weights.masses(cells) for weights in kinds])
        exponents = np.log([weights.part.exponent for weights in kinds])
        empty = sum(chance for chance, weights in zip(chances, kinds, strict=True) if weights.part.atom)
        parameters = frozen_parameters(exponent=float(np.exp(chances @ exponents)), empty=float(empty))
        log_masses = np.log(np.maximum(average / average.sum(), 1e-300))
        shown = tuple(kinds) if possible else ()
        return DivisionsPrior(self.name, observations.n, parameters, method, (), cells, log_masses, shown, chances)


def noises_of(noise: Noise | NoiseByItem, items: int) -> list[Noise]:
    """The noise of each item."""
    if isinstance(noise, Noise):
        return [noise] * items
    return [Noise(float(variance), noise.excess) for variance in noise.variances]


def _log_rising(k: Vector, a: float | Vector) -> Vector:
    """log Gamma(k + a) - log Gamma(k + 1)."""
    small = np.minimum(k, _LARGE)
    exact = gammaln(small + a) - gammaln(small + 1)
    return np.asarray(np.where(k < _LARGE, exact, (a - 1) * np.log(k + np.asarray(a) / 2)))


def _log_up_to(k: float, a: float) -> float:
    """The logarithm of the sum of Gamma(j + a) / (Gamma(a) j!) over j = 0..k."""
    return float(_log_rising(np.array(k), a + 1) - gammaln(a + 1))
