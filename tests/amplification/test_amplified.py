"""`ldp.amplified`: its numbers beside published ones, what it says, and what it refuses."""

from __future__ import annotations

import importlib
import math
from fractions import Fraction

import pytest
from enumerated_shuffles import divergence, kinds_of
from paths import ROOT
from questions_outside import Gaps

import localdp as ldp
from localdp.amplification import certified, rounded_up
from localdp.amplification import divergence as bounds
from localdp.errors import EmptyError, InvalidInputError, LocalDPError
from localdp.mechanisms import MECHANISMS, HadamardResponse, Mechanism
from localdp.mechanisms.report_classes import from_ratio, variation

ANCHOR = {"n": 100_000, "delta": 1e-6}


@pytest.fixture
def published(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("published_amplification")


def test_published_bounds_are_those_of_their_authors(published):
    """Printed by the code of their authors: 0.168 to 0.173, 0.538, and 0.121, 0.082, 0.027 with a safety margin."""
    p = math.exp(4)
    assert 0.1675 < published.clones(4.0, **ANCHOR) < 0.1728
    assert published.closed_form(4.0, **ANCHOR) == pytest.approx(0.538, abs=0.005)
    assert 0.115 < published.stronger_clones(4.0, **ANCHOR) < 0.121
    assert 0.076 < published.variation_ratio(4.0, (p - 1) / (p + 63), **ANCHOR) < 0.082
    assert 0.023 < published.variation_ratio(4.0, (p - 1) / (p + 999), **ANCHOR) < 0.027


@pytest.mark.parametrize(("name", "most"), [("grr", 0.0244), ("llh", 0.079), ("olh", 0.083), ("oue", 0.082)])
def test_the_bound_is_as_good_as_the_best_published_one(published, name, most):
    plan = ldp.Plan(1_000, name, epsilon=4.0)
    found = ldp.amplified(plan, **ANCHOR)
    beta = float(variation(plan.mechanism.shuffled().upper[0]))
    assert 0.97 * found.upper < found.lower <= found.upper < most
    assert found.upper == pytest.approx(published.variation_ratio(4.0, beta, **ANCHOR), rel=1e-3)


def test_without_any_law_the_bound_is_that_of_the_stronger_clones(published):
    class Opaque(HadamardResponse):
        shuffled = Mechanism.shuffled

    mechanism = Opaque(100, 0.5)
    (classes,) = mechanism.shuffled().upper
    assert classes == from_ratio(mechanism.ratio)
    assert certified(mechanism, 10_000, 1e-6) == pytest.approx(published.stronger_clones(0.5, 10_000, 1e-6), rel=1e-3)


def test_a_mechanism_from_outside_is_bounded_by_its_channel():
    class Outside(HadamardResponse):
        shuffled = Mechanism.shuffled

    small = Outside(3, 0.5)
    assert certified(small, 1_000, 1e-5) == pytest.approx(certified(HadamardResponse(3, 0.5), 1_000, 1e-5), rel=2e-2)
    assert certified(small, 1_000, 1e-5) <= certified(HadamardResponse(3, 0.5), 1_000, 1e-5) * 1.001


def test_a_mechanism_that_is_not_pure_is_bounded_and_attacked():
    few, many = Gaps(8, 1.0), Gaps(40, 1.0)
    (classes,) = many.shuffled().upper
    assert classes == from_ratio(many.ratio)
    assert certified(few, 10_000, 1e-6) < certified(many, 10_000, 1e-6)
    for mechanism in (few, many):
        found = ldp.amplified(ldp.Plan(mechanism.size, mechanism), n=10_000, delta=1e-6)
        assert 0.25 * found.upper < found.lower <= found.upper < 0.1


def test_the_variation_ratio_formula_is_no_bound_for_few_people(published):
    """Four people hold the third of three items; the fifth holds the first or the second. All of it with fractions."""
    mechanism = MECHANISMS["sue"](3, 2.0, 16)
    rows = kinds_of(mechanism.channel().probabilities)
    p, beta, e = float(mechanism.ratio), float(mechanism.p - mechanism.q), math.exp(1.6)
    told = divergence(rows[0], rows[1], [rows[2]] * 4, Fraction(e))
    alpha = beta / (p - 1)
    assert published._delta(e, 5, 2 * alpha, alpha * p, alpha) < 0.25 * told
    assert told <= bounds.upper(mechanism.shuffled().upper[0], 5, Fraction(e), 1 << 12)


@pytest.mark.parametrize("n", [1, 2, 30])
def test_few_people_get_no_more_than_the_local_epsilon(n):
    plan = ldp.Plan(10, "grr", epsilon=2.0)
    found = ldp.amplified(plan, n=n, delta=1e-9)
    assert found.lower <= found.upper <= found.local == plan.mechanism.epsilon
    assert found.lower > (1.99 if n < 3 else 0.5)


def test_more_people_and_a_larger_delta_help():
    plan = ldp.Plan(100, "oue", epsilon=2.0)
    uppers = [ldp.amplified(plan, n=n, delta=1e-8).upper for n in (100, 10_000, 1_000_000)]
    assert sorted(uppers, reverse=True) == uppers
    assert ldp.amplified(plan, n=10_000, delta=1e-4).upper < uppers[1]
    assert ldp.amplified(plan, n=10_000, delta=0.9).upper == 0


def test_with_once_one_report_is_amplified():
    plan = ldp.Plan(100, epsilon=4.0, once=1.0)
    found = ldp.amplified(plan, n=10_000, delta=1e-6)
    assert found.local == plan.mechanism.epsilon_once <= 1.0
    assert found.upper < ldp.amplified(ldp.Plan(100, "oue", epsilon=1.0), n=10_000, delta=1e-6).upper * 1.001
    assert "never spend more than epsilon 4" in str(found)


def test_sets_are_protected_whole():
    for name in ("privset", "grr", "llh"):
        found = ldp.amplified(ldp.Plan(100, name, epsilon=2.0, set_size=3), n=10_000, delta=1e-6)
        assert 0 < found.lower <= found.upper < 0.3
        assert "whole set" in str(found)


def test_what_is_printed_is_no_better_than_what_is_true():
    assert [rounded_up(value) for value in (0.0, 0.12301, 4.0, 1.2345e-5)] == ["0", "0.124", "4", "1.24e-05"]
    found = ldp.amplified(ldp.Plan(50, "olh", epsilon=1.0), n=5_000, delta=1e-6)
    assert f"at most {rounded_up(found.upper)} at delta 1e-06" in str(found)
    assert "for every hash" in str(found)


@pytest.mark.parametrize(
    ("n", "delta", "error"),
    [
        (0, 1e-6, EmptyError),
        (1.5, 1e-6, InvalidInputError),
        (10, 0, InvalidInputError),
        (10, "1e-6", InvalidInputError),
    ],
)
def test_what_cannot_be_used_is_refused(n, delta, error):
    with pytest.raises(error) as raised:
        ldp.amplified(ldp.Plan(3, epsilon=1.0), n=n, delta=delta)
    assert isinstance(raised.value, LocalDPError)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MECHANISMS])
def test_a_hundred_million_people_can_be_computed(name):
    epsilon = 0.5 if name == "hr" else 4.0
    found = ldp.amplified(ldp.Plan(1_000, name, epsilon=epsilon), n=10**8, delta=1e-10)
    assert 0.4 * found.upper < found.lower <= found.upper < 0.01


@pytest.mark.parametrize("name", ["oue", "blh", "grr"])
def test_the_attack_works_if_there_are_only_two_items_and_scores_are_coarse(name):
    """Others must then hold x or x' themselves. The scores of a million people are rounded to few steps."""
    found = ldp.amplified(ldp.Plan(2, name, epsilon=1.2), n=2_500_000, delta=1e-10)
    assert 0.5 * found.upper < found.lower <= found.upper


def test_more_people_than_there_are_take_no_more_memory():
    found = ldp.amplified(ldp.Plan(4, "grr", epsilon=2.0), n=10**15, delta=1e-9)
    assert found.lower == 0 < found.upper < 0.001


def test_what_is_no_plan_is_refused():
    with pytest.raises(InvalidInputError, match=r"is about a plan, such as .* not 5"):
        ldp.amplified(5, n=10, delta=0.1)
