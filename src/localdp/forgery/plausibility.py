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

import numpy as np

from localdp.errors import EmptyError
from localdp.kernels.binomial_tails import binomial_at_least, binomial_at_most
from localdp.mechanisms import Mechanism
from localdp.mechanisms.laws import Drawn, WeightLaw
from localdp.types import Counts, Flags, Places, Rows, Vector
from localdp.validation import checked_level

FALSE_ALARMS = 1e-6
"""The share of honest batches in which something is flagged, at most, unless another is given."""

SINGLE, SUM, REPEATED, SUPPORT = "single weights", "sum of weights", "repeated functions", "support of an item"

_MEANINGS = {
    SINGLE: "single reports support more or fewer items than an honest device's would",
    SUM: "its reports together support more or fewer items than honest ones would",
    REPEATED: "reports use the same hash function more often than devices that draw it at random",
    SUPPORT: "more or fewer reports support one item than if everybody or nobody held it",
}
_FEW = 1 << 22  # functions that are counted in a table; more of them are sorted, which takes longer
_REACH = 9.0  # deviations; what lies farther away has a probability below 1e-18


@dataclass(frozen=True, eq=False)
class Plausibility:
    """How plausible a batch of reports is. `flagged` are the positions of single reports that give it away.

    `p_values` has the p-value of each test that applies to the mechanism. `localdp.forgery.plausibility` describes the
    tests.
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


def plausibility(mechanism: Mechanism, rows: Rows, false_alarms: float = FALSE_ALARMS) -> Plausibility:
    """Test whether reports of different devices look honest. `Plan.plausibility` calls this."""
    alarms, n = checked_level(false_alarms, "false_alarms"), len(rows)
    if not n:
        raise EmptyError("there are no reports to look at")
    law, drawn = mechanism.weight_law, mechanism.drawn_in(rows)
    tests = number_of_tests(mechanism)
    p_values, level = {}, alarms / tests
    flagged = np.zeros(n, np.bool_)
    if law is not None:
        weights = mechanism.weights(rows)
        single = np.minimum(n * single_p_values(weights, law), 1.0)
        p_values[SINGLE], flagged = float(single.min()), flagged | (single <= level)
        p_values[SUM] = min(1.0, 2 * min(summed_tails(int(weights.sum()), n, law)))
    if drawn is not None:
        p_values[REPEATED], repeated = _repeated(drawn, level)
        flagged |= repeated
    p_values[SUPPORT] = _support_p_value(mechanism, rows, level)
    return Plausibility(n, alarms, p_values, np.flatnonzero(flagged))


def number_of_tests(mechanism: Mechanism) -> int:
    """How many of the tests apply to a mechanism: by it, the smallest p-value of a batch is multiplied."""
    draws = mechanism.drawn_in(np.zeros((0, mechanism.report_bytes), np.uint8)) is not None
    return 1 + 2 * (mechanism.weight_law is not None) + draws


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


def single_p_values(weights: Counts, law: WeightLaw) -> Vector:
    """The two-sided p-value of each weight."""
    p_values: Vector = 2 * np.minimum(law.at_most(weights), law.at_least(weights))
    return np.minimum(p_values, 1.0)


def _repeated(drawn: Drawn, level: float) -> tuple[float, Flags]:
    """The p-value of the most frequent draw, and which reports have one that is too frequent at this level."""
    if drawn.known <= _FEW:
        times = np.bincount(drawn.values.astype(np.intp))[drawn.values]
    else:
        _, place, counted = np.unique(drawn.values, return_inverse=True, return_counts=True)
        times = counted[place]
    p_values = np.minimum(drawn.known * binomial_at_least(times, drawn.values.size, drawn.chance), 1.0)
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
