"""Which uploads look forged, and by how many of their reports. Every upload is tested, before it is counted.

An upload is a batch, and `localdp.forgery.plausibility` has exact tests of a batch. An honest upload is flagged with a
probability of at most `FALSE_ALARMS`, whatever people hold. To run all of these tests on every upload would take
longer than counting, so a piece is looked at in three ways:

1. *Every report.* Under unary mechanisms, the law of the weight holds for each report by itself. The weights of all
   reports are tested at once, each at the level that `plausibility` has for a report of its upload.
2. *Every upload with several reports* is screened: whether the sum of its weights is more than four deviations from
   what is expected, and whether a hash function (under `grr`, an item) is more frequent in it than in one honest
   upload of a thousand. Those that stand out are tested whole.
3. *A few others*, at most `SAMPLED` with `SCREENED` reports, are drawn at random and tested whole, for what no screen
   sees.

Whatever is chosen by screens or at random, an upload is flagged only if the exact test of it fails, so choosing cannot
raise the rate of false alarms.

Several uploads are never tested as one batch. A device that is asked again may send its permanent report again, in an
upload of its own, and is right to: a test that takes them for different devices would call it a forger.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from localdp.forgery.plausibility import number_of_tests, plausibility, single_p_values
from localdp.kernels.binomial_tails import binomial_at_least
from localdp.mechanisms import Mechanism
from localdp.mechanisms.laws import WeightLaw
from localdp.types import Counts, Flags, Rows, Vector

FALSE_ALARMS = 1e-9
"""The share of honest uploads that are flagged, at most: at a million uploads a day, one in three years."""
SAMPLED = 16
"""Other uploads of a piece that are tested whole, at most."""
SCREENED = 200_000
"""Reports of a piece whose hash functions are compared, about, or 64 of each upload."""
_FROM_EACH = 64
_DEVIATIONS = 4.0  # the exact test needs about six
_STANDS_OUT = 1e-3


def verdicts(mechanism: Mechanism, rows: Rows, sizes: Counts, random: np.random.Generator) -> Counts:
    """For each upload, how many of its reports look forged. `sizes` says how many follow each other in one upload."""
    starts = np.cumsum(sizes) - sizes
    found, several, odd = np.zeros(sizes.size, np.int64), sizes > 1, np.zeros(sizes.size, np.bool_)
    law = mechanism.weight_law
    if law is not None:
        weights = mechanism.weights(rows)
        flagged = _odd_weights(weights, law, FALSE_ALARMS / number_of_tests(mechanism) / sizes, sizes)
        found, odd = np.add.reduceat(flagged.astype(np.int64), starts), _odd_sums(weights, law, sizes, starts)
        several &= found == 0
    odd = several & (odd | _odd_draws(mechanism, rows, sizes, starts, several, random))
    others = np.flatnonzero(several & ~odd)
    drawn = random.permutation(others)[:SAMPLED]
    drawn = drawn[np.cumsum(sizes[drawn]) <= SCREENED]
    for place in [*np.flatnonzero(odd).tolist(), *drawn.tolist()]:
        upload = rows[starts[place] : starts[place] + sizes[place]]
        test = plausibility(mechanism, upload, FALSE_ALARMS)
        found[place] = 0 if test.plausible else int(test.flagged.size) or test.n
    return found


def _odd_weights(weights: Counts, law: WeightLaw, limits: Vector, sizes: Counts) -> Flags:
    """The reports whose own weight has a p-value of at most the limit of their upload."""
    different, place = np.unique(weights, return_inverse=True)
    return np.asarray(single_p_values(different, law)[place] <= np.repeat(limits, sizes))


def _odd_sums(weights: Counts, law: WeightLaw, sizes: Counts, starts: Counts) -> Flags:
    """Uploads whose reports together support many more or fewer items than is expected."""
    expected = law.own + law.others * law.other
    variance = law.own * (1 - law.own) + law.others * law.other * (1 - law.other)
    away = np.add.reduceat(weights, starts) - sizes * expected
    return np.asarray(np.abs(away) > _DEVIATIONS * np.sqrt(sizes * variance))


def _odd_draws(
    mechanism: Mechanism, rows: Rows, sizes: Counts, starts: Counts, several: Flags, random: np.random.Generator
) -> Flags:
    """Uploads in which some of the reports, evenly spaced from a random one on, have the same function too often."""
    odd, places = np.zeros(sizes.size, np.bool_), np.flatnonzero(several)
    if not places.size:
        return odd
    taken = np.minimum(sizes[places], max(_FROM_EACH, SCREENED // places.size))
    spacing = sizes[places] // taken
    first = starts[places] + random.integers(0, sizes[places] - spacing * (taken - 1))
    within = np.arange(taken.sum()) - np.repeat(np.cumsum(taken) - taken, taken)
    chosen = np.repeat(first, taken) + np.repeat(spacing, taken) * within
    drawn = mechanism.compared(rows[chosen])
    if drawn is None:
        return odd
    owners = np.repeat(np.arange(places.size, dtype=np.uint64), taken)
    # Two draws that are alike in 44 bits pass for one: that may choose an upload too many, and never one too few.
    keys = np.sort(owners << np.uint64(44) | drawn.values & np.uint64((1 << 44) - 1))
    ends = np.flatnonzero(np.append(keys[1:] != keys[:-1], True)) + 1
    times = np.diff(ends, prepend=0)
    most = np.zeros(places.size, np.int64)
    np.maximum.at(most, (keys[ends - 1] >> np.uint64(44)).astype(np.intp), times)
    limits = {int(number): _unusual(int(number), drawn.known, drawn.chance) for number in np.unique(taken)}
    odd[places] = most >= np.array([limits[int(number)] for number in taken])
    return odd


@lru_cache(maxsize=4096)
def _unusual(number: int, known: int, chance: float) -> int:
    """How often the most frequent of the draws must occur among so many to be unusual; above `number` if never."""
    times = np.arange(1, number + 1)
    unusual = known * binomial_at_least(times, number, chance) <= _STANDS_OUT
    return max(2, int(times[unusual][0]) if unusual.any() else number + 1)
