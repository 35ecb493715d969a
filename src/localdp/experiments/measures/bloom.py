"""RAPPOR with Bloom filters, simulated: a mechanism that is not pure, whose noise is not Gaussian.

A user of cohort c lights the bits of a Bloom filter that the hash functions of the cohort give for the item, and every
bit is then flipped with probability `flip`. The collector counts the lit bits of each cohort. As a pure mechanism
would, we estimate an item by the average of its own bits, minus what other items light in it on average:

    fhat_i = ( sum over cohorts of the mean debiased count of the item's bits  -  n h/k ) / (1 - h/k)

with h bits for each item out of k. Averaged over all hash functions this is unbiased. But the hash functions are
fixed, so an item that shares a bit with a frequent item is overestimated in every collection, whatever the noise. How
far depends on the true frequencies. This is why the mechanism is not pure (Erlingsson et al., CCS 2014, give the
mechanism; section III-B of the paper says that Calibrate does not apply to it).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localdp.experiments.measures.normality import gaussian_test
from localdp.experiments.tasks import Measurements, Task
from localdp.plan import Plan
from localdp.types import Vector

NAME, PURE, FLAT = "RAPPOR with Bloom filters", "basic RAPPOR", "RAPPOR with Bloom filters, equal frequencies"
BITS, HASHES, COHORTS = 128, 2, 32


@dataclass(frozen=True)
class BloomRappor:
    """Bloom filters of 128 bits, 2 hash functions and 32 cohorts; `hashing` is the seed of the hash functions."""

    d: int
    epsilon: float
    hashing: int = 0

    @property
    def flip(self) -> float:
        """The probability that a bit is flipped. Two items differ in at most 2h bits, so epsilon = 2h log((1-f)/f)."""
        return 1 / (1 + math.exp(self.epsilon / (2 * HASHES)))

    def deviation(self, n: int) -> float:
        """The standard deviation that the flips alone give: what a collector would state."""
        each = self.flip * (1 - self.flip) / (1 - 2 * self.flip) ** 2
        return math.sqrt(n * each / HASHES) / (1 - HASHES / BITS)

    def bits(self) -> NDArray[np.int64]:
        """The bits of every item in every cohort: an array of cohorts x items x hash functions."""
        random = np.random.default_rng(self.hashing)
        first = random.integers(0, BITS, (COHORTS, self.d, 1))
        steps = random.integers(1, BITS, (COHORTS, self.d, 1))  # the two bits of an item are never the same
        return np.concatenate([first, (first + steps) % BITS], axis=2)

    def simulate(self, frequencies: NDArray[np.int64], seed: int) -> Vector:
        """The estimates of one collection from users with these frequencies."""
        random = np.random.default_rng([seed, 2014])
        bits = self.bits()
        members = random.multinomial(frequencies, np.full(COHORTS, 1 / COHORTS)).T  # users by cohort and item
        total = np.zeros(self.d)
        for own, held in zip(bits, members, strict=True):
            users = int(held.sum())
            lit = np.bincount(own.ravel(), np.repeat(held, HASHES), BITS).astype(np.int64)
            counts = random.binomial(lit, 1 - self.flip) + random.binomial(users - lit, self.flip)
            debiased = (counts - users * self.flip) / (1 - 2 * self.flip)
            total += debiased[own].mean(axis=1)
        expected = HASHES / BITS
        estimates: Vector = (total - frequencies.sum() * expected) / (1 - expected)
        return estimates


def noises(task: Task) -> dict[str, tuple[Vector, Vector, float]]:
    """The noise of every item in two collections, and the deviation that is stated, for each mechanism.

    The two collections have the same users and the same hash functions; only the flips and the cohorts differ.
    """
    data = task.data
    filters = BloomRappor(data.d, task.epsilon)
    plan = Plan(data.d, "sue", task.epsilon)  # basic RAPPOR: one bit for each item
    flat = np.full(data.d, max(data.n // data.d, 1), np.int64)
    seeds = (2 * task.seed, 2 * task.seed + 1)
    pure = [plan.simulate(data.frequencies, seed=seed).estimate() for seed in seeds]
    shared = [filters.simulate(data.frequencies, seed) - data.frequencies for seed in seeds]
    equal = [filters.simulate(flat, seed) - flat for seed in seeds]
    return {
        PURE: (pure[0].frequencies - data.frequencies, pure[1].frequencies - data.frequencies, pure[0].std_error),
        NAME: (shared[0], shared[1], filters.deviation(data.n)),
        FLAT: (equal[0], equal[1], filters.deviation(int(flat.sum()))),
    }


def run(task: Task) -> Measurements:
    """Test the noise of each mechanism, and see whether an item has the same noise in two collections."""
    measured: Measurements = {}
    for name, (noise, again, deviation) in noises(task).items():
        test = gaussian_test(noise, deviation)
        spread = min(noise.std(), again.std())
        measured[None, name, "noise distance"] = test.distance
        measured[None, name, "noise p-value"] = test.p_value
        measured[None, name, "noise deviation / stated"] = float(noise.std()) / deviation
        varies = spread > 0  # the noise of very few users may be the same for all items
        measured[None, name, "noise skewness"] = (
            float(np.mean((noise - noise.mean()) ** 3) / spread**3) if varies else float("nan")
        )
        measured[None, name, "noise repeated"] = float(np.corrcoef(noise, again)[0, 1]) if varies else float("nan")
    return measured
