"""Square Wave: the band, exact epsilon, the cell apart, what is counted, and what is refused."""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from scipy.stats import chi2

import localdp as ldp
from localdp.checks.audit import audit
from localdp.errors import ImpureMechanismError, InvalidInputError
from localdp.mechanisms import SquareWave, create
from localdp.mechanisms.ordered_choice import distribution_error
from localdp.mechanisms.wave import MOST_CELLS
from localdp.randomness.keystream import seeded


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 4.0, 16.0])
@pytest.mark.parametrize(("size", "ordered"), [(2, 2), (5, 5), (40, 40), (40, 39), (40, 35), (3, 1)])
def test_the_largest_ratio_is_that_of_the_channel_and_below_e_to_the_epsilon(size, ordered, epsilon):
    mechanism = SquareWave(size, epsilon, ordered=ordered)
    channel = mechanism.channel()
    assert channel.ratio == mechanism.ratio
    assert mechanism.epsilon <= epsilon
    assert mechanism.epsilon > epsilon * (1 - 1e-9) - 1e-15
    assert all(sum(row) == 1 for row in channel.probabilities)
    np.testing.assert_allclose(mechanism._outcome_law, np.asarray(channel), rtol=1e-12)


@pytest.mark.parametrize(("size", "ordered"), [(30, 30), (30, 29), (30, 27)])
def test_every_value_has_a_band_of_the_same_number_of_outputs(size, ordered):
    mechanism = SquareWave(size, 1.0, ordered=ordered)
    law = mechanism._outcome_law
    heavy = law > law.min() * 1.5
    assert (heavy.sum(axis=1) == 2 * mechanism.band + 1).all()
    first = heavy.argmax(axis=1)
    assert first[:ordered].tolist() == list(range(ordered))
    alone = heavy[ordered:].any(axis=0)
    assert not (alone & heavy[:ordered].any(axis=0)).any()
    assert heavy.any(axis=0).all()


def test_a_single_output_for_the_cell_apart_would_leak():
    """Why it has a band: with one heavy output out of m, its light ones weigh more than those of all other values."""
    e, heavy = exp(1), SquareWave(100, 1.0).heavy
    outputs = 100 + heavy - 1 + 1
    light, of_apart = 1 / (heavy * e + outputs - heavy), 1 / (e + outputs - 1)
    assert log(e * of_apart / light) > 1.3


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 2.0, 4.0])
def test_the_width_is_the_published_one(epsilon):
    e = exp(epsilon)
    published = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
    assert SquareWave(1000, epsilon).band == int(1000 * published + 0.5)


def test_without_a_band_it_is_randomized_response():
    wave, grr = SquareWave(5, 4.0), create("grr", 5, 4.0).mechanism
    assert wave.band == 0
    assert float(wave.chance(2, 2)) == pytest.approx(grr.p_star, abs=1e-15)
    assert wave.report_bits == grr.report_bits


def test_simulated_counts_follow_the_law():
    """A chi-square test at 1e-6, of 200 simulations added up."""
    mechanism, held = SquareWave(12, 1.0, ordered=11), np.array([50, 0, 3, 9, 90, 4, 4, 60, 0, 0, 1, 80])
    drawn = sum(mechanism.simulate(held, seed) for seed in range(200))
    expected = 200 * held @ mechanism._outcome_law
    assert ((drawn - expected) ** 2 / expected).sum() < chi2.isf(1e-6, mechanism.outcomes - 1)
    assert mechanism.simulate(held, 1).sum() == held.sum()


def test_reports_are_counted_as_outputs():
    mechanism = SquareWave(50, 1.0)
    rows = mechanism.privatize(np.arange(50).repeat(20), seeded(3))
    slow = [np.count_nonzero(mechanism.supports(rows, outcome)) for outcome in range(mechanism.outcomes)]
    assert mechanism.tally(rows).tolist() == slow
    assert sum(slow) == 1000


