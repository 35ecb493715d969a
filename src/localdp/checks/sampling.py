"""Statistical checks at 64 bits: the channel, the estimates, large domains and large epsilons. All are seeded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.checks.failure import require
from localdp.checks.instances import FALSE_ALARMS, Kind, instances, telling_values
from localdp.errors import ChannelTooLargeError
from localdp.formats import bitstrings
from localdp.kernels.counting import count_bits
from localdp.mechanisms import Channel, Mechanism
from localdp.randomness.keystream import Keystream, Who, seeded
from localdp.types import Rows, Words

_SAMPLES = 100_000  # reports of each value, compared with the channel
_RUNS = 1_200  # collections, each of
_USERS = 400  # users, for bias and variance
_LARGE_SAMPLES = 20_000  # reports of each value, on domains too large for a channel
_LARGEST_SAMPLE_BYTES = 1 << 23  # on 50,000 items, mechanisms with long reports get fewer
_MOST_PAIRS = 1 << 24  # of a report and an item, for mechanisms that look at every pair: some tenths of a second
_MOST_ROUNDS = 100  # of drawing for one report: `ss` at a small epsilon would take minutes on 50,000 items
_LARGEST_PRIVATE_BITS_EPSILON = 4.0  # past it, e^epsilon is more than any ratio that 20,000 samples can show


def check_samples_match_channel(kind: Kind, seed: int = 0) -> None:
    """Sampled reports must follow the channel, by a chi-square test.

    Catches code that behaves differently at 64 bits than at the few bits that `check_exact_privacy` can try.
    """
    several = (*instances(kind), *instances(kind, sizes=(7, 9), epsilons=(0.1, 0.3, 8.0)))
    mechanisms = list(filter(None, map(_listable, several)))
    alpha = FALSE_ALARMS / sum(mechanism.size for mechanism in mechanisms)
    for mechanism in mechanisms:

        def sampled(value: int, mechanism: Mechanism = mechanism) -> Rows:
            source = _NarrowKeystream(seed + value, mechanism.width)
            return mechanism.privatize(np.full(_SAMPLES, value, np.int64), source)

        require_channel(mechanism, range(mechanism.size), sampled, alpha)


def require_channel(
    mechanism: Mechanism,
    values: Iterable[int],
    sampled: Callable[[int], Rows],
    alpha: float,
    channel: Channel | None = None,
) -> None:
    """The reports that `sampled` gives for each value must follow the channel: that of the mechanism, or another one.

    A mechanism that follows it fails with probability `alpha` for each value.
    """
    from scipy.stats import chi2

    channel = mechanism.channel() if channel is None else channel
    order = np.argsort(bitstrings.to_integers(channel.reports))
    known, law = bitstrings.to_integers(channel.reports)[order], np.asarray(channel)[:, order]
    for value in values:
        reports = bitstrings.to_integers(sampled(value))
        place = np.minimum(np.searchsorted(known, reports), known.size - 1)
        unlisted = reports[known[place] != reports]
        require(
            not unlisted.size,
            f"{mechanism!r} sent the report {int(unlisted.min(initial=2**64 - 1)):#x} for value {value}, which its "
            "channel() does not list",
        )
        observed = np.bincount(place, minlength=known.size)
        statistic, freedom = _chi_square(observed, law[value] * reports.size)
        limit = chi2.isf(alpha, freedom)
        require(
            statistic <= limit,
            f"{reports.size} reports of {mechanism!r} for value {value} do not follow its channel(): chi-square is "
            f"{statistic:.1f} on {freedom} degrees of freedom, expected at most {limit:.1f}",
        )


def check_estimates(kind: Kind, seed: int = 0) -> None:
    """Estimates must be unbiased and have the stated variance, for items held by nobody, by some and by everybody.

    Catches a wrong `p`, `q` or `count`: wrong estimates, although the reports are private.
    """
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
            variance = np.maximum(_variances(mechanism, population), 1e-12)
            bias = (estimates.mean(axis=0) - population) / np.sqrt(variance / _RUNS)
            require(
                (np.abs(bias) <= limit).all(),
                f"{mechanism!r} is biased: over {_RUNS} runs with frequencies {population.tolist()} its mean estimates "
                f"are off by {bias.round(1).tolist()} standard errors, expected at most {limit:.1f}; check p, q and "
                "count",
            )
            spread = (estimates.var(axis=0) / variance - 1) / np.sqrt(2 / _RUNS)
            require(
                (np.abs(spread) <= limit).all(),
                f"{mechanism!r} does not have its stated variance: over {_RUNS} runs with frequencies "
                f"{population.tolist()} it is off by {spread.round(1).tolist()} standard errors, expected at most "
                f"{limit:.1f}; check p, q and count",
            )


def _variances(mechanism: Mechanism, population: NDArray[np.int64]) -> NDArray[np.float64]:
    """The stated variance of each estimate, if so many users hold each item."""
    if mechanism.pure:
        return np.asarray(mechanism.variance(_USERS) + population * mechanism.excess_variance)
    expected = sum(users * _chances(mechanism, item) for item, users in enumerate(population.tolist()))
    return np.asarray(mechanism.observe(expected, _USERS).variance)


def _chances(mechanism: Mechanism, item: int) -> NDArray[np.float64]:
    """The probability of each outcome for users who hold the item."""
    if mechanism.pure:  # there may be many items
        return np.where(np.arange(mechanism.size) == item, mechanism.p_star, mechanism.q_star)
    return np.array([float(mechanism.chance(item, outcome)) for outcome in range(mechanism.outcomes)])


def check_large_domains(kind: Kind, seed: int = 0) -> None:
    """On up to 50,000 items and up to epsilon 16, reports must support items with p* or q*, or have their outcomes.

    On up to 130 items and up to epsilon 4, no single bit may tell two values apart either. Catches bugs that small
    domains cannot show, such as a mistake in the second 64-bit word of a report, and those of a large epsilon, where
    only a large domain makes lies frequent enough to be seen.
    """
    some = list(instances(kind, sizes=(16, 65, 130), epsilons=(0.5, 2.0, 8.0, 16.0)))
    large = instances(kind, sizes=(50_000,), epsilons=(0.5, 16.0))
    many = [found for found in large if found.rounds <= _MOST_ROUNDS and found.pure]
    mechanisms = some + many
    alpha = FALSE_ALARMS / sum(4 * (len(telling_values(m)) + 1) * (m.size + m.report_bits) for m in mechanisms)
    for mechanism in mechanisms:
        samples = _affordable_samples(mechanism)
        values, held, lit = telling_values(mechanism), 0, []
        for value in values:
            rows = mechanism.privatize(np.full(samples, value, np.int64), seeded(seed + value))
            counts = mechanism.count(rows)
            _require_support(mechanism, f"value {value}", _chances(mechanism, value), counts, samples, alpha)
            held += counts[value] if mechanism.pure else 0
            lit.append(count_bits(rows, mechanism.report_bits))
        if mechanism.pure:  # a fault that every value shares is seen much better
            pooled, own = np.array([held]), np.array([mechanism.p_star])
            _require_support(mechanism, f"{len(values)} values", own, pooled, len(values) * samples, alpha)
        if mechanism.requested_epsilon <= _LARGEST_PRIVATE_BITS_EPSILON and mechanism in some:
            ones = np.array(lit)
            for hits in (ones, samples - ones):
                _require_bits_private(mechanism, hits, alpha)


def _affordable_samples(mechanism: Mechanism) -> int:
    """The number of reports of each value that take some tenths of a second at most."""
    affordable = min(_LARGE_SAMPLES, _LARGEST_SAMPLE_BYTES // mechanism.report_bytes)
    return min(affordable, _MOST_PAIRS // mechanism.size) if mechanism.counts_pairs else affordable


def _require_support(
    mechanism: Mechanism,
    values: str,
    expected: NDArray[np.float64],
    counts: NDArray[np.int64],
    samples: int,
    alpha: float,
) -> None:
    """The reports of these values support every item, or have every outcome, about as often as is expected."""
    from scipy.stats import binom

    tail = np.minimum(binom.cdf(counts, samples, expected), binom.sf(counts - 1, samples, expected))
    worst = int(np.argmin(tail))
    item = "the held item" if counts.size == 1 else f"item {worst}"
    named = "the probability"
    if mechanism.pure:
        named = "p*" if expected[worst] == mechanism.p_star else "q*"
    require(
        tail[worst] >= alpha,
        f"{mechanism!r}: {counts[worst]} of {samples} reports of {values} support {item}; expected about "
        f"{expected[worst] * samples:.0f}, since {named} is {expected[worst]:.6g}",
    )


def _require_bits_private(mechanism: Mechanism, hits: NDArray[np.int64], alpha: float) -> None:
    """No bit of the report is more than e^epsilon times as likely under one value as under another."""
    from scipy.stats import beta

    most, least = hits.max(axis=0), hits.min(axis=0)
    low = np.nan_to_num(beta.ppf(alpha, most, _LARGE_SAMPLES - most + 1))
    high = np.nan_to_num(beta.isf(alpha, least + 1, _LARGE_SAMPLES - least), nan=1.0)
    worst = int(np.argmax(low / high))
    require(
        low[worst] / high[worst] <= float(mechanism.ratio_once),
        f"{mechanism!r} leaks: bit {worst} of a report is at least {low[worst] / high[worst]:.3g} times as likely "
        f"under one value as under another; expected at most e^epsilon = {float(mechanism.ratio_once):.3g}",
    )


def _listable(mechanism: Mechanism) -> Mechanism | None:
    """The mechanism, or at a width of 8 bits if its reports are too many to list at 64; none if too many even then."""
    for width in (mechanism.width, 8):
        made = mechanism.at_width(width)
        try:
            made.channel()
        except ChannelTooLargeError:
            continue
        return made
    return None


def _chi_square(observed: Any, expected: Any) -> tuple[float, int]:
    """The chi-square statistic and its degrees of freedom; reports expected fewer than 10 times are pooled into one."""
    rare = expected < 10
    seen, due = observed[~rare], expected[~rare]
    if rare.any() and expected[rare].sum() >= 10:
        seen, due = np.append(seen, observed[rare].sum()), np.append(due, expected[rare].sum())
    return float(((seen - due) ** 2 / due).sum()), max(1, seen.size - 1)


class _NarrowKeystream(Keystream):
    """A seeded keystream with integers of `width` bits."""

    def __init__(self, seed: int, width: int) -> None:
        super().__init__(seeded(seed)._key)
        self.width = width

    def integers(self, who: Who) -> Words:
        return super().integers(who) >> np.uint64(64 - self.width)
