"""Integrals over single cells: against fine sums, and derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.priors import CountingNoise, Noise, NoiseByItem
from localdp.structures.cell_integrals import placed, tilted
from localdp.structures.deviations import Deviations
from localdp.structures.likelihood import CellLikelihood


def by_fine_sum(likelihood, law, m, s):
    """The log-mass, the mean of f and the moments of g of each cell, by two nested sums."""
    found = []
    for cell in range(likelihood.cells):
        low, high = m[cell] - 9 * np.sqrt(s[cell] + 1.5**2 + law.tau**2), m[cell] + 9 * np.sqrt(s[cell] + 1.5**2)
        eta = np.linspace(low, high, 40_001)
        logs = likelihood.log(np.exp(eta)[None], slice(cell, cell + 1))[0]
        total = mass_f = mass_g = mass_gg = 0.0
        for share, own in zip((1 - law.rho, law.rho), (law.tau**2, law.tau**2 + 1.5**2), strict=True):
            prior = np.exp(-0.5 * (eta - m[cell]) ** 2 / (s[cell] + own)) / np.sqrt(2 * np.pi * (s[cell] + own))
            weight = share * prior * np.exp(logs - logs.max()) * (eta[1] - eta[0])
            pull = s[cell] / (s[cell] + own)
            centre = m[cell] + pull * (eta - m[cell])
            total += weight.sum()
            mass_f += (weight * np.exp(eta)).sum()
            mass_g += (weight * centre).sum()
            mass_gg += (weight * (centre**2 + pull * own)).sum()
        mean = mass_g / total
        found.append((np.log(total) + logs.max(), mass_f / total, mean, mass_gg / total - mean**2))
    return np.array(found).T


NOISES = [
    Noise(400.0),
    Noise(400.0, 1.5),
    CountingNoise.of(users=2_000, p=0.5, q=0.01).usable(2_000),
    NoiseByItem(np.array([25.0, 400.0, 400.0, 2500.0, 100.0])),
]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("law", [Deviations(0.0, 0.02), Deviations(0.3, 0.1)])
def test_nodes_give_what_a_fine_sum_gives(noise, law):
    y = np.array([120.0, 60.0, -15.0, 300.0, 8.0])
    likelihood = CellLikelihood(y, noise)
    m, s = np.log(np.array([100.0, 100.0, 20.0, 100.0, 30.0])), np.array([0.02, 0.1, 0.3, 0.05, 0.2])
    own = law.variances(np.zeros(5))
    cells = tilted(placed(likelihood, slice(None), m, s[:, None] + own), law.log_shares, m, s, own)
    log_mass, f, ground, spread = by_fine_sum(likelihood, law, m, s)
    deviation = np.sqrt(cells.variance)
    np.testing.assert_allclose(cells.log_mass, log_mass, atol=0.01)
    assert (np.abs(cells.mean - f) < 0.02 * deviation).all()
    assert (np.abs(cells.ground_mean - ground) < 0.02 * np.sqrt(s)).all()
    np.testing.assert_allclose(cells.ground_variance, spread, rtol=0.03)


@pytest.mark.parametrize("noise", NOISES[:3])
def test_frequencies_may_differ_by_estimate(noise):
    y, f = np.array([120.0, 60.0, -15.0]), np.array([[10.0, 50.0], [100.0, 3.0], [0.0, 7.0]])
    together = noise.log_likelihood(y, f)
    for row in range(3):
        np.testing.assert_array_equal(together[row], noise.log_likelihood(y[row : row + 1], f[row])[0])


def test_the_moments_are_the_derivatives_of_the_log_mass():
    """d log Z/dm = (E g - m)/s, and d2 log Z/dm2 = (Var g - s)/s^2, by differences on the same nodes."""
    law, likelihood = Deviations(0.2, 0.05), CellLikelihood(np.array([120.0, -15.0, 300.0]), Noise(400.0))
    m, s = np.log(np.array([100.0, 20.0, 100.0])), np.array([0.1, 0.3, 0.05])
    own = law.variances(np.zeros(3))
    nodes = placed(likelihood, slice(None), m, s[:, None] + own, 40)
    step = 1e-4
    low, here, high = (tilted(nodes, law.log_shares, m + away, s, own) for away in (-step, 0.0, step))
    np.testing.assert_allclose(
        (high.log_mass - low.log_mass) / (2 * step), (here.ground_mean - m) / s, rtol=1e-5, atol=1e-7
    )
    second = (high.log_mass - 2 * here.log_mass + low.log_mass) / step**2
    np.testing.assert_allclose(second, (here.ground_variance - s) / s**2, rtol=1e-3)
