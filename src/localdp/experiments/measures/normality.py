"""Is the noise Gaussian, with mean 0 and the stated deviation? The Kolmogorov-Smirnov test.

The test compares the share of noises below each value with the share that the Gaussian gives; the largest difference
is the *distance*. The p-value is the probability of a distance at least this large if the noise is Gaussian. Nothing is
fitted to the noise: the mean and the deviation are those of the theory, so the p-values are exact.

Several trials give several p-values. Fisher's method turns them into one: -2 sum log p has a chi-square
distribution if all of them come from Gaussian noise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

_SMALLEST = 1e-300  # p-values underflow to 0, which has no logarithm


class GaussianTest(NamedTuple):
    """The largest difference between the two distribution functions, and its p-value."""

    distance: float
    p_value: float


def gaussian_test(noise: ArrayLike, deviation: float) -> GaussianTest:
    """Test noises of many items against the Gaussian with mean 0 and this standard deviation.

    >>> round(gaussian_test([-1.0, -0.3, 0.2, 1.4], 1.0).p_value, 1)
    1.0
    """
    from scipy.stats import kstest

    tested = kstest(np.asarray(noise, np.float64) / max(deviation, _SMALLEST), "norm")
    return GaussianTest(float(tested.statistic), float(tested.pvalue))


def combined_p_value(p_values: ArrayLike) -> float:
    """One p-value for several independent tests of the same statement (Fisher's method).

    >>> round(combined_p_value([0.5, 0.5]), 3), combined_p_value([0.9, 1e-20]) < 1e-15
    (0.597, True)
    """
    from scipy.special import chdtrc

    logs = np.log(np.maximum(np.asarray(p_values, np.float64), _SMALLEST))
    return float(chdtrc(2 * logs.size, -2 * logs.sum()))
