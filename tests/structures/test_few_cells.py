"""A few cells: the library's sums against a fine grid, and invariances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from brute_force import Grid, quantile

from localdp.priors import Noise
from localdp.structures import Crossed, Like, Ordered, few_cells
from localdp.structures.calibration import structured
from localdp.structures.deviations import TAUS
from localdp.structures.field import Field
from localdp.structures.laplace import ground_covariance
from localdp.structures.likelihood import CellLikelihood, ChannelLikelihood
from localdp.structures.posterior import StructuredPosterior

USERS = 10_000.0


def observed(d, relative, seed):
    """Estimates of a random table whose noise has this share of the mean frequency as its deviation."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(d, 2.0)) * USERS
    y = truth + rng.normal(0, relative * USERS / d, d)
    return CellLikelihood(y - (y.sum() - USERS) / d, Noise((relative * USERS / d) ** 2))


def summed_over_grids(structure, likelihood, found, points, reach):
    """The same average of fits, each by a grid: tables, their weights, and the log-evidences."""
    tables, weights, logs = [], [], []
    (ground, *more) = structure.grounds(likelihood.cells)
    assert not more
    start = np.full(likelihood.cells, np.log(USERS / likelihood.cells))
    for part, weight in zip(found.fits, found.weights, strict=True):
        strengths = part.strengths
        covariance = ground_covariance(Field(ground), strengths) + (TAUS[TAUS.index(part.tau)] ** 2 + 1e-8) * np.eye(
            likelihood.cells
        )
        grid = Grid(likelihood.joint, USERS, start, covariance, points, reach)
        tables.append(grid.tables)
        weights.append(weight * grid.weights)
        logs.append((part.evidence, grid.log_evidence))
    return np.concatenate(tables), np.concatenate(weights), np.array(logs)


class Smooth(Ordered):
    """One ground only, so that the grid is the same."""

    def grounds(self, cells):
        return super().grounds(cells)[:1]


def heaviest(found, count):
    """The average of those fits that have the largest weights: a grid for every fit would take long."""
    kept = np.argsort(-found.weights)[:count]
    weights = found.weights[kept] / found.weights[kept].sum()
    return replace(found, fits=tuple(found.fits[place] for place in kept), weights=weights)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "relative", "points", "reach", "fits"),
    [(3, 0.2, 401, 12.0, 3), (3, 0.8, 401, 12.0, 3), (4, 0.1, 91, 8.0, 3), (4, 0.2, 91, 8.0, 3), (4, 0.8, 91, 8.0, 3)],
)
def test_means_and_interval_ends_are_those_of_a_fine_grid(d, relative, points, reach, fits, monkeypatch):
    """Ends agree to 3%: where a distribution has a long tail, its few points decide.

    Three fits stand for about thirty, so they get the points of ten.
    """
    monkeypatch.setattr(few_cells, "SUMMED", 1 << 16)
    likelihood = observed(d, relative, seed=d)
    found = heaviest(structured(Smooth(), likelihood, USERS), fits)
    tables, weights, logs = summed_over_grids(Smooth(), likelihood, found, points, reach)
    np.testing.assert_allclose(logs[:, 0], logs[:, 1], atol=0.01)
    posterior = StructuredPosterior(found.fits, found.weights, USERS, USERS)
    mean = weights @ tables
    deviation = np.sqrt(weights @ (tables - mean) ** 2)
    assert (np.abs(posterior.means() - mean) < 0.01 * deviation).all()
    assert (np.abs(posterior.deviations() - deviation) < 0.01 * deviation).all()
    for level in (0.05, 0.95):
        ends = np.array([quantile(tables[:, cell], weights, level) for cell in range(d)])
        ours = posterior._marginals(slice(None)).quantiles(np.full(d, level))
        assert (np.abs(ours - ends) < 0.035 * deviation).all(), (level, (ours - ends) / deviation)


