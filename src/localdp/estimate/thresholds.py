r"""Where an estimate stops being noise: significance thresholds, and how many holders an item needs to pass them.

Let d items be counted in n reports of a pure mechanism, and let c_i be the number of reports that support item i. If
nobody holds item i, every report supports it with probability q*, independently of the other reports, so that

    c_i ~ Binomial(n, q*),      fhat_i = (c_i - n q*) / (p* - q*)       exactly, for every n.

Let c be the smallest whole number with Pr[Binomial(n, q*) > c] <= beta/d. The *exact threshold* lies halfway between
the estimates of items with the counts c and c + 1:

    t = (c + 1/2 - n q*) / (p* - q*).

One item without holders exceeds t with probability at most beta/d, so by the union bound none of at most d such items
does, with probability at least 1 - beta. This bound needs no independence between items. A threshold below the estimate
of the count c would not have this property. No estimate equals t, so neither rounding nor the difference between "at
least" and "more than" matters. The tail of the binomial distribution is a regularized incomplete beta function,
Pr[Binomial(n, q) > c] = I_q(c + 1, n - c), which is computed to ten digits or more even where it is 1e-12 and n is
3e10. So there is one rule for every n.

For many users the threshold tends to Phi^-1(1 - beta/d) times the standard error (Wang et al., USENIX Security 2017,
section 5.3), which is `significance_threshold`. For few users that one is too low, because the binomial distribution
is skewed: with 1,000 users, 10,000 items and epsilon 6, some item without holders exceeds it in most collections.

If k users hold item i, its count is the sum of two independent binomial numbers, c_i ~ Bin(k, p*) + Bin(n - k, q*).
`smallest_detected` is the smallest k with which the item exceeds t with the probability asked for. The probability is
summed exactly where the variance of the count is small. Where it is large, it is the normal approximation with
corrections for skewness and for whole numbers (the first term of Edgeworth's series), which is off by 0.0001 or less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from localdp.errors import InvalidInputError
from localdp.kernels.debias import debias
from localdp.types import Vector
from localdp.validation import LARGEST_SIZE, checked_amount, checked_level, checked_probability, checked_users

BETA = 0.05
"""The probability that some item without holders exceeds a threshold, unless another is given."""

SEEN = 0.9
"""An item counts as detected if its estimate exceeds the threshold with this probability, unless another is given."""

_EXACT_VARIANCE = 2_500.0  # counts with at most this variance are summed exactly
_REACH = 9.0  # deviations; what lies farther away has a probability below 1e-18
_NORMAL = NormalDist()


def significance_threshold(std_error: float, items: int, beta: float = BETA) -> float:
    """A limit for estimates with Gaussian noise: with probability 1 - beta, no item without holders exceeds it.

    >>> round(significance_threshold(std_error=10.0, items=1000), 1)
    38.9
    """
    return -_NORMAL.inv_cdf(_level(beta, items)) * std_error


def shared_threshold(std_errors: float | Vector, items: int, beta: float = BETA) -> float:
    """One limit for estimates with Gaussian noise that may differ by item; the same for all of them.

    It is the t with sum_i Phi(-t / std_error_i) = beta: by the union bound, no item without holders exceeds it with
    probability 1 - beta. If all items have the same noise, it is `significance_threshold`.

    >>> round(shared_threshold(np.array([10.0, 10.0, 1.0]), items=3), 1)
    19.6
    """
    if isinstance(std_errors, float):
        return significance_threshold(std_errors, items, beta)
    from scipy.optimize import brentq
    from scipy.special import ndtr

    wanted = _level(beta, items) * items
    one = significance_threshold(1.0, items, beta)
    low, high = one * float(std_errors.min()), one * float(std_errors.max())

    def too_many(limit: float) -> float:
        return float(np.log(np.maximum(ndtr(-limit / std_errors).sum(), 1e-300) / wanted))

    if low >= high or too_many(low) <= 0 or too_many(high) >= 0:  # all are the same but for rounding
        return high
    return float(brentq(too_many, low, high, xtol=1e-12 * high, rtol=1e-14))


def exact_threshold(
    n: int, p_star: float | Fraction, q_star: float | Fraction, items: int, beta: float = BETA
) -> float:
    """A limit for estimates among n users: with probability 1 - beta, no item without holders exceeds it.

    With many users it tends to the threshold for Gaussian noise of the same deviation; with few it is higher.

    >>> round(exact_threshold(1_000, p_star=0.5, q_star=0.0025, items=10_000), 1)
    20.1
    >>> round(significance_threshold(std_error=3.174, items=10_000), 1)
    14.0
    """
    users, p, q = _checked_pair(n, p_star, q_star)
    limit = count_threshold(users, float(q), _level(beta, items))
    return float(debias(np.array([limit]), users, p, q)[0]) + 0.5 / float(p - q)


def smallest_detected(
    n: int,
    p_star: float | Fraction,
    q_star: float | Fraction,
    items: int,
    beta: float = BETA,
    chance: float = SEEN,
) -> int:
    """The smallest number of holders with which an item exceeds the exact threshold with this chance.

    It is n + 1 if not even an item that all n users hold does.

    >>> smallest_detected(1_000, p_star=0.5, q_star=0.0025, items=10_000)
    28
    """
    users, exact_p, exact_q = _checked_pair(n, p_star, q_star)
    p, q, wanted = float(exact_p), float(exact_q), checked_level(chance, "a chance of detection")
    limit = count_threshold(users, q, _level(beta, items))
    gap, reach = float(exact_p - exact_q), _NORMAL.inv_cdf(wanted)
    above = limit + 0.5 - users * q
    guess = (above + reach * math.sqrt(max(above * (1 - q), users * q * (1 - q)))) / gap

    def detected(holders: int) -> bool:
        return chance_above(limit, holders, users, p, q) >= wanted

    return smallest_true(detected, 0, users + 1, guess)


def smallest_passing(limit: float, variance: float, excess_variance: float = 0.0) -> float:
    """The number of holders with which an estimate with Gaussian noise exceeds a limit with the chance `SEEN`.

    It is the larger f with (f - limit)^2 = z^2 (variance + f excess_variance), where Phi(z) is the chance.

    >>> round(smallest_passing(limit=38.9, variance=100.0), 1)
    51.7
    """
    squared = _NORMAL.inv_cdf(SEEN) ** 2
    middle = limit + squared * excess_variance / 2
    return middle + math.sqrt(max(middle**2 - limit**2 + squared * variance, 0.0))


def count_threshold(n: int, q: float, level: float) -> int:
    """The smallest whole number c with Pr[Binomial(n, q) > c] <= level.

    >>> count_threshold(1_000, 0.0025, 0.05 / 10_000)
    12
    """
    from scipy.special import betainc

    mean, deviation = n * q, math.sqrt(n * q * (1 - q))
    z = -_NORMAL.inv_cdf(level)
    skewed = (z * z - 1) * (1 - 2 * q) / 6  # Cornish and Fisher's correction, in counts

    def rare(count: int) -> bool:
        return count >= n or float(betainc(count + 1.0, float(n - count), q)) <= level

    return smallest_true(rare, 0, n, mean + z * deviation + skewed - 0.5)


def chance_above(limit: int, holders: int, n: int, p: float, q: float) -> float:
    """Pr[Bin(holders, p) + Bin(n - holders, q) > limit]: how probably an item with so many holders has a larger count.

    >>> round(chance_above(limit=1, holders=1, n=2, p=0.5, q=0.1), 12)
    0.05
    """
    others = n - holders
    variance = holders * p * (1 - p) + others * q * (1 - q)
    if variance > _EXACT_VARIANCE:
        return float(approximate_chances(limit, np.array([float(holders)]), n, p, q)[0])
    from scipy.special import betainc, gammaln, xlog1py, xlogy

    spread = _REACH * math.sqrt(holders * p * (1 - p)) + 4 * _REACH  # Poisson tails are longer than Gaussian ones
    low, high = max(0, math.floor(holders * p - spread)), min(holders, math.ceil(holders * p + spread))
    own = np.arange(low, high + 1, dtype=np.float64)
    logs = gammaln(holders + 1.0) - gammaln(own + 1) - gammaln(holders - own + 1)
    masses = np.exp(logs + xlogy(own, p) + xlog1py(holders - own, -p))
    missing = limit - own  # the item passes the limit if more of the others than this support it
    inside = (missing >= 0) & (missing < others)
    tails = np.where(missing < 0, 1.0, 0.0)
    tails[inside] = betainc(missing[inside] + 1, others - missing[inside], q)
    return float(masses @ tails / masses.sum())


def approximate_chances(limit: int, holders: Vector, n: int, p: float, q: float) -> Vector:
    """`chance_above` for many numbers of holders at once, by Edgeworth's series."""
    from scipy.special import ndtr

    own, other = holders * (p * (1 - p)), (n - holders) * (q * (1 - q))
    deviation = np.sqrt(np.maximum(own + other, 1e-300))
    skewness = (own * (1 - 2 * p) + other * (1 - 2 * q)) / deviation**3
    away = np.clip((limit + 0.5 - n * q - holders * (p - q)) / deviation, -40, 40)
    density = np.exp(-0.5 * away**2) / math.sqrt(2 * math.pi)
    chances: Vector = np.clip(ndtr(-away) + skewness / 6 * (away**2 - 1) * density, 0.0, 1.0)
    return chances


