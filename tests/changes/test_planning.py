"""How many people a change takes: what is said beforehand is what simulated surveys show."""

import numpy as np
import pytest

import localdp as ldp
from localdp.changes.planning import people_for_change, periods_for_change, smallest_change
from localdp.changes.sides import Side


@pytest.mark.parametrize(("mechanism", "epsilon"), [("oue", 2.0), ("grr", 3.0)])
def test_so_many_people_see_the_change_nine_times_out_of_ten(mechanism: str, epsilon: float) -> None:
    """2,000 pairs of surveys: 0.9 +- 0.035 is five standard errors."""
    rng, plan = np.random.default_rng(1), ldp.Plan(10, mechanism=mechanism, epsilon=epsilon)
    shares = np.append(0.1, np.full(9, 0.1))
    after = np.append(0.12, np.full(9, 0.88 / 9))
    n = people_for_change(plan.mechanism)
    side = Side.of(plan.simulate(rng.multinomial(n, shares), seed=1))
    away = side.redraw(after, 2_000, rng)[:, 0] - side.redraw(shares, 2_000, rng)[:, 0]
    error = np.sqrt(side.variances(shares)[0] + side.variances(after)[0])
    assert (away > 1.96 * error).mean() == pytest.approx(0.9, abs=0.06)  # estimates that add up are a little better
    assert smallest_change(plan.mechanism, n) == pytest.approx(0.02, rel=0.04)


def test_advice_says_it() -> None:
    advice = ldp.advise(100, 50_000, epsilon=1.0)
    assert any("from 10% to 12%" in sentence for sentence in advice.why)
    assert any("it needs about 3 periods after such a step" in one for one in ldp.advise(100, 40_000, epsilon=1.0).why)


def test_so_many_periods_after_a_step_show_it_in_a_long_history() -> None:
    """2,000 histories with 40 periods before the step: 0.9 +- 0.035 is five standard errors."""
    rng, plan, n = np.random.default_rng(2), ldp.Plan(10, mechanism="oue", epsilon=2.0), 5_000
    shares, after = np.full(10, 0.1), np.append(0.12, np.full(9, 0.88 / 9))
    periods = periods_for_change(plan.mechanism, n)
    side = Side.of(plan.simulate(rng.multinomial(periods * n, shares), seed=1))
    level = Side.of(plan.simulate(rng.multinomial(40 * n, shares), seed=1))
    away = side.redraw(after, 2_000, rng)[:, 0] - level.redraw(shares, 2_000, rng)[:, 0]
    error = np.sqrt(side.variances(after)[0] + level.variances(shares)[0])
    assert (away > 1.96 * error).mean() == pytest.approx(0.9, abs=0.06)
