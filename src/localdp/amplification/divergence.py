r"""What shuffled reports tell: the divergence between two neighbouring surveys, from above and from below.

n people send a report each, and nobody knows who sent which. Two neighbouring surveys differ in one person, whose value
is x in one and x' in the other. Let e = e^epsilon. The survey is (epsilon, delta)-private if

    delta  >=  sum over sets of reports w of ( Pr(w | x) - e Pr(w | x') )+              for all x, x' and others.

**From above.** Let R_v be the law of a report of value v, and let `least` be a measure that is nowhere above R_v,
for any v. Every other person's report can be drawn in two steps: with probability |least| it comes from `least`, and
otherwise from the rest of R_v. Tell the attacker which of the others' reports came from the rest, and what they are.
That can only help, and leaves the person's report among m - 1 reports from `least`, in random order. Then

    Pr(w | x) = Pr(m) prod_i least(w_i)/|least| . (1/m) sum_i R_x(w_i) |least| / least(w_i),

so with  g(w) = (R_x(w) - e R_x'(w)) / least(w),  and g = 0 for a report that does not come from `least`,

    delta(epsilon) <= (1/n) E[ (g(w_1) + .. + g(w_n))+ ],                                          (1)

where the w_i are independent and come from `least` or, with probability 1 - |least|, from nowhere. This is the privacy
blanket of Balle, Bell, Gascon & Nissim (CRYPTO 2019), computed instead of bounded. The clones of Feldman, McMillan &
Talwar (FOCS 2021, SODA 2023) are the same expression for a smaller `least`, and so never tighter (Su, Cheng & Wang,
"A unified framework and efficient computation for privacy amplification via shuffling", 2025).

Reports with the same R_x : R_x' : least are one *class*, so g is a step with few values. A law with the same mean that
is more spread out ("larger in the convex order") gives a larger right side of (1), because ( )+ is convex. Two uses:

- *The worst pair.* Where a report is h times as likely as without a value if it supports the value, and l times if not,
  g has four values: h - el, l - eh, h(1-e) and l(1-e). The first and second have the sum of the third and fourth, and
  lie outside of them. So the pair of values that share the least support is the worst pair, at every epsilon.
- *A grid.* Each value of g is split between the two neighbouring multiples of a small step so that the mean stays.
  Then the law of the sum is computed by `lattice_sums`, with a bound on all errors, which is added.

**From below.** Let all others hold one value y. The same argument, with R_y in the place of `least`, is then exact. An
attacker may add up a whole number v(w) for each report, close to a multiple of g(w) = (R_x - e R_x')/R_y. With f the
law of the sum of n - 1 such scores under R_y, the sum V of all n has Pr(V = s | x) = sum_w R_x(w) f(s - v(w)), and

    delta(epsilon) >= sum over s in any set of  sum_w (R_x(w) - e R_x'(w)) f(s - v(w)),            (2)

whatever the scores are. Let g = a + b v + r, with a and b the origin and the step of the scores, and r what rounding
left. Since the n scores are alike, sum_w R_y(w) v(w) f(s - v(w)) = (s/n) f_n(s), with f_n the law of the sum of n. So
the inner sum of (2) is

    (a + b s/n) f_n(s) + sum_w R_y(w) r(w) f(s - v(w)),                                            (3)

in which nothing large cancels. All error bounds are subtracted.

e is a float, taken as an exact fraction, and all values of g are fractions, so nothing is lost before `lattice_sums`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from localdp.amplification.lattice_sums import Sum, Tilt, growths, sum_of
from localdp.mechanisms.report_classes import Neighbours

_SMALL = Fraction(1, 10**12)  # times the smallest value of g: a largest one below that is as good as 0

Values = dict[Fraction, Fraction]
"""The probability of each value of g."""


def upper(neighbours: Neighbours, n: int, e: Fraction, places: int) -> float:
    """A bound on delta from above, by (1), on a grid of about so many places."""
    values = _values(((one.first - e * one.second) / one.least, one.least) for one in neighbours)
    nowhere = 1 - sum(values.values())
    if nowhere:
        values[Fraction(0)] = values.get(Fraction(0), Fraction(0)) + nowhere
    most = max(values)
    if most <= _SMALL * -min(values):
        return max(0.0, float(most) * (1 + 1e-9))  # no sum of n values is above n times the largest
    grid = _Grid.over(values, n, places)
    threshold = float(grid.threshold)
    total = sum_of(grid.split(values), n, threshold)
    return _excess(total, math.nextafter(threshold, -math.inf)) * float(grid.step) / n


def lower(neighbours: Neighbours, n: int, e: Fraction, places: int) -> float:
    """A bound on delta from below, by (2), with scores on a grid of about so many places."""
    told = [((one.first - e * one.second) / one.other, one) for one in neighbours]
    values = _values((g, one.other) for g, one in told)
    if min(values) >= 0 or max(values) <= _SMALL * -min(values):
        return 0.0
    grid = _Grid.over(values, n, places)
    scores = {g: round((g - grid.origin) / grid.step) for g in values}
    atoms: dict[int, Fraction] = {}
    rests: dict[int, Fraction] = {}
    for g, one in told:
        score = scores[g]
        atoms[score] = atoms.get(score, Fraction(0)) + one.other
        rest = (g - grid.origin - score * grid.step) * one.other
        rests[score] = rests.get(score, Fraction(0)) + rest
    # Where the values of g have mean 0: there the attacker begins to say x.
    mean = float(Tilt.centred(values, 0.0).weights @ np.array([scores[g] for g in values], np.float64))
    if not min(atoms) < mean < max(atoms):
        return 0.0
    return _attack(sum_of(atoms, n - 1, (n - 1) * mean), atoms, rests, grid)


def _values(chances: Iterable[tuple[Fraction, Fraction]]) -> Values:
    """The law of g, from its value and probability in each class."""
    values: Values = {}
    for g, chance in chances:
        values[g] = values.get(g, Fraction(0)) + chance
    return values


@dataclass(frozen=True)
class _Grid:
    """The places `origin + k step`. The most frequent value of g and the one farthest from it lie on the grid."""

    origin: Fraction
    step: Fraction
    n: int

    @classmethod
    def over(cls, values: Values, n: int, places: int) -> _Grid:
        """A grid on which the sum of n values that matters has about so many places."""
        origin = max(values, key=lambda g: values[g])
        farthest = max(abs(g - origin) for g in values)
        tilt = Tilt.centred(values, 0.0)
        window = tilt.reach(n, 1) + tilt.reach(n, -1)
        return cls(origin, farthest / max(1, math.floor(float(farthest) * 0.98 * places / window)), n)

    @property
    def threshold(self) -> Fraction:
        """The number of steps that n values must be above their origins, together, to have a positive sum."""
        return -self.n * self.origin / self.step

    def split(self, values: Values) -> dict[int, Fraction]:
        """The same law on the grid: each value is split between its two neighbours, and the mean stays."""
        atoms: dict[int, Fraction] = {}
        for g, chance in values.items():
            place, rest = divmod(g - self.origin, self.step)
            share = rest / self.step
            for at, part in ((int(place), chance * (1 - share)), (int(place) + 1, chance * share)):
                if part:
                    atoms[at] = atoms.get(at, Fraction(0)) + part
        return atoms


def _excess(total: Sum, threshold: float) -> float:
    """E[(S - threshold)+], from above."""
    excess = total.places - threshold
    excess = excess[excess > 0]
    chances = total.chances[total.chances.size - excess.size :]
    theta = total.tilt.theta
    with np.errstate(under="ignore"):
        weights = excess * np.exp(-theta * excess)
    found = float(weights @ chances) + float(weights.sum()) * total.additive
    log_scale = total.log_scale - theta * threshold
    return _exp(math.log(found) + log_scale) + _past_window(total, threshold)


def _past_window(total: Sum, threshold: float) -> float:
    """A bound on what sums past the window add to E[(S - threshold)+].

    Let w be the distance from the threshold to the last place. Where Y = S - threshold > w and t > 0,
    Y <= (w + 1/t) e^(t (Y - w)), so the mean of Y there is at most (w + 1/t) E[e^(tY)] e^(-tw).
    """
    tilt, w = total.tilt, total.places[-1] - threshold
    centred = tilt.places - threshold / total.n
    more, growth = growths(centred, tilt.weights)
    t = tilt.theta + more
    exponents = total.log_scale - tilt.theta * threshold + total.n * growth - t * w + np.log(w + 1 / t)
    return _exp(float(exponents.min()))


def _exp(exponent: float) -> float:
    """e^exponent, from above."""
    return math.exp(min(max(exponent, -700.0), 700.0)) * (1 + 1e-9)


def _attack(others: Sum, atoms: dict[int, Fraction], rests: dict[int, Fraction], grid: _Grid) -> float:
    """(3) over the sums at which an attacker says x, less all errors."""
    least, theta, size = min(atoms), others.tilt.theta, others.chances.size
    all_of_them, own, doubt = (np.zeros(size + max(atoms) - least) for _ in range(3))
    uncertain = 0.0
    for score, chance in atoms.items():
        tilted = math.exp(theta * score)
        at = slice(score - least, score - least + size)
        all_of_them[at] += tilted * float(chance) * others.chances
        own[at] += tilted * float(rests[score]) * others.chances
        doubt[at] += tilted * abs(float(rests[score])) * others.chances
        uncertain += tilted * abs(float(rests[score]))
    s = others.first + least + np.arange(own.size, dtype=np.float64)
    above = (s - math.nextafter(float(grid.threshold), math.inf)) * (float(grid.step) / grid.n)
    whole = sum(math.exp(theta * score) * float(chance) for score, chance in atoms.items())
    net = above * all_of_them + own
    net -= (others.rounding + 1e-12) * (np.abs(above) * all_of_them + doubt)
    net -= others.additive * (np.abs(above) * whole + uncertain)
    exponents = others.log_scale - theta * s
    gain = np.where((net > 0) & (exponents < 600), net, 0.0)
    with np.errstate(under="ignore"):
        return float(gain @ np.exp(np.minimum(exponents, 600.0))) * (1 - 1e-9)
