"""Probabilities as whole numbers: always rounded in the direction that was asked for, and never past e^epsilon."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp.randomness import thresholds

MORE_DIGITS = Context(prec=160)
PROBABILITIES = st.fractions(0, 1)
WIDTHS = st.integers(1, 64)


@given(PROBABILITIES, WIDTHS)
def test_rounding_brackets_the_probability_as_closely_as_possible(probability, width):
    below, above = thresholds.rounded_down(probability, width), thresholds.rounded_up(probability, width)
    assert Fraction(below, 2**width) <= probability < Fraction(below + 1, 2**width)
    assert Fraction(above - 1, 2**width) < probability <= Fraction(above, 2**width)


@given(st.integers(0, 2**64), st.just(64))
def test_a_probability_that_is_a_threshold_is_not_rounded(threshold, width):
    probability = Fraction(threshold, 2**width)
    assert thresholds.rounded_down(probability, width) == thresholds.rounded_up(probability, width) == threshold


@given(st.floats(1e-300, 16), st.booleans())
def test_the_exponential_is_below_and_next_to_its_value(epsilon, halved):
    exact = Fraction(MORE_DIGITS.exp(MORE_DIGITS.divide(Decimal(epsilon), Decimal(2 if halved else 1))))
    found = thresholds.exp_below(epsilon, halved=halved)
    assert found < exact
    assert 1 - found / exact < Fraction(2, 10**90)


@given(st.fractions(Fraction(1, 10**9), 10**9).filter(lambda ratio: ratio != 1))
def test_the_logarithm_is_that_of_the_exact_fraction(ratio):
    exact = MORE_DIGITS.ln(MORE_DIGITS.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    assert thresholds.log(ratio) == float(exact)


def test_the_logarithm_sees_what_a_float_cannot():
    assert thresholds.log(1 + Fraction(1, 10**30)) == 1e-30
    assert math.log(float(1 + Fraction(1, 10**30))) == 0
    assert thresholds.log(Fraction(1)) == 0


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 5.0, 16.0])
def test_a_realised_epsilon_is_at_most_the_one_asked_for(epsilon):
    e = thresholds.exp_below(epsilon)
    keep = thresholds.rounded_down(e / (1 + e), 64)
    assert thresholds.log(Fraction(keep, 2**64 - keep)) <= epsilon
