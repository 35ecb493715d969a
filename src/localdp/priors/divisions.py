r"""Divisions: among few items, an average over how evenly the users may be divided, unanimity included.

Few items do not say what distribution they come from. So nothing is fitted. The prior is a distribution over all ways
to divide the users among the d items, in two steps. Some items may have no holders at all. The users are divided among
the others as a Dirichlet distribution with the exponent a says, so that a division has the weight

    prod_i g(f_i),        g(k) = Gamma(k + a) / (Gamma(a) k!) + A [k = 0],        f_1 + .. + f_d = total.

With a = 1 and A = 0 all divisions are equally likely. A large exponent makes the items nearly equal, a small one lets
few items hold nearly everybody. The prior is the average over `parts_for(d)`, each weighted by the probability that it
gives to the estimates and the total, which `localdp.priors.fitting.divisions` computes over all divisions.

**Near 0, the prior decides.** Whether an item with an estimate of about 0 has no holders or a few, no data can say, so
the prior is made for the noise: with u the deviation of the noise of an item that nobody holds, given the total,

    A = `ATOM` u,        g(k) = h(k / u) Gamma(k + a) / (Gamma(a) k!),
    h(x) = 1 - c exp(-(x/b)^4) + B exp(-(x - m)^2 / (2 w^2)).

An item has no holders, or enough of them to be noticed. The numbers come from the estimate clipped to 0 and more, in
the case of one item at the end of a long range. Among priors of this form, these numbers make the largest ratio of the
squared errors small: at most 1.04 times that of the clipped estimate wherever the truth is, and 0.9 times for an item
that nobody holds. With h = 1 the best is 1.09 and 0.92, and with A = 0 too it is 2. With two items and any noise it is
at most 1.04, too. Among more items, a larger atom is possible, since several estimates near 0 support each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import betainc, gamma, gammaln, logsumexp

from localdp.priors.base import Prior, frozen_parameters
from localdp.priors.cells import CellPrior, Cells
from localdp.priors.fitting.divisions import Lattice
from localdp.priors.fitting.noise import Noise
from localdp.priors.fitting.noise_by_item import NoiseByItem
from localdp.priors.fitting.observations import Observations
from localdp.types import Vector

ATOM, LARGE_ATOM = 2.6, 8.0
"""The weight of no holders, over that of all frequencies up to one deviation of the noise."""

_GAP, _GAP_WIDTH, _BUMP, _BUMP_CENTRE, _BUMP_WIDTH = 0.95, 1.35, 0.4, 1.9, 0.5
"""c, b, B, m and w of the function h."""

_LESS_BY_H = _GAP * _GAP_WIDTH * float(gamma(1.25)) - _BUMP * _BUMP_WIDTH * float(np.sqrt(2 * np.pi))
"""The integral of 1 - h from 0 on: h takes away as much as an atom of this size adds."""

MANY_ENOUGH, SOME = 8, 5
"""From so many items on, unequal divisions and large atoms have their full weight; between 2 and so many, less."""

_RESOLVED, _POINTS = 500, 4096  # deviations in the total up to which all divisions are summed, on so many points
_NEGLIGIBLE = 1e-3  # kinds with less than this share of the largest probability are left out
_LARGE = 1e7  # from here on the gamma function is replaced by its asymptotic form, which is more exact


@dataclass(frozen=True)
class Part:
    """One kind of division: the exponent, the atom, its weight before anything is seen, and whether h is 1."""

    exponent: float
    atom: float
    weight: float
    plain: bool = True


def parts_for(items: int) -> tuple[Part, ...]:
    """The kinds of divisions that are averaged among this many items."""
    uneven = min(1.0, (items - 2) / (MANY_ENOUGH - 2))
    several = min(1.0, (items - 2) / (SOME - 2))
    every = [
        Part(0.3, 0.0, 0.5 * uneven),
        Part(0.5, 0.0, uneven),
        Part(1.0, ATOM, 3.0, plain=False),
        Part(1.0, LARGE_ATOM, 0.6 * several),
        Part(0.5, LARGE_ATOM, 0.3 * uneven),
        Part(2.0, 0.0, 0.06),
        Part(4.0, 0.0, 0.04),
        Part(10.0, 0.0, 0.025),
        Part(30.0, 0.0, 0.012),
        Part(100.0, 0.0, 0.006),
    ]
    return tuple(part for part in every if part.weight > 0)


@dataclass(frozen=True)
class Weights:
    """The weight g of one frequency, less a factor that is the same for all divisions of the total."""

    part: Part
    items: int
    total: float
    log_atom: float
    unit: float
    """u, or half of the total if that is less."""

    @classmethod
    def of(cls, part: Part, items: int, total: float, deviation: float) -> Weights:
        """The weights among so many items with noise of this deviation."""
        unit = min(deviation, total / 2)
        log_atom = np.log(part.atom) + _log_up_to(unit, part.exponent) if part.atom else -np.inf
        return cls(part, items, total, float(log_atom), unit)

    @property
    def _log_ratio(self) -> float:
        """The logarithm of the factor for each holder, which makes the mean of g the mean frequency."""
        return -float(np.log1p(self.part.exponent * self.items / self.total))

    def on_lattice(self, k: Vector, step: float) -> Vector:
        """log g at multiples of `step`, each standing for the frequencies that are nearest to it."""
        few = _log_up_to(max(step / 2 - 0.5, 0.0), self.part.exponent)
        held = _log_rising(np.maximum(k, 1.0), self.part.exponent) - gammaln(self.part.exponent) + np.log(step)
        if not self.part.plain:
            few, held = few + np.log1p(-_GAP), held + np.log(_noticed(k / self.unit))
        alone = np.logaddexp(few, self.log_atom)
        return np.asarray(np.where(k == 0, alone, held + k * self._log_ratio))

    def log_sum(self) -> float:
        """The logarithm of the sum of the weights of all divisions."""
        a, empty = self.part.exponent, np.arange(self.items, dtype=np.float64)
        atom = self.log_atom
        if not self.part.plain:
            if self.total <= max(_POINTS, _RESOLVED * self.unit):
                return self._summed()
            atom += np.log1p(-_LESS_BY_H / self.part.atom)
        held = self.items - empty
        ways = gammaln(self.items + 1) - gammaln(empty + 1) - gammaln(held + 1)
        atoms = np.where(empty > 0, empty * atom if np.isfinite(atom) else -np.inf, 0.0)
        divided = _log_rising(np.array(self.total), held * a) - gammaln(held * a)
        return float(logsumexp(ways + atoms + divided) + self.total * self._log_ratio)

    def _summed(self) -> float:
        """The same, by adding up all divisions on a lattice."""
        points = int(min(self.total, _POINTS))
        step = self.total / points
        logs = self.on_lattice(step * np.arange(points + 1, dtype=np.float64), step)
        everything = float(logsumexp(logs))
        transform = rfft(np.exp(logs - everything), next_fast_len(points * self.items + 1, real=True))
        found = float(irfft(transform**self.items, next_fast_len(points * self.items + 1, real=True))[points])
        return float(np.log(max(found, 1e-300))) + self.items * everything - float(np.log(step))

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
        unit = deviation_given_total(noise, items, total)
        kinds, found_logs = [], []
        for part in parts_for(items):
            weights = Weights.of(part, items, total, unit)
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


def deviation_given_total(noise: Noise, items: int, total: float) -> float:
    """The deviation of the noise of an item that nobody holds, if the total is known and another item holds it all."""
    own, largest = noise.variance, noise.deviation_at(total) ** 2
    others = largest + (items - 2) * own
    return float(np.sqrt(own * others / (own + others)))


def _noticed(x: Vector) -> Vector:
    """The function h."""
    gap = _GAP * np.exp(-np.minimum((x / _GAP_WIDTH) ** 4, 700.0))
    return np.asarray(1 - gap + _BUMP * np.exp(-0.5 * np.minimum((x - _BUMP_CENTRE) / _BUMP_WIDTH, 40.0) ** 2))


def _log_rising(k: Vector, a: float | Vector) -> Vector:
    """log Gamma(k + a) - log Gamma(k + 1)."""
    small = np.minimum(k, _LARGE)
    exact = gammaln(small + a) - gammaln(small + 1)
    return np.asarray(np.where(k < _LARGE, exact, (a - 1) * np.log(k + np.asarray(a) / 2)))


def _log_up_to(k: float, a: float) -> float:
    """The logarithm of the sum of Gamma(j + a) / (Gamma(a) j!) over j = 0..k."""
    return float(_log_rising(np.array(k), a + 1) - gammaln(a + 1))
