r"""Whether reports look like the reports of honest devices: tests with exact laws and a stated rate of false alarms.

Reports that no device can send are refused when they are read. What remains can be tested only as far as the law of
honest reports is known *whatever people hold*. These parts of it are:

**Weights.** In a report of independent bits (`sue`, `oue` and their chains), the bit of the held item is lit with
probability p* and each of the d - 1 others with q*. So the number of lit bits is, whichever item is held,

    W = Bernoulli(P) + Binomial(m, Q),      P = p*,  m = d - 1,  Q = q*.

Under `dbit`, b answers are given, and with probability b/d one of them is about the held item. The other b - 1 answers
(any b - 1 of them if none is) have the probability q, and the last one has p or q, so that

    P = (b/d) p + (1 - b/d) q,  m = b - 1,  Q = q.

The weights of n reports add up to Bernoulli sums again: Binomial(n, P) + Binomial(n m, Q). Both tails are summed
exactly. A single weight w has the p-value 2 min(Pr(W <= w), Pr(W >= w)), times n, because n reports are looked at.

**Repeated functions.** A device draws its hash function before it looks at its value, uniformly from F of them (`olh`,
`blh`, `llh`). That one of them occurs k times or more among n reports has a probability of at most
F Pr[Binomial(n, 1/F) >= k]. Under `hr`, each of the K columns has a probability of at most 2 p*/K, whatever is held.

**Support of an item.** If f of n users hold an item, Binomial(f, p*) + Binomial(n - f, q*) reports support it. Whatever
f is, that is rarely more than Binomial(n, p*) and rarely less than Binomial(n, q*) gives. So no item of an honest batch
has nearly all reports, whatever people hold. There are d items and two sides: the smallest tail is multiplied by 2 d.

Where users hold sets and one element of a set is reported, an item or padding, weights and functions are those of the
mechanism that reports it. A report of `privset` is about the whole set. p* and q* are always those of an item of a set.

The p-value of a batch is the smallest p-value of the tests that apply, times their number. An honest batch has a
p-value of at most a with a probability of at most a (union bounds), so `false_alarms` bounds the share of honest
batches in which anything is flagged. All of it assumes that the reports of a batch come from different devices: a
device that is asked again repeats itself, and is right to.

A forger who imitates honest reports everywhere but at one item, and mixes them with others' reports, passes all tests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from localdp.errors import EmptyError
from localdp.formats import bitstrings
from localdp.mechanisms import DBitFlip, HadamardResponse, Mechanism, PaddingAndSampling
from localdp.mechanisms.hashing_base import HashedMechanism
from localdp.mechanisms.unary import IndependentBits
from localdp.types import Counts, Flags, Places, Rows, Vector, Words
from localdp.validation import checked_level

if TYPE_CHECKING:
    from localdp.plan.reports import Reports

FALSE_ALARMS = 1e-6
"""The share of honest batches in which something is flagged, at most, unless another is given."""

SINGLE, SUM, REPEATED, SUPPORT = "single weights", "sum of weights", "repeated functions", "support of an item"

_MEANINGS = {
    SINGLE: "single reports support more or fewer items than an honest device's would",
    SUM: "its reports together support more or fewer items than honest ones would",
    REPEATED: "reports use the same hash function more often than devices that draw it at random",
    SUPPORT: "more or fewer reports support one item than if everybody or nobody held it",
}
_ROWS = 1 << 12  # rows whose bits are counted at a time
_FEW = 1 << 22  # functions that are counted in a table; more of them are sorted, which takes longer
_WIDE = 1 << 20  # counts between the smallest and the largest, above which each is computed by itself
_REACH = 9.0  # deviations; what lies farther away has a probability below 1e-18


@dataclass(frozen=True, eq=False)
class Plausibility:
    """How plausible a batch of reports is. `flagged` are the positions of single reports that give it away.

    `p_values` has the p-value of each test that applies to the mechanism; `localdp.plan.plausibility` describes them.
    """

    n: int
    false_alarms: float
    p_values: Mapping[str, float]
    flagged: Places

    @property
    def p_value(self) -> float:
        """An honest batch has a p-value of at most a with a probability of at most a."""
        return min(1.0, len(self.p_values) * min(self.p_values.values()))

    @property
    def plausible(self) -> bool:
        """Whether no test gives alarm at the rate of false alarms."""
        return self.p_value > self.false_alarms

    @property
    def sentence(self) -> str:
        """What was found, in plain words."""
        batch = f"a batch of {self.n:,} report{'' if self.n == 1 else 's'}"
        if self.plausible:
            return f"{batch} looks like the reports of honest devices".capitalize()
        worst = min(self.p_values, key=lambda name: self.p_values[name])
        some = f", {self.flagged.size:,} of them flagged," if self.flagged.size else ""
        return (
            f"{batch.capitalize()}{some} is implausible: {_MEANINGS[worst]} (p-value {self.p_value:.2g}; an honest "
            f"batch is called implausible with a probability of at most {self.false_alarms:g})"
        )

    def __repr__(self) -> str:
        return f"<Plausibility: {self.sentence}>"


def plausibility(reports: Reports, false_alarms: float = FALSE_ALARMS) -> Plausibility:
    """Test whether reports of different devices look honest. `Plan.plausibility` calls this."""
    alarms, mechanism, rows = checked_level(false_alarms, "false_alarms"), reports.plan.mechanism, reports.rows
    n = len(rows)
    if not n:
        raise EmptyError("there are no reports to look at")
    law, drawn = weight_law(mechanism), drawn_by(mechanism, rows)
    tests = number_of_tests(mechanism)
    p_values, level = {}, alarms / tests
    flagged = np.zeros(n, np.bool_)
    if law is not None:
        weights = lit_bits(mechanism, rows)
        single = np.minimum(n * single_p_values(weights, law), 1.0)
        p_values[SINGLE], flagged = float(single.min()), flagged | (single <= level)
        p_values[SUM] = min(1.0, 2 * min(summed_tails(int(weights.sum()), n, law)))
    if drawn is not None:
        p_values[REPEATED], repeated = _repeated(*drawn, level)
        flagged |= repeated
    p_values[SUPPORT] = _support_p_value(mechanism, rows, level)
    return Plausibility(n, alarms, p_values, np.flatnonzero(flagged))


def number_of_tests(mechanism: Mechanism) -> int:
    """How many of the tests apply to a mechanism: by it, the smallest p-value of a batch is multiplied."""
    of_functions = isinstance(_sampled_for(mechanism), HashedMechanism | HadamardResponse)
    return 1 + 2 * (weight_law(mechanism) is not None) + of_functions


@dataclass(frozen=True)
class WeightLaw:
    """The law of the weight of an honest report: Bernoulli(own) + Binomial(others, other).

    >>> law = WeightLaw(own=0.5, others=2, other=0.25)
    >>> [round(float(law.at_least(np.array([w]))[0]), 6) for w in (0, 1, 2, 3)]
    [1.0, 0.71875, 0.25, 0.03125]
    """

    own: float
    others: int
    other: float

    def at_least(self, weights: Counts) -> Vector:
        """Pr(W >= w) for each weight."""
        lit, dark = (binomial_at_least(weights - bit, self.others, self.other) for bit in (1, 0))
        return self.own * lit + (1 - self.own) * dark

    def at_most(self, weights: Counts) -> Vector:
        """Pr(W <= w) for each weight."""
        lit, dark = (binomial_at_most(weights - bit, self.others, self.other) for bit in (1, 0))
        return self.own * lit + (1 - self.own) * dark


def weight_law(mechanism: Mechanism) -> WeightLaw | None:
    """The law of the number of lit bits in a report; None where it says nothing, or is the same for all reports."""
    mechanism = _sampled_for(mechanism)
    if isinstance(mechanism, IndependentBits):
        return WeightLaw(mechanism.p_star, mechanism.size - 1, mechanism.q_star)
    if isinstance(mechanism, DBitFlip):
        held = mechanism.answers / mechanism.size
        p, q = (threshold / 2**mechanism.width for threshold in (mechanism.keep, mechanism.noise))
        return WeightLaw(held * p + (1 - held) * q, mechanism.answers - 1, q)
    return None


def _sampled_for(mechanism: Mechanism) -> Mechanism:
    """Where users hold sets: the mechanism that reports one element, whose laws hold whichever element it is."""
    return mechanism.inner if isinstance(mechanism, PaddingAndSampling) else mechanism


def summed_tails(total: int, n: int, law: WeightLaw) -> tuple[float, float]:
    """Pr(S <= total) and Pr(S >= total) for the sum S of n honest weights.

    S is Binomial(n, own) + Binomial(n others, other): the tail of the second is averaged over the first.
    """
    from scipy.special import gammaln, xlog1py, xlogy

    spread = _REACH * math.sqrt(n * law.own * (1 - law.own)) + 4 * _REACH  # Poisson tails are longer than Gaussian ones
    low, high = max(0, math.floor(n * law.own - spread)), min(n, math.ceil(n * law.own + spread))
    own = np.arange(low, high + 1, dtype=np.int64)
    logs = gammaln(n + 1.0) - gammaln(own + 1.0) - gammaln(n - own + 1.0)
    masses = np.exp(logs + xlogy(own, law.own) + xlog1py(n - own, -law.own))
    masses /= masses.sum()
    rest = total - own
    return (
        float(masses @ binomial_at_most(rest, n * law.others, law.other)),
        float(masses @ binomial_at_least(rest, n * law.others, law.other)),
    )


def binomial_at_least(counts: Counts, trials: int, chance: float) -> Vector:
    """Pr[Binomial(trials, chance) >= count] for each count.

    Incomplete beta functions give the two ends of the range of counts, and what lies between is divided up by the
    ratios of neighbouring probabilities, Pr(k + 1) / Pr(k) = (trials - k) / (k + 1) * chance / (1 - chance).
    """
    from scipy.special import betainc

    low, high = max(1, int(counts.min())), min(trials, int(counts.max()))
    tails = np.where(counts <= 0, 1.0, 0.0)
    if low > high:
        return tails
    if high - low > _WIDE:  # a forged report of a large domain must not cost its length in memory
        inside = (counts >= low) & (counts <= high)
        tails[inside] = betainc(counts[inside].astype(np.float64), trials - counts[inside] + 1.0, chance)
        return tails
    first, beyond = (
        float(betainc(float(end), trials - end + 1.0, chance)) if end <= trials else 0.0 for end in (low, high + 1)
    )
    k = np.arange(low, high, dtype=np.float64)
    logs = np.concatenate([[0.0], np.cumsum(np.log((trials - k) / (k + 1)) + math.log(chance / (1 - chance)))])
    ratios = np.exp(logs - logs.max())
    masses = (first - beyond) * (ratios / ratios.sum())
    inside = (counts >= low) & (counts <= high)
    tails[inside] = np.minimum(beyond + np.cumsum(masses[::-1])[::-1], 1.0)[counts[inside] - low]
    return tails


def binomial_at_most(counts: Counts, trials: int, chance: float) -> Vector:
    """Pr[Binomial(trials, chance) <= count] for each count."""
    return binomial_at_least(trials - counts, trials, 1 - chance)


def lit_bits(mechanism: Mechanism, rows: Rows) -> Counts:
    """The number of lit bits of each report; under `dbit`, of its answers and not of the items it names."""
    mechanism = _sampled_for(mechanism)
    if isinstance(mechanism, DBitFlip):
        return np.asarray((mechanism.fields(rows) >> np.uint64(mechanism.item_bits)).sum(axis=1)).astype(np.int64)
    weights, words = np.empty(len(rows), np.int64), -(-rows.shape[1] // 8)
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        padded = np.zeros((len(part), 8 * words), np.uint8)  # words of 64 bits are counted much faster than bytes
        padded[:, : rows.shape[1]] = part
        weights[start : start + _ROWS] = np.bitwise_count(padded.view(np.uint64)).sum(axis=1, dtype=np.int64)
    return weights


def single_p_values(weights: Counts, law: WeightLaw) -> Vector:
    """The two-sided p-value of each weight."""
    p_values: Vector = 2 * np.minimum(law.at_most(weights), law.at_least(weights))
    return np.minimum(p_values, 1.0)


def drawn_by(mechanism: Mechanism, rows: Rows) -> tuple[Words, int, float] | None:
    """What devices draw at random: of each report, how many there are, and the largest probability of one."""
    mechanism = _sampled_for(mechanism)
    if isinstance(mechanism, HashedMechanism):
        known = (1 << mechanism.function_bits) - (mechanism.name == "llh")  # llh never draws the multiplier 0
        return mechanism.split(rows)[0], known, 1 / known
    if isinstance(mechanism, HadamardResponse):
        known = 1 << mechanism.order_bits
        return bitstrings.to_integers(rows), known, 2 * mechanism.p_star / known
    return None


def _repeated(drawn: Words, known: int, chance: float, level: float) -> tuple[float, Flags]:
    """The p-value of the most frequent draw, and which reports have one that is too frequent at this level."""
    if known <= _FEW:
        times = np.bincount(drawn.astype(np.intp))[drawn]
    else:
        _, place, counted = np.unique(drawn, return_inverse=True, return_counts=True)
        times = counted[place]
    p_values = np.minimum(known * binomial_at_least(times, drawn.size, chance), 1.0)
    return float(p_values.min()), p_values <= level


def _support_p_value(mechanism: Mechanism, rows: Rows, level: float) -> float:
    """The p-value of the items with the most and the fewest reports; 1 without counting if it cannot give alarm."""
    n, sides = len(rows), 2 * mechanism.outcomes
    p, q = mechanism.outcome_chances
    if sides * max(p**n, (1 - q) ** n) > level and sides * min(p**n, (1 - q) ** n) > level:
        return 1.0
    counts = mechanism.tally(rows)
    above = binomial_at_least(counts.max(keepdims=True), n, p)[0]
    below = binomial_at_most(counts.min(keepdims=True), n, q)[0]
    return min(1.0, sides * float(min(above, below)))
