r"""The same people on several days: how noisy is the mean of several reports of each?

All reports of a device are made from its permanent response, so they share the noise of that. With T reports of each
person, let V_1 be the variance of estimates from one report of each and V_p that of estimates from the permanent
responses themselves. The noise that each report adds is fresh, and averages out:

    Var(mean of T reports)  =  V_p + (V_1 - V_p) / T

Without `once` a device sends its permanent response as it is: V_1 = V_p, and a day more adds nothing. To count the T
reports of a person as those of T people would give V_1/T instead, which is far too little.

**If T is not known**, it can be bounded. In shares of the people, the variance is (T V_p + V_1 - V_p) over the number
of reports, so it grows with T, and the estimates show how large it is at most: they scatter around their mean by the
noise and by the differences between the true frequencies. Among 30 items or more the lower half is used, which is
mostly noise in most data; among fewer, all of them. The largest T that is not contradicted (at 95%) is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from localdp.errors import InvalidInputError
from localdp.estimate.stated_noise import FEWEST, lower_half
from localdp.types import Vector
from localdp.validation import shown

_CONFIDENCE = 0.95
_NORMAL = 1.645  # deviations that a normal number stays below with this probability


def variance_of_mean(permanent: float, once: float, reports: float) -> float:
    """The variance of the mean of so many reports of each person.

    >>> variance_of_mean(permanent=100.0, once=400.0, reports=30)
    110.0
    """
    return permanent + (once - permanent) / reports


def checked_reports(given: Any, n: int) -> tuple[float, float]:
    """The fewest and the most reports that a person may have sent; `n` is the number of all reports.

    >>> checked_reports(7, 700), checked_reports((1, 30), 700)
    ((7.0, 7.0), (1.0, 30.0))
    """
    pair = given if isinstance(given, Sequence) and not isinstance(given, str) else (given, given)
    numbers = [one for one in pair if isinstance(one, int | float | np.number) and not isinstance(one, bool)]
    if len(pair) != 2 or len(numbers) != 2 or not 1 <= numbers[0] <= numbers[1] <= max(n, 1):
        raise InvalidInputError(
            "reports_per_person is how many reports each person has sent, such as 7, or the fewest and the most if "
            f"that is not known, such as (1, 7); at least 1, and at most the number of reports: not {shown(given)}"
        )
    return float(numbers[0]), float(numbers[1])


def bounded_reports(shares: Vector, n: int, permanent: float, once: float, limits: tuple[float, float]) -> float:
    """The most reports for each person, within the limits, that the noise in these shares does not contradict.

    `n` is the number of reports, and both variances are those of estimates among one person.
    """
    least, most = limits
    if least == most:
        return least
    reports = (n * _largest_variance(shares) - (once - permanent)) / permanent if permanent > 0 else most
    return float(np.clip(reports, least, most))


def _largest_variance(shares: Vector) -> float:
    """The largest variance of the noise that these estimates do not contradict."""
    if shares.size >= FEWEST:
        below = lower_half(shares)
        # The mean of m squares of normal numbers has the relative deviation sqrt(2/m).
        return float(np.mean(below**2)) * (1 + _NORMAL * math.sqrt(2 / below.size))
    from scipy.special import chdtri

    if shares.size < 2:
        return math.inf
    spread = float(((shares - shares.mean()) ** 2).sum())
    return spread / float(chdtri(shares.size - 1, _CONFIDENCE))