def smallest_true(condition: Callable[[int], bool], low: int, high: int, guess: float) -> int:
    """The smallest number from low to high where a condition holds that, once true, stays true.

    `high` is not tried: it is the answer if the condition holds nowhere below it. A good guess saves steps.
    """
    least, most = low, high
    probe, step = min(max(round(guess), low), high - 1), 1
    while low < high:  # the answer is in low..high; steps away from the guess double until it lies between two of them
        if condition(probe):
            high = probe
            probe = max(low, high - step) if low == least else (low + high) // 2
        else:
            low = probe + 1
            probe = min(high - 1, probe + step) if high == most else (low + high) // 2
        step *= 2
    return low


def _level(beta: float, items: int) -> float:
    """The probability with which one item may exceed a threshold: beta divided by the number of items."""
    level = checked_level(beta, "beta") / checked_amount(items, LARGEST_SIZE, "the number of items")
    if level == 0:
        raise InvalidInputError(
            f"beta is a probability between 0 and 1, and {beta!r} divided by {items} items is too small to compute with"
        )
    return level


def _checked_pair(n: int, p_star: float | Fraction, q_star: float | Fraction) -> tuple[int, Fraction, Fraction]:
    users, p, q = checked_users(n), checked_probability(p_star), checked_probability(q_star)
    if not q < p:
        raise InvalidInputError(f"p* must be larger than q*, but {float(p):g} and {float(q):g} were given")
    return users, p, q
