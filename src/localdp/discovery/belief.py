r"""What is known about the share of users behind a candidate: a distribution, carried from round to round.

**Measurements.** Round g is answered by n_g users, and gives every cell an unbiased estimate y of the share s of users
behind it. It is nearly Gaussian, with the variance

    V_g(s) = ( v + s x + s (1 - s) ) / n_g,

where v and x are the variance and the excess variance of the plan's mechanism for one user, and s (1 - s) is there
because the n_g users are a random part of all. In a small group the counts of cells are small numbers, whose chance
excesses are larger than a Gaussian's: among a million empty cells with a count of 80 in expectation, ten times as many
are five standard errors too high. So a residual of r standard errors counts as

    sign(r) sqrt( 2 ((1 + k r) ln(1 + k r) - k r) ) / k  +  k / 6,      k = (1 - 2 q) / sqrt(n_g q (1 - q)),

the signed root of the deviance of a Poisson count with the skewness k that a count of probability q has. Its tail is
that of the binomial law within a few percent, up to six standard errors and down to a count of five in expectation.

**The first round.** Its cells are all prefixes of b_1 bits. Calibrate learns from the estimates of all of them how
shares are distributed (the `smooth` prior), and the belief about a cell is its posterior.

**From a prefix to its extensions.** In a later round a cell is one of the E possible extensions of a prefix about
which we have a belief. The shares phi_1, .., phi_E of the prefix's users that go to each extension follow a symmetric
Dirichlet distribution with concentration theta, so that for one of them

    phi ~ Beta( theta/E, theta (1 - 1/E) ),         s_cell = phi s_prefix.

If theta is near 0, one extension has everybody: so it is with random keys, where two heavy keys hardly ever
begin alike, and then the estimates of a key's prefixes are as good as estimates of the key. If theta is large, users
spread over many extensions, as with the first letters of words; then a prefix only bounds its extensions from above.
The data decide: theta is the one of `THETAS` with the largest likelihood of all estimates behind the prefixes that are
almost certainly heavy, where the cells of a prefix count as independent. (Moments, the sum of squared estimates beside
the squares of the prefixes' own, are simpler; but the noise of 2^14 cells drowns the square of a share of 1%, which a
single estimate of 5 standard errors shows.)

One theta does not describe all prefixes: behind most of them users may spread, and behind one nearly all go on alike.
So the law is a mixture, of this theta with weight 1 - `DOUBT` and of all `THETAS` with the rest; without it a large
theta pulls clear estimates down by a standard error. For the same reason the weight of the others is `MORE_DOUBT` in
the beliefs that the last estimates start from. A finished candidate has itself as its only extension (phi = 1).

So the belief about a cell before its round is the belief about its prefix, pushed through this law; after its round it
is multiplied by the likelihood of its estimate. That is how evidence of earlier rounds is used: the extension of a
prefix that is certainly heavy needs less evidence of its own than that of a doubtful one.

**Which candidates are kept.** A cell is heavy if its share exceeds `heavy`, half of the reach of the design
(`localdp.discovery.design`). Dropping a cell that is heavy with probability P loses P hitters in expectation; keeping
it costs every device a few bytes more to read and the next round 2^b cells more. A cell is kept if P is at least the
price of that, and if more pass than the next round has room for, those with the largest P are kept. Cells of one
prefix pass in the order of their estimates, so the smallest estimate that passes is found once for each prefix, and
only the cells above it are looked at one by one.

Texts differ in length, and those that are not finished after the last round are lost. With fewer open candidates a
round can ask for more bits. So before the last planned round the least likely open candidates of texts are dropped as
well, as long as `SPARE` values of the reach of the design are lost in expectation, and the round asks for as many bits
as fit. In the rounds before, when each candidate has fewer estimates, that would lose more than it gains. Keys gain
nothing by that: their rounds end where they are planned to.

**Numbers.** Beliefs are masses on shares 0, s_1, s_2, .., 1 with a constant ratio; 0 stands for every share below
s_1, which is a quarter of the standard error of all users together. A Gaussian likelihood is widened by the width of a
step where the steps are wider than the noise, which forgets some precision about very heavy items and never invents
any.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.frozen import read_only
from localdp.mechanisms import Mechanism
from localdp.types import Flags, Indices, Vector

Matrix = NDArray[np.float64]
"""One row for each candidate, one column for each share of the grid."""

RATIO = 1.06
_FIRST = 0.25  # of a standard error: the smallest share of the grid that is not 0
_HIGHEST = 12.0  # standard errors above 0, and half as many above `heavy`: where this does not pass, nothing does
_STEP = 0.25  # of a standard error, between the estimates that are tried as limits
_MOST_TRIED = 400
SPARE = 0.1
"""How many values of the reach may be lost in a round, in expectation, to let texts go on by more bits."""
DOUBT, MORE_DOUBT = 0.01, 0.3
"""The weight of all other thetas beside the one that was chosen: while candidates are chosen, and for what is told of
values in the end."""
SURE = 0.99
"""How probable it must be that a prefix is heavy, for theta to be learnt from it."""
THETAS = tuple(float(f"{10 ** (power / 2):.3g}") for power in range(-4, 7))
"""0.01, 0.0316, .. 1000: what theta may be."""
_SYMMETRIC = 1e-4  # skewness: below, there is nothing to correct
_SPREAD_OUT, _BINS = 6.0, 120  # standard errors on either side that estimates are binned in; beyond, one by one
_LOOKED_AT = 1 << 17  # cells that are looked at one by one, at most


@dataclass(frozen=True)
class Noise:
    """The law of the estimates of one round: n_g users, the variance v and the excess variance x for one user, and the
    skewness k.
    """

    users: int
    variance: float
    excess: float
    skewness: float = 0.0

    @classmethod
    def of(cls, mechanism: Mechanism, users: int) -> Noise:
        """The law of estimates by this mechanism."""
        q = mechanism.q_star
        skewness = (1 - 2 * q) / math.sqrt(users * q * (1 - q))
        return cls(users, mechanism.variance(1), mechanism.excess_variance, skewness)

    def gaussian(self, residuals: Any) -> Any:
        """Residuals in standard errors, as those of a Gaussian: see above."""
        k = self.skewness
        if abs(k) < _SYMMETRIC:
            return residuals
        x = np.maximum(k * np.asarray(residuals), _SYMMETRIC - 1)
        return np.sign(residuals) * np.sqrt(2 * np.maximum((1 + x) * np.log1p(x) - x, 0.0)) / k + k / 6

    def at(self, shares: Any) -> Any:
        """The variance of the estimate of a cell with this share, or these shares."""
        extra = np.maximum(self.variance + shares * self.excess, 0.0) + shares * (1 - shares)
        return np.maximum(extra, 1e-12) / self.users

    def of_reports(self, shares: Any) -> Any:
        """The same for these very users: without the chance that decided which users they are."""
        return np.maximum(self.variance + shares * self.excess, 1e-12) / self.users

    @property
    def deviation(self) -> float:
        """The standard deviation of the estimate of an empty cell."""
        return math.sqrt(self.at(0.0))


class Grid:
    """The shares on which beliefs are computed."""

    def __init__(self, smallest: float) -> None:
        steps = max(8, math.ceil(math.log(1 / min(smallest, 0.5)) / math.log(RATIO)))
        self.shares: Vector = read_only(np.append(0.0, RATIO ** -np.arange(steps, -1.0, -1.0)))

    @classmethod
    def of(cls, users: int, variance: float) -> Grid:
        """The grid for so many users in all, with this variance for one user."""
        return cls(_FIRST * math.sqrt(variance / users))

    @property
    def size(self) -> int:
        return self.shares.size

    @cached_property
    def edges(self) -> Vector:
        """The borders between the shares: everything below the first of them counts as 0."""
        return np.append(self.shares[1:] / math.sqrt(RATIO), 1.0)

    def log_likelihood(self, estimates: Any, noise: Noise) -> Matrix:
        """The log-density of each estimate under each share: one row for each estimate."""
        width = self.shares * math.log(RATIO)
        variances = noise.at(self.shares) + width**2 / 12
        gaps = np.asarray(estimates, np.float64)[:, None] - self.shares
        residuals = noise.gaussian(gaps / np.sqrt(variances))
        return np.asarray(-(residuals**2) / 2 - np.log(variances) / 2)

    def prior(self, fitted: Any, users: int) -> Vector:
        """The masses that a fitted prior of frequencies among so many users gives to the shares."""
        low, high = self.edges[:-1] * users, self.edges[1:] * users
        middle = np.sqrt(low * high)
        with np.errstate(under="ignore"):
            masses = np.exp(fitted.log_mass(np.minimum(middle, fitted.largest))) * (high - low)
        masses[middle > fitted.largest] = 0.0
        total = float(masses.sum())
        if total > 0.5:  # a prior that sees nothing but heavy cells would leave no room for chance
            masses *= 0.5 / total
        return np.append(1.0 - masses.sum(), masses)

    def spread(self, theta: float, extensions: float, doubt: float = DOUBT) -> Matrix:
        """The law of the share of an extension, for each share of its prefix: rows are prefixes."""
        from scipy.special import betainc

        if extensions <= 1:
            return np.eye(self.size)
        limits = np.minimum(RATIO ** -(np.arange(self.size) - 0.5), 1.0)  # phi less than half a step above the step

        def beta(theta: float) -> Any:
            return betainc(theta / extensions, theta * (1 - 1 / extensions), limits)

        below = (1 - doubt) * beta(theta) + doubt * sum(map(beta, THETAS)) / len(THETAS)
        masses = below - np.append(below[1:], 0.0)
        law = np.zeros((self.size, self.size))
        law[0, 0] = 1.0
        for place in range(1, self.size):
            law[place, 1 : place + 1] = masses[:place][::-1]
            law[place, 0] = below[place]
        return law

    def tail(self, beliefs: Matrix, heavy: float) -> Vector:
        """The probability that the share exceeds `heavy`, for each belief."""
        return np.asarray(beliefs[:, self.shares > heavy].sum(axis=1))


def updated(beliefs: Matrix, log_likelihood: Matrix) -> Matrix:
    """The beliefs after an estimate: each row is multiplied by the likelihoods and made to add up to 1."""
    with np.errstate(divide="ignore", under="ignore"):
        logs = np.log(beliefs) + log_likelihood
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def concentration(grid: Grid, beliefs: Matrix, estimates: Matrix, noise: Noise, extensions: float) -> float:
    """Theta, by likelihood: from the beliefs about prefixes before a round, and the estimates of their extensions.

    Both have a row for each prefix. Impossible extensions have the estimate nan.
    """
    if not len(beliefs) or extensions <= 1:
        return 1.0
    edges = np.linspace(-_SPREAD_OUT, _SPREAD_OUT, 2 * _BINS + 1) * noise.deviation
    counts = np.array([np.histogram(row, edges)[0] for row in estimates], np.float64)
    rows, columns = np.nonzero(estimates >= edges[-1])
    log_middle = grid.log_likelihood((edges[1:] + edges[:-1]) / 2, noise)
    log_far = grid.log_likelihood(estimates[rows, columns], noise)
    far_most = log_far.max(axis=1, initial=-np.inf)
    middle, far = np.exp(log_middle), np.exp(log_far - far_most[:, None])
    scores = []
    for theta in THETAS:
        priors = beliefs @ grid.spread(theta, extensions, 0.0)
        with np.errstate(divide="ignore"):
            near = (counts * np.log(np.maximum(priors @ middle.T, 1e-300))).sum()
            scores.append(near + np.log(np.maximum((priors[rows] * far).sum(axis=1), 1e-300)).sum())
    return THETAS[int(np.argmax(scores))]


@dataclass(frozen=True)
class Kept:
    """Cells that are kept: the number of their prefix, the place among its extensions, the estimate and P(heavy)."""

    prefix: Indices
    extension: Indices
    estimates: Vector
    probabilities: Vector

    def take(self, places: Any) -> Kept:
        """Some of them."""
        return Kept(self.prefix[places], self.extension[places], self.estimates[places], self.probabilities[places])


def limits(grid: Grid, priors: Matrix, noise: Noise, heavy: float, price: float) -> Vector:
    """For each belief before a round, the smallest estimate with which a cell is heavy with probability `price`.

    Estimates are tried in steps of a quarter of a standard error, or a little more; infinity if none is enough.
    """
    highest = max(_HIGHEST * noise.deviation, heavy + _HIGHEST / 2 * math.sqrt(noise.at(heavy)))
    tried = np.linspace(0.0, highest, min(math.ceil(highest / (_STEP * noise.deviation)), _MOST_TRIED) + 1)
    log_likelihood = grid.log_likelihood(tried, noise)
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    above = grid.shares > heavy
    with np.errstate(invalid="ignore", divide="ignore"):
        chances = (priors[:, above] @ likelihood[:, above].T) / (priors @ likelihood.T)
    passes = chances >= price
    first = np.argmax(passes, axis=1)
    # The probability grows from one tried estimate to the next, so one step lower is surely low enough.
    return np.where(passes.any(axis=1), tried[np.maximum(first - 1, 0)], np.inf)


def promising(estimates: Matrix, possible: Flags | None, lowest: Vector) -> tuple[Indices, Indices]:
    """The cells whose estimates reach the limit of their prefix: rows and columns of `estimates`.

    If they are very many, those that exceed it most.
    """
    passes = estimates >= lowest[:, None]
    if possible is not None:
        passes &= possible
    rows, columns = np.nonzero(passes)
    if rows.size > _LOOKED_AT:
        excess = estimates[rows, columns] - lowest[rows]
        most = np.sort(np.argpartition(-excess, _LOOKED_AT)[:_LOOKED_AT])
        rows, columns = rows[most], columns[most]
    return rows, columns


def chances_of(grid: Grid, priors: Matrix, rows: Indices, estimates: Vector, noise: Noise, heavy: float) -> Vector:
    """The probability that each cell is heavy, given the belief of its row before the round and its estimate."""
    found = np.empty(rows.size)
    for start in range(0, rows.size, 1 << 14):
        part = slice(start, start + (1 << 14))
        beliefs = updated(priors[rows[part]], grid.log_likelihood(estimates[part], noise))
        found[part] = grid.tail(beliefs, heavy)
    return found


def best(kept: Kept, price: float, room: int) -> Kept:
    """The cells that are worth their price, the likeliest first, as many as there is room for."""
    order = np.lexsort((-kept.estimates, -kept.probabilities))
    return kept.take(order[: min(int((kept.probabilities >= price).sum()), room)])


def without_spare(kept: Kept, chances: Vector, spare: float) -> Kept:
    """The cells without those with the smallest chances, as long as these add up to no more than `spare`."""
    order = np.argsort(-chances, kind="stable")
    lost = np.cumsum(chances[order][::-1])
    return kept.take(order[: order.size - int(np.searchsorted(lost, spare, side="right"))])
