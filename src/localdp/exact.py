"""Probabilities as whole numbers out of 2^width, never as floats compared with floats.

A probability is kept as `threshold / 2^width`: an event happens when a uniform word of `width` bits is below
the threshold. The threshold is rounded toward *more* noise, so the ratio of any two report probabilities, an
exact fraction, is at most e^epsilon; the realised epsilon, p* and q* are then computed from the thresholds
actually used (Mironov, CCS 2012, and Balcer & Vadhan, 2018, show what goes wrong otherwise).

>>> exp_below(1.0) < Fraction(math.e) + Fraction(1, 10**15)
True
>>> log(Fraction(3))
1.0986122886681098
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from numbers import Real

from localdp.errors import EpsilonError

LARGEST_EPSILON = 16.0

_CONTEXT = Context(prec=100)
_MARGIN = Fraction(1, 10**90)  # covers the last digit of the context


def checked_epsilon(epsilon: object) -> float:
    """A privacy budget as a float in (0, 16], or an `EpsilonError` that says what to do."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, Real):
        raise EpsilonError(f"epsilon must be an int or a float in (0, 16], not {epsilon!r:.60}")
    try:
        value = float(epsilon)
    except OverflowError:
        value = math.inf
    if math.isfinite(value) and value > epsilon:
        value = math.nextafter(value, 0)  # a fraction may lie between two floats: never take the larger
    if not 0 < value <= LARGEST_EPSILON:
        hint = "there is no privacy less than none" if value < 0 else "0 would say nothing at all"
        hint = "a larger one would hide next to nothing" if value > 0 else hint
        hint = "it must be finite" if not math.isfinite(value) else hint
        raise EpsilonError(f"epsilon must be in (0, 16], not {value}: {hint}")
    return value


def exp_below(epsilon: float, *, halved: bool = False) -> Fraction:
    """A fraction just below e^epsilon (or e^(epsilon/2)): whatever it bounds stays strictly private enough."""
    exponent = _CONTEXT.divide(_CONTEXT.create_decimal_from_float(epsilon), Decimal(2 if halved else 1))
    return Fraction(_CONTEXT.exp(exponent)) * (1 - _MARGIN)


def log(ratio: Fraction) -> float:
    """The natural logarithm of an exact fraction, correctly rounded for every ratio met here."""
    return float(_CONTEXT.ln(_CONTEXT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))))


def rounded_down(probability: Fraction, width: int) -> int:
    """The largest threshold out of 2^width whose probability is not above the one given."""
    return (probability.numerator << width) // probability.denominator


def rounded_up(probability: Fraction, width: int) -> int:
    """The smallest threshold out of 2^width whose probability is not below the one given."""
    return -(-(probability.numerator << width) // probability.denominator)
