"""Counts become unbiased frequencies.

A report supports the item its user holds with probability p*, and any other item with probability q*. If f of the n
users hold an item, its count c is therefore f p* + (n - f) q* on average. Solving this for f gives the estimate

    fhat = (c - n q*) / (p* - q*),

which is f on average (Wang et al., USENIX Security 2017, section 3).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from localdp.types import Counts, Vector


def debias(counts: Counts, n: int, p: Fraction, q: Fraction) -> Vector:
    """The estimated frequency of each item, from its count among n reports; p is p* and q is q*.

    >>> debias(np.array([30, 10]), n=40, p=Fraction(3, 4), q=Fraction(1, 4)).tolist()
    [40.0, 0.0]
    """
    expected = n * q
    whole = int(expected)  # subtracted in integers: two large floats would lose the digits in which they differ
    return ((counts - whole).astype(np.float64) - float(expected - whole)) / float(p - q)
