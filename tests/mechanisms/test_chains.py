"""Chains: a permanent response, and a fresh perturbation of it in each report."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

import localdp as ldp
from localdp.errors import EpsilonError, InvalidInputError, UnknownItemError, UnknownMechanismError, WireError
from localdp.mechanisms import CHAINS, MECHANISMS, create
from localdp.mechanisms.chains import UnaryChain
from localdp.randomness import thresholds
from localdp.randomness.keystream import Keystream, secure, seeded

BUDGETS = [(2.0, 1.0), (4.0, 1.0), (4.0, 2.0), (0.5, 0.1), (16.0, 8.0), (1e-3, 5e-4), (16.0, 1e-6)]
UNARY = [name for name, kind in CHAINS.items() if issubclass(kind, UnaryChain)]
FALSE_ALARMS = 1e-6


def _reference(name, d, epsilon, once):
    """p* and q* of the five protocols in floats: the second perturbation by its closed form in the literature."""
    e, big = math.exp(once), math.exp(epsilon)
    if name == "grr+grr":
        p1, t = big / (big + d - 1), (e - 1) / (e + d - 1)
        t1 = (big - 1) / (big + d - 1)
        p2, q1 = t / t1 + (1 - t / t1) / d, (1 - p1) / (d - 1)
        q2 = (1 - p2) / (d - 1)
        return p1 * p2 + (d - 1) * q1 * q2, p1 * q2 + q1 * p2 + (d - 2) * q1 * q2
    first, second = name.split("+")
    p1, q1 = {"oue": (1 / 2, 1 / (1 + big)), "sue": (math.sqrt(big) / (1 + math.sqrt(big)), 1 / (1 + math.sqrt(big)))}[
        first
    ]
    if second == "oue":  # p* (1 - q*) = e q* (1 - p*) is quadratic in q2
        a, b, c, s = p1 / 2, 1 - p1, q1 / 2, 1 - q1
        roots = np.roots(
            [(e - 1) * b * s, b * (1 - c) - a * s - e * s * (1 - a) + e * b * c, a * (1 - c) - e * c * (1 - a)]
        )
        p2, q2 = 1 / 2, min(root for root in roots.real if 0 < root <= 1 / 2)
    elif first == "oue":  # L-OSUE
        p2 = (1 - e * big) / (e - big - e * big + 1)
        q2 = 1 - p2
    else:  # RAPPOR: q* = 1/(1 + e^(once/2))
        q2 = (1 / (1 + math.sqrt(e)) - q1) / (1 - 2 * q1)
        p2 = 1 - q2
    return p1 * p2 + (1 - p1) * q2, q1 * p2 + (1 - q1) * q2


@pytest.mark.parametrize(("epsilon", "once"), BUDGETS[:5])
@pytest.mark.parametrize("size", [2, 7, 1000])
@pytest.mark.parametrize("name", CHAINS)
def test_p_and_q_are_those_of_the_literature(name, size, epsilon, once):
    mechanism = CHAINS[name](size, epsilon, once=once)
    assert (mechanism.p_star, mechanism.q_star) == pytest.approx(_reference(name, size, epsilon, once), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "once"), BUDGETS)
@pytest.mark.parametrize("size", [2, 7, 1000])
@pytest.mark.parametrize("name", CHAINS)
def test_both_epsilons_are_at_most_what_was_asked_and_close_to_it(name, size, epsilon, once):
    mechanism = CHAINS[name](size, epsilon, once=once)
    assert mechanism.ratio <= thresholds.exp_below(epsilon)
    assert mechanism.ratio_once <= thresholds.exp_below(once)
    assert 0.999999 * epsilon < mechanism.epsilon <= epsilon
    assert 0.999999 * once < mechanism.epsilon_once <= once


@pytest.mark.parametrize(("epsilon", "once"), BUDGETS)
@pytest.mark.parametrize("name", UNARY)
def test_one_step_less_noise_would_spend_more_than_once(name, epsilon, once):
    mechanism = CHAINS[name](7, epsilon, once=once)
    p, q = mechanism._pair_with(mechanism.again_noise - 1)
    assert p * (1 - q) / (q * (1 - p)) > thresholds.exp_below(once)


@pytest.mark.parametrize("name", CHAINS)
def test_exact_probabilities_are_sums_over_all_permanent_responses(name):
    """The five-line definition: bit by bit, or symbol by symbol, with the thresholds that the plan carries."""
    size, whole = 5, Fraction(1, 2**64)
    mechanism = CHAINS[name](size, 2.0, once=0.7)
    given = {key: int(value) * whole for key, value in mechanism.parameters().items()}
    if name == "grr+grr":
        tell = [
            [given[key] * (i == j) + (1 - given[key]) / size for j in range(size)]
            for i in range(size)
            for key in ["truth"]
        ]
        again = [
            [given["again_truth"] * (i == j) + (1 - given["again_truth"]) / size for j in range(size)]
            for i in range(size)
        ]
        law = [[sum(tell[i][k] * again[k][j] for k in range(size)) for j in range(size)] for i in range(size)]
        assert (mechanism.p, mechanism.q) == (law[0][0], law[0][1])
        return
    second = (given["again_noise"], given["again_keep"])
    p, q = (sum((lit if bit else 1 - lit) * second[bit] for bit in (0, 1)) for lit in (given["keep"], given["noise"]))
    assert (mechanism.p, mechanism.q) == (p, q)


@pytest.mark.parametrize(("epsilon", "once"), BUDGETS)
@pytest.mark.parametrize("size", [2, 3, 5, 12, 40, 200, 5000])
def test_auto_takes_the_least_variance(size, epsilon, once):
    choice = create("auto", size, epsilon, once=once)
    every = [kind(size, epsilon, once=once) for kind in CHAINS.values()]
    assert choice.mechanism.variance(1) == min(mechanism.variance(1) for mechanism in every)
    assert choice.why.startswith(f"{choice.mechanism.name}: the least noisy mechanism for {size:,} items at epsilon ")
    assert f" and {once:g} for one report" in choice.why


@pytest.mark.parametrize(("epsilon", "once"), BUDGETS[:5])
@pytest.mark.parametrize(("name", "alone"), [("oue+sue", "oue"), ("sue+sue", "sue"), ("grr+grr", "grr")])
def test_a_permanent_response_costs_no_accuracy(name, alone, epsilon, once):
    """A report of these chains is as accurate as one of the mechanism alone that spends `once`."""
    chain, plain = CHAINS[name](50, epsilon, once=once), MECHANISMS[alone](50, once)
    assert chain.variance(1) == pytest.approx(plain.variance(1), rel=1e-12)


@pytest.mark.parametrize("name", CHAINS)
def test_reports_of_one_device_share_their_permanent_response(name):
    """Both of two reports support an item with p1 p2^2 + (1 - p1) q2^2; fresh responses would give (p*)^2."""
    users, mechanism = 100_000, CHAINS[name](3, 4.0, once=2.0)
    kept = mechanism.permanent(np.zeros(users, np.int64), seeded(1))
    one, two = (mechanism.supports(mechanism.again(kept, seeded(seed)), 0) for seed in (2, 3))
    first = mechanism.first.channel()
    shares = []
    for response, chance in zip(first.reports, first.probabilities[0], strict=True):
        held = bool(mechanism.supports(response[None], 0)[0])
        if name == "grr+grr":
            sent = mechanism.second.kept if held else mechanism.second.other
        else:
            sent = Fraction(mechanism.again_keep if held else mechanism.again_noise, 2**64)
        shares.append(chance * sent**2)
    expected = float(sum(shares))
    deviation = math.sqrt(expected * (1 - expected) / users)
    limit = norm.isf(FALSE_ALARMS / (2 * len(CHAINS)))
    assert abs((one & two).mean() - expected) < limit * deviation
    assert abs(mechanism.p_star**2 - expected) > 2 * limit * deviation  # the test would see fresh responses


@pytest.mark.parametrize("name", CHAINS)
def test_permanent_responses_follow_from_the_key_and_reports_do_not(name):
    mechanism, values = CHAINS[name](300, 4.0, once=2.0), np.arange(200)
    one, two = (mechanism.permanent(values, Keystream(bytes(16))) for _ in range(2))
    other = mechanism.permanent(values, Keystream(bytes(15) + b"\1"))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    assert not np.array_equal(mechanism.again(one, secure()), mechanism.again(one, secure()))
    assert np.array_equal(mechanism.again(one, seeded(1)), mechanism.again(one, seeded(1)))
    mechanism.validate(one)


@pytest.mark.parametrize("name", MECHANISMS)
def test_other_mechanisms_send_what_they_keep(name):
    mechanism, values = MECHANISMS[name](20, 0.5), np.arange(20)
    kept = mechanism.permanent(values, seeded(5))
    assert np.array_equal(kept, mechanism.privatize(values, seeded(5)))
    sent = mechanism.again(kept, secure())
    assert np.array_equal(sent, kept)
    assert not np.shares_memory(sent, kept)
    assert (mechanism.epsilon_once, mechanism.ratio_once) == (mechanism.epsilon, mechanism.ratio)


def test_what_is_no_value_or_no_permanent_response_is_refused():
    mechanism = CHAINS["grr+grr"](5, 2.0, once=1.0)
    with pytest.raises(UnknownItemError, match=r"1 value not among 0\.\.4: 5"):
        mechanism.permanent(np.array([5]), secure())
    with pytest.raises(WireError, match=r"an item index above 4.* \[symbol-out-of-range\]"):
        mechanism.again(np.array([[5]], np.uint8), secure())
    with pytest.raises(WireError, match=r"rows of 1 bytes, not uint8 \(1, 2\) \[wrong-length\]"):
        mechanism.again(np.zeros((1, 2), np.uint8), secure())
    with pytest.raises(WireError, match=r"rows of 1 bytes, not int64 \(3,\) \[wrong-length\]"):
        mechanism.again(np.zeros(3, np.int64), secure())
    with pytest.raises(InvalidInputError, match="a mechanism of 8 bits cannot draw words of 64 bits"):
        mechanism.at_width(8).again(np.zeros((1, 1), np.uint8), secure())


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("oue", {"once": 2.0}, EpsilonError, r"once = 2 must be below epsilon = 2: .* Leave out once if"),
        ("auto", {"once": 3.0}, EpsilonError, "once = 3 must be below epsilon = 2"),
        ("oue", {"once": 0}, EpsilonError, "once, the budget of one report, cannot be used: epsilon must be above 0"),
        ("oue", {"once": "1"}, EpsilonError, "once, the budget of one report, cannot be used: .* not '1'"),
        (
            "oue+oue",
            {"once": 1.9},
            EpsilonError,
            r"cannot spend as much as once = 1.9: .* only 1.66; give a smaller once",
        ),
        (
            "auto",
            {"once": 1e-30},
            EpsilonError,
            "no mechanism can be made at epsilon 2: epsilon 1e-30 is too small for",
        ),
        ("oue+sue", {}, EpsilonError, "oue.sue perturbs a permanent response once more for each report: give once"),
        (
            "llh",
            {"once": 1.0},
            InvalidInputError,
            "llh has no second perturbation, which once needs: take auto or one of",
        ),
        ("oue+su", {"once": 1.0}, UnknownMechanismError, r"no mechanism 'oue\+su'; did you mean 'oue\+sue'\?"),
        ("oue", {"answers": 3}, InvalidInputError, "only dbit takes a number of answers, and 'oue' does not"),
    ],
)
def test_budgets_and_names_that_do_not_fit_are_refused(name, options, error, message):
    with pytest.raises(error, match=message):
        create(name, 100, 2.0, **options)


def test_the_names_of_single_mechanisms_stand_for_using_them_twice():
    for name in ("grr", "sue", "oue"):
        assert create(name, 10, 2.0, once=1.0).mechanism == CHAINS[f"{name}+{name}"](10, 2.0, once=1.0)


def test_chains_are_equal_by_both_budgets():
    one, same, other = (CHAINS["oue+sue"](10, 2.0, once=once) for once in (1.0, 1, 0.5))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one.at_width(8).requested_once == 1.0
    assert repr(other) == "<oue+sue on 10 items, epsilon 2 and 0.5 for one report, 10-bit reports>"


@pytest.mark.parametrize("name", CHAINS)
def test_the_whole_pipeline_works(name):
    truth = np.array([4000, 2000, 1000, 500, 300, 200, 0, 0])
    plan = ldp.Plan(8, name, 4.0, once=2.0)
    again = ldp.Plan.from_json(plan.to_json())
    assert (again, again.mechanism, again.fingerprint) == (plan, plan.mechanism, plan.fingerprint)
    reports = again.read(plan.privatize(np.repeat(np.arange(8), truth), seed=3).to_bytes())
    estimate = plan.aggregate(reports).estimate()
    limit = norm.isf(FALSE_ALARMS / (2 * 2 * 8 * len(CHAINS)))
    spread = np.sqrt(plan.mechanism.variance(8000) + truth * max(0, plan.mechanism.excess_variance))
    for found in (estimate, plan.simulate(truth, seed=5).estimate()):
        assert (np.abs(found.frequencies - truth) < limit * spread).all()
    assert ldp.metrics.estimation_error(estimate.calibrate().frequencies, truth) < 4 * plan.mechanism.variance(8000)


@pytest.mark.parametrize("name", CHAINS)
def test_simulated_counts_have_the_law_of_real_ones(name):
    truth, runs = np.array([30, 10, 0]), 3000
    plan = ldp.Plan(3, name, 3.0, once=1.5)
    users = np.tile(np.repeat(np.arange(3), truth), runs)
    rows = plan.mechanism.privatize(users, seeded(8)).reshape(runs, 40, -1)
    real = np.array([plan.mechanism.count(run) for run in rows])
    simulated = np.array([plan.mechanism.simulate(truth, seed) for seed in range(runs)])
    limit = norm.isf(FALSE_ALARMS / (2 * 12 * len(CHAINS)))
    scale = real.std(axis=0) * math.sqrt(2 / runs)
    assert (np.abs(real.mean(axis=0) - simulated.mean(axis=0)) < limit * scale).all()
    for i, j in product(range(3), repeat=2):  # variances and covariances
        one, other = (np.cov(counts.T)[i, j] for counts in (real, simulated))
        spread = math.sqrt(2 * (real.var(axis=0)[i] * real.var(axis=0)[j] + one**2) / runs)
        assert abs(one - other) < limit * spread


def test_a_plan_with_once_carries_it_and_one_without_is_as_before():
    plan = ldp.Plan(4, "oue+sue", 2.0, once=0.5)
    assert '"mechanism":"oue+sue","once":0.5,"parameters":{"again_keep":' in plan.to_json()
    assert "once" not in ldp.Plan(4, "oue", 2.0).to_json()
    altered = plan.to_json().replace('"once":0.5', '"once":0.25')
    with pytest.raises(ldp.errors.PlanError, match="this plan was altered"):
        ldp.Plan.from_json(altered)
    with pytest.raises(ldp.errors.PlanError, match=r"cannot be used: oue\+sue perturbs a permanent response once more"):
        ldp.Plan.from_json(plan.to_json().replace('"once":0.5,', ""))
    with pytest.raises(ldp.errors.PlanLimitError, match="asks for epsilon 2, and this device gives at most 1"):
        ldp.Plan.from_json(plan.to_json(), most_epsilon=1.0)
    with pytest.raises(InvalidInputError, match="brings its own epsilon"):
        ldp.Plan(4, CHAINS["oue+sue"](4, 2.0, once=0.5), once=0.5)
    assert ldp.Plan(4, CHAINS["oue+sue"](4, 2.0, once=0.5)) == plan