def summary(parts, weights):
    """Means, deviations and both ends of 90%, a row each."""
    posterior = StructuredPosterior(parts, weights, USERS, USERS)
    ends = [posterior._few.quantiles(np.full(posterior.means().size, level)) for level in (0.05, 0.95)]
    return np.stack([posterior.means(), posterior.deviations(), *ends])


@pytest.mark.slow
@pytest.mark.parametrize(("d", "relative"), [(3, 0.2), (4, 0.4), (5, 0.4), (6, 0.1), (6, 0.7), (8, 0.3)])
def test_the_average_over_all_fits_is_within_a_percent_of_a_long_sum(d, relative):
    """Means and ends of 90% agree within 1% of the deviation, 2% for 8 cells.

    The reference has other points, and four times as many; two of them that have nothing in common must agree first.
    """
    found = structured(Ordered(), observed(d, relative, seed=d), USERS)
    ours = summary(found.fits, found.weights)
    long = []
    for first in (100, 200):
        parts = []
        for number, part in enumerate(found.fits):
            parts.append(few_cells.SummedPart(*part._given[:-1], first + number, pairs=4 * few_cells.SUMMED))
        long.append(summary(parts, found.weights))
    deviation = (long[0] + long[1])[1] / 2
    close = 0.01 if d <= 6 else 0.02
    assert (np.abs(long[0] - long[1]) < close * deviation).all()
    away = np.abs(ours - (long[0] + long[1]) / 2) / deviation
    assert (away < close).all(), away.round(4)


def test_reversed_cells_give_the_reversed_answer():
    likelihood = observed(5, 0.5, seed=1)
    mirrored = CellLikelihood(likelihood.estimates[::-1].copy(), likelihood.noise)
    one, other = (means(Ordered(), seen) for seen in (likelihood, mirrored))
    np.testing.assert_allclose(one, other[::-1], rtol=0.01)


def test_a_channel_of_a_pure_mechanism_says_what_estimates_say():
    """grr has a channel, and estimates with nearly independent noise: both ways lead to about the same place."""
    d, n, keep = 4, 20_000, 0.6
    channel = np.full((d, d), (1 - keep) / (d - 1)) + np.eye(d) * (keep - (1 - keep) / (d - 1))
    rng = np.random.default_rng(5)
    truth = n * np.array([0.4, 0.3, 0.2, 0.1])
    counts = rng.multinomial(n, channel @ truth / n).astype(float)
    q = (1 - keep) / (d - 1)
    y, v = (counts - n * q) / (keep - q), n * q * (1 - q) / (keep - q) ** 2
    excess = (1 - keep - q) / (keep - q)
    through = means(Ordered(), ChannelLikelihood(counts, channel), n)
    direct = means(Ordered(), CellLikelihood(y, Noise(v, excess)), n)
    np.testing.assert_allclose(through, direct, atol=0.35 * np.sqrt(v))
    assert np.abs(through - truth).max() < 4 * np.sqrt(v + excess * truth.max())


def test_a_table_and_its_transpose_give_the_same():
    likelihood = observed(6, 0.4, seed=9)
    turned = CellLikelihood(likelihood.estimates.reshape(2, 3).T.ravel().copy(), likelihood.noise)
    one, other = means(Crossed((2, 3)), likelihood), means(Crossed((3, 2)), turned)
    np.testing.assert_allclose(one.reshape(2, 3).T.ravel(), other, rtol=0.01)


def test_an_earlier_release_is_followed_where_the_data_say_little():
    earlier = np.array([500.0, 1500.0, 3000.0, 5000.0])
    vague = CellLikelihood(np.full(4, 2500.0), Noise(4000.0**2))
    found = means(Like(earlier), vague)
    assert (np.diff(found) > 0).all()


def means(structure, likelihood, total=USERS):
    found = structured(structure, likelihood, float(total))
    return StructuredPosterior(found.fits, found.weights, float(total), float(total)).means()
