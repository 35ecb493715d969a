"""P-values by simulation have their level, whatever the statistic, and end early where nothing is to be found."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.kernels.simulated_null import ENOUGH, MOST, simulated_p_value


@pytest.mark.parametrize("coarse", [False, True])
def test_p_values_have_their_level(coarse: bool) -> None:
    """Of 3,000 null runs, more than five standard errors too many are at most u with a probability of 1e-6 or less.

    Without ties they are also not fewer.
    """

    def draw(times: int, rng: np.random.Generator) -> np.ndarray:
        found = rng.standard_normal(times)
        return np.round(found) if coarse else found

    rng = np.random.default_rng(3)
    observed = draw(3_000, rng)
    found = np.array([simulated_p_value(float(one), draw, seed=seed) for seed, one in enumerate(observed)])
    for level in (0.01, 0.05, 0.2, 0.5):
        error = 5 * np.sqrt(level * (1 - level) / found.size)
        assert (found <= level).mean() <= level + error
        assert coarse or (found <= level).mean() >= level - error


def test_large_p_values_take_few_simulations_and_small_ones_many() -> None:
    drawn = []

    def draw(times: int, rng: np.random.Generator) -> np.ndarray:
        drawn.append(times)
        return rng.random(times)

    assert simulated_p_value(0.5, draw) == pytest.approx(0.5, abs=0.25)
    assert sum(drawn) < 10 * ENOUGH
    drawn.clear()
    assert simulated_p_value(2.0, draw) == 1 / (MOST + 1)
    assert sum(drawn) == MOST


def test_the_p_value_is_that_of_all_simulations_up_to_the_last_one_counted() -> None:
    """The short way, over the same draws: count until h are as large."""
    found = simulated_p_value(0.9, lambda times, rng: rng.random(times), seed=7)
    rng, larger, count = np.random.default_rng(7), 0, 0
    while larger < ENOUGH:
        larger, count = larger + (rng.random() >= 0.9), count + 1
    assert found == ENOUGH / count
