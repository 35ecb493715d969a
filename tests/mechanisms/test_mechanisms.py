"""Every mechanism: the textbook formulas, exactness at the edges, refusals. The shared checks are in test_checks."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest

from localdp.errors import (
    ChannelTooLargeError,
    DomainError,
    EpsilonError,
    ImpureMechanismError,
    InvalidInputError,
    UnknownMechanismError,
)
from localdp.kernels import chunks, linear_hash
from localdp.mechanisms import MECHANISMS, HadamardResponse, SymbolResponse, create
from localdp.plan import Plan
from localdp.randomness import keystream, thresholds

SMALL_EPSILON = 0.5  # every mechanism is offered here


def _textbook(name: str, d: int, epsilon: float) -> tuple[Decimal, Decimal]:
    """p* and q* as the papers give them, to 50 digits."""
    getcontext().prec = 50
    e, d = Decimal(epsilon).exp(), Decimal(d)
    half = (Decimal(epsilon) / 2).exp()
    if name == "grr":
        return e / (e + d - 1), 1 / (e + d - 1)
    if name in ("sue", "cms"):
        return half / (1 + half), 1 / (1 + half)
    if name == "oue":
        return Decimal(1) / 2, 1 / (1 + e)
    if name in ("hr", "hcms"):
        return e / (1 + e), Decimal(1) / 2
    if name in ("olh", "blh"):
        g = Decimal(2) if name == "blh" else max(Decimal(2), (e + 1).to_integral_value())
        return e / (e + g - 1), 1 / g
    if name == "ss":
        k = max(Decimal(1), (d / (e + 1)).to_integral_value())
        p = k * e / (k * e + d - k)
        return p, (p * (k - 1) + (1 - p) * k) / (d - 1)
    if name == "dbit":
        b = min(Decimal(8), -(-d // 2))
        return b / d * (Decimal(1) / 2 if b > 1 else e / (1 + e)), b / d / (1 + e)
    raise AssertionError(name)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.5, 0.69, 1.0, 2.0, 4.0, 12.0, 16.0])
@pytest.mark.parametrize("name", [name for name in MECHANISMS if name not in ("llh", "slh")])
def test_parameters_are_the_papers_to_twelve_digits(name, epsilon):
    d = 8
    try:
        mechanism = MECHANISMS[name](d, epsilon)
    except ImpureMechanismError:
        assert name == "hr"
        assert epsilon > math.log(2)
        return
    p, q = _textbook(name, d, epsilon)
    assert mechanism.p_star == pytest.approx(float(p), rel=1e-12)
    assert mechanism.q_star == pytest.approx(float(q), rel=1e-12)
    assert mechanism.gap == pytest.approx(float(p - q), rel=1e-12)
    assert mechanism.variance(1000) == pytest.approx(float(1000 * q * (1 - q) / (p - q) ** 2), rel=3e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.5, 1.0, 2.0, 2.5, 4.0])
@pytest.mark.parametrize("size", [2, 3, 1000, 41_270])
@pytest.mark.parametrize("name", ["llh", "slh"])
def test_linear_hashing_has_the_derived_parameters(name, size, epsilon):
    mechanism = MECHANISMS[name](size, epsilon)
    getcontext().prec = 50
    e, field, g = Decimal(epsilon).exp(), Decimal(1 << mechanism.degree), Decimal(mechanism.response.symbols)
    s = Decimal(mechanism.response.among)
    p = s * e / (s * e + g - s)
    colliding = (field / g - 1) / (field - 1)
    q = p * colliding + (1 - colliding) * (p * (s - 1) + (1 - p) * s) / (g - 1)
    assert mechanism.p_star == pytest.approx(float(p), rel=1e-12)
    assert mechanism.q_star == pytest.approx(float(q), rel=1e-12)
    assert mechanism.gap == pytest.approx(float(p - q), rel=1e-12)


@pytest.mark.parametrize("size", [1000, 41_270, 1_000_000])
def test_sets_of_symbols_reach_the_least_variance(size):
    for epsilon in np.linspace(0.25, 4.75, 19):
        least = MECHANISMS["ss"](size, epsilon).variance(1)
        assert MECHANISMS["slh"](size, epsilon).variance(1) <= 1.005 * least


@pytest.mark.parametrize("size", [4, 8, 16, 23])
def test_a_set_of_symbols_supports_any_two_items_equally_often(size):
    """p* and q* over all multipliers and symbols, for every pair of items and every size of a set."""
    mechanism = MECHANISMS["slh"](size, 0.5)
    items = np.arange(size, dtype=np.uint64)
    for bits in range(1, mechanism.degree + 1):
        for among in range(1, 1 << bits):
            response = SymbolResponse.private(1 << bits, 0.5, 64, among)
            hashed = linear_hash.linear_hash(mechanism.functions()[:, None], items, mechanism.degree, bits)
            supported = (hashed[:, None] ^ np.arange(1 << bits, dtype=np.uint64)[:, None] < among).reshape(-1, size)
            both = supported.T.astype(np.int64) @ supported
            assert (np.diag(both) == mechanism.known_functions * among).all()
            high, low = (chance / mechanism.known_functions for chance in (response.kept, response.other))
            for one, other in ((0, 1), (1, size - 1), (size - 1, 2), (2, 3)):
                found = int(both[one, other]) * high + int(both[one, one] - both[one, other]) * low
                assert found == mechanism._q_with(response)
            assert len(set(both[~np.eye(size, dtype=bool)].tolist())) == 1


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 3.0, 4.0, 6.0])
def test_linear_hashing_is_nearly_as_accurate_as_unary_encoding(epsilon):
    ratio = MECHANISMS["llh"](41_270, epsilon).variance(1) / MECHANISMS["oue"](41_270, epsilon).variance(1)
    assert 0.99 < ratio < 1.1


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.5, 1.0, math.pi, 7.7, 15.999, 16.0])
@pytest.mark.parametrize("name", MECHANISMS)
def test_realised_epsilon_is_at_most_what_was_asked_and_next_to_it(name, epsilon):
    try:
        mechanism = MECHANISMS[name](100, epsilon)
    except ImpureMechanismError:
        return
    assert mechanism.ratio <= thresholds.exp_below(epsilon)
    assert mechanism.epsilon <= epsilon
    assert mechanism.epsilon == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0, -1.0, 16.01, 37.0, 10**400, math.nan, math.inf, -math.inf, "1", None, True, 1j])
@pytest.mark.parametrize("name", [*MECHANISMS, "auto"])
def test_budget_outside_the_range_is_refused(name, epsilon):
    with pytest.raises(EpsilonError, match="epsilon"):
        create(name, 10, epsilon)


def test_budget_below_the_resolution_is_refused_rather_than_wasted():
    with pytest.raises(EpsilonError, match="too small"):
        create("oue", 10, 1e-30)
    with pytest.raises(EpsilonError, match="no mechanism"):
        create("auto", 10, 1e-300)


@pytest.mark.parametrize("size", [0, 1, -5, 2**32 + 1, 2**70, 5.5, "5", None, [5], True])
@pytest.mark.parametrize("name", MECHANISMS)
def test_size_outside_the_range_is_refused(name, size):
    with pytest.raises(DomainError, match=r"whole number of items from 2 to 2\^32, not"):
        MECHANISMS[name](size, 0.5)


@pytest.mark.parametrize("name", MECHANISMS)
def test_size_may_be_a_numpy_integer(name):
    assert MECHANISMS[name](np.int64(5), 0.5) == MECHANISMS[name](5, 0.5)


@pytest.mark.parametrize("width", [0, 65, 128, -1, 8.5, 8.0, True, "64"])
def test_width_is_at_most_a_word(width):
    with pytest.raises(InvalidInputError, match="bits of a probability must be a whole number from 1 to 64, not"):
        MECHANISMS["grr"](5, 1.0, width)


@pytest.mark.parametrize("name", MECHANISMS)
def test_words_of_another_width_are_refused(name):
    """Thresholds out of 2^8 compared with 64-bit words would send nothing but noise, or nothing but the truth."""
    narrow = MECHANISMS[name](5, 0.69).at_width(8)
    with pytest.raises(InvalidInputError, match="8 bits"):
        narrow.privatize(np.zeros(3, np.int64), keystream.seeded(1))
    with pytest.raises(InvalidInputError, match="64 bits"):
        Plan(5, narrow)


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_cannot_be_changed(name):
    mechanism = MECHANISMS[name](5, 0.5)
    for attribute in ("size", "width", "requested_epsilon", "keep", "noise", "response", "anything"):
        with pytest.raises(AttributeError, match=f"instead of setting {attribute}"):
            setattr(mechanism, attribute, 1)
    with pytest.raises(AttributeError, match="size cannot be deleted"):
        del mechanism.size


def test_fractions_between_floats_are_not_rounded_up():
    assert Fraction(create("oue", 5, Fraction(1, 10)).mechanism.requested_epsilon) <= Fraction(1, 10)


def test_names_are_checked():
    with pytest.raises(
        UnknownMechanismError,
        match=r"given by its name, such as 'auto' or 'llh', not by 2\.0\. Did you mean epsilon=2\.0\?",
    ):
        create(2.0, 10, 1.0)
    with pytest.raises(UnknownMechanismError, match=r"register the class with .*, then give its name, 'grr'$"):
        create(MECHANISMS["grr"], 10, 1.0)
    with pytest.raises(UnknownMechanismError, match=r"grr.*llh.*auto"):
        create("oeu", 10, 1.0)
    with pytest.raises(ImpureMechanismError, match=r"not a pure mechanism.*p\*.*q\*"):
        create("bloom-rappor", 10, 1.0)


def test_hadamard_response_stops_where_it_stops_being_pure():
    HadamardResponse(10, math.log(2))
    with pytest.raises(ImpureMechanismError, match="blocks"):
        HadamardResponse(10, 0.6932)


@pytest.mark.parametrize("typo", ["GRR", "grrr", "ooue"])
def test_typos_get_a_suggestion(typo):
    with pytest.raises(UnknownMechanismError, match="did you mean"):
        create(typo, 10, 1.0)


@pytest.mark.parametrize("name", MECHANISMS)
def test_channel_sums_to_one_and_large_ones_are_refused(name):
    small = MECHANISMS[name](5, SMALL_EPSILON)
    small = small if small.exactly_pure else small.at_width(6)
    channel = small.channel()
    assert all(sum(row) == Fraction(1) for row in channel.probabilities)
    assert np.asarray(channel).shape == (5, len(channel.reports))
    with pytest.raises(ChannelTooLargeError, match="too many possible reports"):
        MECHANISMS[name](100_000, SMALL_EPSILON).channel()


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("size", [2, 63, 64, 65, 130])
def test_counting_is_what_support_means(name, size):
    mechanism = MECHANISMS[name](size, SMALL_EPSILON)
    rng = np.random.default_rng(size)
    rows = mechanism.privatize(rng.integers(0, size, 300), keystream.seeded(size))
    expected = [np.count_nonzero(mechanism.supports(rows, item)) for item in range(size)]
    assert mechanism.count(rows).tolist() == expected
    assert mechanism.count(rows).dtype == np.int64


def test_privatizing_in_chunks_only_bounds_the_memory():
    mechanism = MECHANISMS["oue"](20_000, 1.0)
    assert chunks.chunk_users(2_000, mechanism._randomize_work) < 1_000
    values = np.arange(2_000)
    rows = mechanism.privatize(values, keystream.seeded(3))
    assert rows.shape == (2_000, 2_500)
    kept = np.mean([mechanism.supports(rows[[u]], int(v))[0] for u, v in enumerate(values)])
    assert abs(kept - 0.5) < 5 * math.sqrt(0.25 / 2_000)


def test_mechanisms_are_values():
    one, same, other = (create("oue", 10, e).mechanism for e in (1.0, 1.0, 2.0))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert repr(one) == "<oue on 10 items, epsilon 1, 10-bit reports>"