def test_the_audit_finds_no_leak_and_no_waste():
    """With a million trials; with a tenth of them the bound of an honest wave falls below the floor every few runs."""
    found = audit(SquareWave(16, 1.0), 1_000_000)
    assert not found.leaks
    assert not found.wastes


def test_it_has_no_p_and_q():
    mechanism = SquareWave(10, 1.0)
    assert not mechanism.pure
    for attribute in ("p_star", "q_star"):
        with pytest.raises(ImpureMechanismError):
            getattr(mechanism, attribute)
    assert mechanism.outcome_chances == (float(mechanism.chance(0, 0)), float(mechanism.chance(9, 0)))


def test_wave_is_for_scales():
    for domain in (100, ["tea", "coffee"], ldp.Choice(5)):
        with pytest.raises(InvalidInputError, match="ask for a Scale"):
            ldp.Plan(domain, "wave", 1.0)
    with pytest.raises(InvalidInputError, match="it is for a Scale"):
        ldp.Plan(["tea", "coffee"], SquareWave(2, 1.0))
    with pytest.raises(InvalidInputError, match="it is for a Scale"):
        ldp.Plan(ldp.Scale(0, 19), SquareWave(20, 1.0, ordered=19))
    assert ldp.Plan(20, SquareWave(20, 1.0)) == ldp.Plan(ldp.Scale(0, 19), SquareWave(20, 1.0))
    assert ldp.Plan(ldp.Scale(0, 19), SquareWave(20, 1.0)) == ldp.Plan(ldp.Scale(0, 19), "wave", 1.0)
    with pytest.raises(InvalidInputError, match="take a larger step"):
        ldp.Plan(ldp.Scale(1, MOST_CELLS + 1), "wave", 1.0)


def test_asking_again_with_a_budget_for_each_report_takes_a_chain():
    plan = ldp.Plan(ldp.Scale(1, 20), epsilon=2.0, once=1.0)
    assert plan.mechanism.perturbs_again
    assert plan.simulate([100] * 20, seed=1).estimate().calibrate().mean().value == pytest.approx(10.5, abs=4)
    with pytest.raises(InvalidInputError, match="wave has no second perturbation"):
        ldp.Plan(ldp.Scale(1, 20), "wave", epsilon=2.0, once=1.0)


def test_auto_takes_wave_for_many_cells_and_a_pure_mechanism_for_few():
    assert ldp.Plan(ldp.Scale(1, 5), epsilon=1.0).mechanism.name == "grr"
    many = ldp.Plan(ldp.Scale(0, 120), epsilon=1.0)
    assert many.mechanism.name == "wave"
    assert "has 3." in many.why
    assert ldp.Plan(ldp.Scale(0, 5000), epsilon=1.0).mechanism.name == "llh"
    assert ldp.Plan(101, epsilon=1.0).mechanism.name != "wave"


@pytest.mark.parametrize("name", ["oue", "wave"])
def test_the_expected_error_of_the_distribution_function_is_about_what_happens(name):
    """Within a factor of 2 either way, on a hill that the prior would not find strange."""
    plan = ldp.Plan(ldp.Scale(1, 48), name, 1.0)
    held = np.round(100_000 * np.exp(-0.5 * ((np.arange(48) - 20) / 12) ** 2) / 26).astype(int)
    errors = []
    for seed in range(4):
        shares = plan.simulate(held, seed=seed).estimate().calibrate().shares
        errors.append(np.mean(np.square(np.cumsum(shares) - np.cumsum(held) / held.sum())))
    found, expected = np.sqrt(np.mean(errors)), distribution_error(plan.mechanism, 48)
    assert 0.5 < found / expected < 2


def test_thresholds_are_exact():
    mechanism = SquareWave(100, 1.0)
    heavy = Fraction(mechanism.truth, 2**64 * mechanism.heavy)
    assert mechanism.chance(5, 5) - mechanism.chance(99, 5) == heavy
    assert mechanism.parameters() == {"band": mechanism.band, "truth": str(mechanism.truth)}
