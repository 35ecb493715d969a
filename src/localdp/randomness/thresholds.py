"""Probabilities as whole numbers out of 2^width, never as floats compared with floats.

A probability is kept as `threshold / 2^width`: an event happens when a uniform word of `width` bits is below
the threshold. The threshold is rounded toward *more* noise, so the ratio of any two report probabilities, an
exact fraction, is at most e^epsilon. The realised epsilon, p* and q* are then computed from the thresholds
actually used. Mironov (CCS 2012) and Balcer & Vadhan (2018) show what goes wrong with floats.

>>> float(exp_below(1.0))
2.718281828459045
>>> log(Fraction(2)), log_rounded_up(Fraction(2))
(0.6931471805599453, 0.6931471805599454)
>>> rounded_down(Fraction(1, 3), width=8), rounded_up(Fraction(1, 3), width=8)
(85, 86)
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

_CONTEXT = Context(prec=100)
_MARGIN = Fraction(1, 10**90)  # much more than the rounding error in the last of 100 digits


def exp_below(epsilon: float, *, halved: bool = False) -> Fraction:
    """A fraction just below e^epsilon, or e^(epsilon/2) if `halved`. A ratio of at most this is epsilon-private."""
    exponent = _CONTEXT.divide(_CONTEXT.create_decimal_from_float(epsilon), Decimal(2 if halved else 1))
    return Fraction(_CONTEXT.exp(exponent)) * (1 - _MARGIN)


def log(ratio: Fraction) -> float:
    """The natural logarithm of an exact fraction, computed with 100 digits and rounded once."""
    return float(_CONTEXT.ln(_CONTEXT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))))


def log_rounded_up(ratio: Fraction) -> float:
    """The smallest float that is not below the natural logarithm, so that a stated epsilon is never too small."""
    exact = Fraction(_CONTEXT.ln(_CONTEXT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))))
    exact += exact / 10**95  # more than the error of 100 digits, and less than the margin of `exp_below`
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def rounded_down(probability: Fraction, width: int) -> int:
    """The largest threshold with threshold / 2^width at most the probability."""
    return (probability.numerator << width) // probability.denominator


def rounded_up(probability: Fraction, width: int) -> int:
    """The smallest threshold with threshold / 2^width at least the probability."""
    return -(-(probability.numerator << width) // probability.denominator)
