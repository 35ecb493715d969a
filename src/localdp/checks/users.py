"""Checks of users by their place in a batch, and of noise that must never be used twice.

A device sends a batch of one report; a simulation makes millions. A mistake in how users are handed to threads, streams
and rows shows only at some places, and only with the keystream that real reports use. So these checks call
`Mechanism.privatize` with keystreams, and compare each report with the value of the user who sent it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from localdp.checks.failure import require
from localdp.checks.instances import FALSE_ALARMS, Kind, instances, telling_values
from localdp.errors import ImpureMechanismError, InvalidInputError
from localdp.kernels import dispatch
from localdp.mechanisms import Mechanism
from localdp.randomness.keystream import secure, seeded
from localdp.types import Flags, Indices, Rows

# Epsilon grows with the size: the truth must stay unlikely enough for a mechanism that always tells it to be seen.
_DOMAINS = ((3, 0.5), (130, 2.0), (1000, 8.0))
_SMALL_BATCHES = ((1, 120), (2, 60), (3, 60), (17, 40))  # users in a batch, and number of batches
_LARGE_BATCH = 70_001  # users: more than one chunk, and an odd number
_PLACES_TESTED_ALONE = 17
_MANY = (1 << 20) + 1  # users: many chunks
_LEAST_OVERLAP = 2_000  # pairs of users: with fewer, a correlation is not yet normally distributed

Flagged = NDArray[np.bool_]
Scaled = NDArray[np.float32]  # half the time of doubles, and an error of less than a thousandth of a standard error


def check_every_user(kind: Kind, seed: int = 0) -> None:
    """In batches of 1, 2, 3, 17 and 70,001 users with mixed values, each user must report their own value.

    Reports of a pure mechanism, at every place, must support the user's own item with p*, and the items before and
    after it with q*: under a seeded keystream with the kernels in NumPy, and under a secure one with the compiled
    kernels, if there are any. Catches faults that show only for a single user, for the first or the last user of a
    batch, for every other user, or for users who got the report of a neighbour.
    """
    mechanisms, kernels = [found for found in _offered(kind) if found.pure], _kernels()
    if not mechanisms:
        return
    places = sum(users + 3 for users, _ in _SMALL_BATCHES) + 3
    alpha = FALSE_ALARMS / (len(mechanisms) * 2 * places * 3 * 2)  # keystreams, places, items, tails
    for mechanism in mechanisms:
        for users, batches in (*_SMALL_BATCHES, (_LARGE_BATCH, 1)):
            values = _mixed_values(mechanism, users, batches)
            for stream, choice in (("seeded", kernels[0]), ("secure", kernels[-1])):
                sources = (seeded(seed + batch) if stream == "seeded" else secure() for batch in range(batches))
                with dispatch.kernels(choice):
                    reports = [mechanism.privatize(row, source) for row, source in zip(values, sources, strict=True)]
                _require_own_reports(mechanism, values, np.stack(reports), alpha, f"a {stream} keystream")


def check_fresh_noise(kind: Kind, seed: int = 0) -> None:  # noqa: ARG001 (fresh noise cannot be seeded)
    """In two secure calls of 1,048,577 users each, no user's noise may tell anything about another user's noise.

    Correlates every user with every user who comes any number of places later, in the same call and in the other one.
    Catches noise that is repeated: by a fixed seed, by chunks that share a stream, or by an index that wraps around.
    """
    kernels, values = _kernels(), np.zeros(_MANY, np.int64)
    for mechanism in instances(kind, sizes=(3,), epsilons=(0.5,)):
        own, other_item = (float(mechanism.chance(0, outcome)) for outcome in (0, 2))
        calls = [_privatized(mechanism, values, choice) for choice in (kernels[0], kernels[-1])]
        for item, probability in ((0, own), (2, other_item)):
            one, other = (_standardized(mechanism.supports(rows, item), probability) for rows in calls)
            for correlations, least_lag, where in (
                (_correlations(one, one), 1, "the same call"),
                (_correlations(other, other), 1, "the same call"),
                (_correlations(one, other), 0, "another call"),
            ):
                what = f"whether a report supports item {item}"
                _require_uncorrelated(mechanism, correlations, least_lag, what, where)


def _require_uncorrelated(mechanism: Mechanism, correlations: Scaled, least_lag: int, what: str, where: str) -> None:
    """No correlation, from this lag on, is larger than chance explains."""
    from scipy.stats import norm

    limit = norm.isf(FALSE_ALARMS / (2 * 2 * 3 * _MANY))  # tails, items, pairs of calls, lags
    lag = least_lag + int(np.argmax(np.abs(correlations[least_lag:])))
    require(
        abs(correlations[lag]) <= limit,
        f"{mechanism!r} repeats its noise: {what} tells about the report of the user {lag:,} places later in {where}. "
        f"They correlate by {correlations[lag]:.1f} standard errors, expected at most {limit:.1f}: the noise of two "
        "users must be independent",
    )


def _kernels() -> tuple[str, ...]:
    """The kernels that can be used here: the definitions in NumPy and, where Numba is installed, their twins."""
    try:
        with dispatch.kernels("fast"):
            dispatch.uses_compiled()
    except InvalidInputError:
        return ("numpy",)
    return ("numpy", "fast")


def _privatized(mechanism: Mechanism, values: Indices, choice: str) -> Rows:
    """Reports with secure noise, made by these kernels."""
    with dispatch.kernels(choice):
        return mechanism.privatize(values, secure())


def _offered(kind: Kind) -> list[Mechanism]:
    """The mechanism on each domain at its epsilon; at 0.5 instead if it is not pure at that epsilon."""
    found: list[Mechanism] = []
    for size, epsilon in _DOMAINS:
        try:
            found.extend(kind.examples(size, epsilon))
        except ImpureMechanismError:
            found.extend(instances(kind, sizes=(size,), epsilons=(0.5,)))
    return found


def _mixed_values(mechanism: Mechanism, users: int, batches: int) -> Indices:
    """The values of all users, one batch in a row; in small batches, neighbours hold different items."""
    telling = np.array(telling_values(mechanism))
    if users == _LARGE_BATCH:  # at random: values that come back regularly would hide a shift by a whole period
        return np.random.default_rng(users).choice(telling, (batches, users))
    values: Indices = telling[(np.arange(batches)[:, None] + np.arange(users)) % telling.size]
    return values


def _require_own_reports(mechanism: Mechanism, values: Indices, rows: Rows, alpha: float, stream: str) -> None:
    """At each place, and at odd, even and all places together, reports follow the values of their users."""
    from scipy.stats import binom

    users = values.shape[1]
    for what, shift, expected in (
        ("their own item", 0, mechanism.p_star),
        ("the item after their own", 1, mechanism.q_star),
        ("the item before their own", -1, mechanism.q_star),
    ):
        supported = _supports_each(mechanism, rows, (values + shift) % mechanism.size)
        groups = list(_groups(supported, users))
        hits, sizes = (
            np.array(numbers) for numbers in zip(*((flags.sum(), flags.size) for _, flags in groups), strict=True)
        )
        tails = np.minimum(binom.cdf(hits, sizes, expected), binom.sf(hits - 1, sizes, expected))
        worst = int(np.argmin(tails))
        require(
            tails[worst] >= alpha,
            f"{mechanism!r} under {stream}: {hits[worst]} of {sizes[worst]} reports of {groups[worst][0]} in "
            f"batches of {users:,} support {what}; expected about {sizes[worst] * expected:.4g}, since the probability "
            f"is {expected:.6g}",
        )


def _groups(flags: Flagged, users: int) -> Iterator[tuple[str, Flagged]]:
    """The columns of each place in a small batch, then all columns, and every other one."""
    if users <= _PLACES_TESTED_ALONE:
        for place in range(users):
            yield f"user {place + 1}", flags[:, place]
    yield "all users", flags
    yield "users at odd places", flags[:, ::2]
    if users > 1:
        yield "users at even places", flags[:, 1::2]


def _supports_each(mechanism: Mechanism, rows: Rows, items: Indices) -> Flagged:
    """Whether each report supports the item at its place."""
    found = np.zeros(items.shape, bool)
    for item in np.unique(items).tolist():
        asked = items == item
        found[asked] = mechanism.supports(rows[asked], item)
    return found


def _standardized(flags: Flags, probability: float) -> Scaled:
    """The flags with mean 0 and variance 1, if they are 1 with this probability."""
    low, high = (np.float32((flag - probability) / math.sqrt(probability * (1 - probability))) for flag in (0, 1))
    return np.where(flags, high, low)


def _correlations(one: Scaled, other: Scaled) -> Scaled:
    """For each lag, the correlation of one[i] and other[i + lag] in standard errors; by Fourier transform."""
    from scipy.fft import irfft, next_fast_len, rfft

    length = next_fast_len(2 * one.size, real=True)
    transformed = rfft(one, length)
    sums = irfft(np.conj(transformed) * (transformed if other is one else rfft(other, length)), length)
    pairs = one.size - np.arange(one.size - _LEAST_OVERLAP, dtype=np.float32)
    found: Scaled = sums[: pairs.size] / np.sqrt(pairs)
    return found
