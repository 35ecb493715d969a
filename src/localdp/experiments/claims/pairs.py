"""Two methods compared on the same trials.

In one trial all methods start from the same noisy estimates, so their errors rise and fall together. The difference
between two methods is therefore taken trial by trial, and its standard error comes from the spread of these
differences. It is much smaller than the standard errors of the two means would suggest.

The interval of a difference is Student's, at 99%. Where it contains 0, the two methods are a *tie*: the trials cannot
tell which one is better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from localdp.experiments.results import Mean
from localdp.types import Vector

LEVEL = 0.99
_LEAST = 1e-9  # smaller errors are counted as this, so that one can divide by them


@dataclass(frozen=True)
class Paired:
    """A number computed from pairs of trials, with its standard error and its 99% interval.

    >>> Paired(2.0, 0.5, 24).sign, Paired(1.0, 0.5, 24).sign
    (1, 0)
    """

    value: float
    std_error: float
    trials: int

    @property
    def margin(self) -> float:
        """Half the width of the 99% interval. It is infinite with one trial, which says nothing about noise."""
        return self.margin_at(LEVEL)

    def margin_at(self, level: float) -> float:
        """Half the width of the interval at this level."""
        if self.trials < 2:
            return math.inf
        return float(stdtrit(self.trials - 1, 0.5 + level / 2)) * self.std_error

    @property
    def sign(self) -> int:
        """1 if the number is above 0, -1 if it is below 0, and 0 for a tie: the interval contains 0."""
        return int(np.sign(self.value)) if abs(self.value) > self.margin else 0


def difference(first: Mean, second: Mean) -> Paired:
    """The mean of `first` minus `second` over the trials.

    >>> a = Mean("some", "oue", 1.0, None, "a", "error", (5.0, 8.0, 7.0))
    >>> b = Mean("some", "oue", 1.0, None, "b", "error", (4.0, 7.0, 6.0))
    >>> difference(a, b)
    Paired(value=1.0, std_error=0.0, trials=3)
    """
    one, other = _both(first, second)
    return _summary(one - other)


def gain(worse: Mean, better: Mean) -> Paired:
    """(worse - better)/better of two mean errors: 0.5 means that the worse error is 50% larger.

    The standard error is that of a ratio of two means on the same trials (to first order).
    """
    numerator, denominator = _both(worse, better)
    bottom = max(float(denominator.mean()), _LEAST) if denominator.size else math.nan
    ratio = float(numerator.mean()) / bottom if numerator.size else math.nan
    spread = _summary((numerator - ratio * denominator) / bottom)
    return Paired(ratio - 1, spread.std_error, spread.trials)


def _both(first: Mean, second: Mean) -> tuple[Vector, Vector]:
    """The values of the trials in which both were measured."""
    one, other = np.array(first.values, np.float64), np.array(second.values, np.float64)
    known = ~(np.isnan(one) | np.isnan(other))
    return one[known], other[known]


def _summary(values: Vector) -> Paired:
    if values.size == 0:
        return Paired(math.nan, 0.0, 0)
    error = float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else 0.0
    return Paired(float(values.mean()), error, values.size)
