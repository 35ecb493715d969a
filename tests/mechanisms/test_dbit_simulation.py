"""Simulated counts of `dbit`, item by item, have the law of running every user."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.mechanisms.base import Mechanism
from localdp.mechanisms.dbit_flip import DBitFlip

FREQUENCIES = np.array([40, 30, 20, 5, 5, 0])
RUNS = 2_000


@pytest.mark.parametrize("answers", [1, 3, 6])
def test_means_variances_and_sums_are_those_of_users(answers):
    """Six deviations on each of 13 figures: a false alarm happens once in ten million times."""
    mechanism = DBitFlip(6, 1.5, answers=answers)
    found = np.array([mechanism.simulate(FREQUENCIES, seed) for seed in range(RUNS)])
    p, q, others = mechanism.p_star, mechanism.q_star, FREQUENCIES.sum() - FREQUENCIES
    variances = FREQUENCIES * p * (1 - p) + others * q * (1 - q)
    assert (np.abs(found.mean(axis=0) - FREQUENCIES * p - others * q) < 6 * np.sqrt(variances / RUNS)).all()
    assert (np.abs(found.var(axis=0) / variances - 1) < 6 * np.sqrt(2.5 / RUNS)).all()
    users = np.array([Mechanism.simulate(mechanism, FREQUENCIES, seed).sum() for seed in range(RUNS)])
    assert found.sum(axis=1).var() == pytest.approx(users.var(), rel=6 * np.sqrt(5 / RUNS))


def test_many_users_take_no_longer():
    """Three billion users are simulated in parts, since NumPy draws from a billion at most."""
    frequencies = np.array([2_000_000_000, 900_000_000, 100_000_000, 0])
    mechanism = DBitFlip(4, 1.0, answers=2)
    found = mechanism.estimate(mechanism.simulate(frequencies, 1), 3_000_000_000)
    assert (np.abs(found - frequencies) < 7 * np.sqrt(2 * mechanism.variance(3_000_000_000))).all()
