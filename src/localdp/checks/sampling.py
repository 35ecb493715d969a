"""Statistical checks at 64 bits: the channel, the estimates, and domains past one word. Seeded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.checks.failure import require
from localdp.checks.instances import FALSE_ALARMS, Kind, instances, telling_values
from localdp.errors import ChannelTooLargeError
from localdp.formats import bitstrings
from localdp.kernels.counting import count_bits
from localdp.mechanisms import Mechanism
from localdp.randomness.keystream import Keystream, Who, seeded
from localdp.types import Words

_SAMPLES = 100_000
_RUNS = 1_200
_USERS = 400
_LARGE_SAMPLES = 20_000


def check_samples_match_channel(kind: Kind, seed: int = 0) -> None:
    """Chi-square of sampled reports against the channel."""
    from scipy.stats import chi2

    several = (*instances(kind), *instances(kind, sizes=(7, 9), epsilons=(0.1, 0.3)))
    mechanisms = [_listable(mechanism) for mechanism in several]
    alpha = FALSE_ALARMS / sum(mechanism.size for mechanism in mechanisms)
    for mechanism in mechanisms:
        channel = mechanism.channel()
        order = np.argsort(bitstrings.to_integers(channel.reports))
        known = bitstrings.to_integers(channel.reports)[order]
        for value, probabilities in enumerate(np.asarray(channel)[:, order]):
            source = _NarrowKeystream(seed + value, mechanism.width)
            rows = mechanism.privatize(np.full(_SAMPLES, value, np.int64), source)
            reports = bitstrings.to_integers(rows)
            place = np.minimum(np.searchsorted(known, reports), known.size - 1)
            require((known[place] == reports).all(), f"{mechanism!r} sent a report that its channel does not list")
            observed = np.bincount(place, minlength=known.size)
            statistic, freedom = _chi_square(observed, probabilities * _SAMPLES)
            require(
                statistic <= chi2.isf(alpha, freedom),
                f"reports of {mechanism!r} for value {value} do not follow its channel: chi-square "
                f"{statistic:.1f} on {freedom} degrees of freedom",
            )


def check_estimates(kind: Kind, seed: int = 0) -> None:
    """Unbiasedness and stated variance, for items held by nobody, some and everybody."""
    from scipy.stats import norm

    size, some = 6, _USERS // 4
    populations = ([0, some, _USERS - some, 0, 0, 0], [0, 0, 0, 0, 0, _USERS])
    mechanisms = list(instances(kind, sizes=(size,)))
    limit = norm.isf(FALSE_ALARMS / (4 * size * len(mechanisms) * len(populations)))
    for mechanism in mechanisms:
        for population in map(np.array, populations):
            values = np.tile(np.repeat(np.arange(size), population), _RUNS)
            rows = mechanism.privatize(values, seeded(seed))
            counts = np.array([mechanism.count(run) for run in rows.reshape(_RUNS, _USERS, -1)])
            estimates = np.array([mechanism.estimate(run, _USERS) for run in counts])
            variance = np.maximum(mechanism.variance(_USERS) + population * mechanism.excess_variance, 1e-12)
            bias = (estimates.mean(axis=0) - population) / np.sqrt(variance / _RUNS)
            require(
                (np.abs(bias) <= limit).all(),
                f"{mechanism!r} is biased for frequencies {population.tolist()}: by "
                f"{bias.round(1).tolist()} standard errors",
            )
            spread = (estimates.var(axis=0) / variance - 1) / np.sqrt(2 / _RUNS)
            require(
                (np.abs(spread) <= limit).all(),
                f"{mechanism!r} does not have its stated variance for frequencies {population.tolist()}: off by "
                f"{spread.round(1).tolist()} standard errors",
            )


def check_large_domains(kind: Kind, seed: int = 0) -> None:
    """Past one word: every item is supported with p* or q*, and no bit of the report tells values apart too well."""
    mechanisms = list(instances(kind, sizes=(16, 65, 130), epsilons=(0.5, 2.0)))
    tests = sum(4 * len(telling_values(m)) * (m.size + m.report_bits) for m in mechanisms)
    for mechanism in mechanisms:
        lit = []
        for value in telling_values(mechanism):
            rows = mechanism.privatize(np.full(_LARGE_SAMPLES, value, np.int64), seeded(seed + value))
            _require_support(mechanism, value, mechanism.count(rows), FALSE_ALARMS / tests)
            lit.append(count_bits(rows, mechanism.report_bits))
        ones = np.array(lit)
        for hits in (ones, _LARGE_SAMPLES - ones):
            _require_bits_private(mechanism, hits, FALSE_ALARMS / tests)


def _require_support(mechanism: Mechanism, value: int, counts: NDArray[np.int64], alpha: float) -> None:
    from scipy.stats import binom

    held = np.arange(mechanism.size) == value
    expected = np.where(held, mechanism.p_star, mechanism.q_star)
    tail = np.minimum(binom.cdf(counts, _LARGE_SAMPLES, expected), binom.sf(counts - 1, _LARGE_SAMPLES, expected))
    worst = int(np.argmin(tail))
    require(
        tail[worst] >= alpha,
        f"{mechanism!r}: a holder of {value} supports item {worst} in {counts[worst]} of {_LARGE_SAMPLES} reports, "
        f"not with probability {expected[worst]:.6g}",
    )


def _require_bits_private(mechanism: Mechanism, hits: NDArray[np.int64], alpha: float) -> None:
    from scipy.stats import beta

    most, least = hits.max(axis=0), hits.min(axis=0)
    low = np.nan_to_num(beta.ppf(alpha, most, _LARGE_SAMPLES - most + 1))
    high = np.nan_to_num(beta.isf(alpha, least + 1, _LARGE_SAMPLES - least), nan=1.0)
    worst = int(np.argmax(low / high))
    require(
        low[worst] / high[worst] <= float(mechanism.ratio),
        f"bit {worst} of the report of {mechanism!r} alone tells two values apart by a factor of "
        f"{low[worst] / high[worst]:.3g} or more",
    )


def _listable(mechanism: Mechanism) -> Mechanism:
    """The mechanism itself, or at 8 bits where its reports at 64 are too many to list."""
    try:
        mechanism.channel()
    except ChannelTooLargeError:
        return mechanism.at_width(8)
    return mechanism


def _chi_square(observed: Any, expected: Any) -> tuple[float, int]:
    """The statistic and its degrees of freedom, with cells of fewer than 10 expected pooled into one."""
    rare = expected < 10
    seen, due = observed[~rare], expected[~rare]
    if rare.any() and expected[rare].sum() >= 10:
        seen, due = np.append(seen, observed[rare].sum()), np.append(due, expected[rare].sum())
    return float(((seen - due) ** 2 / due).sum()), max(1, seen.size - 1)


class _NarrowKeystream(Keystream):
    """A seeded keystream whose integers have `width` bits."""

    def __init__(self, seed: int, width: int) -> None:
        super().__init__(seeded(seed)._key)
        self.width = width

    def integers(self, who: Who) -> Words:
        return super().integers(who) >> np.uint64(64 - self.width)
