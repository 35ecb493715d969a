"""Chains (`grr+grr`, `sue+sue`, `oue+oue`, `oue+sue`, `sue+oue`): every report perturbs a permanent response once more.

The device perturbs its value once and keeps the result: the permanent response, which spends `epsilon`. Every report is
a fresh perturbation of that response and alone spends only `once`. `permanent` shows why all reports of a device
together spend `epsilon` at most. The name of a chain says how the two perturbations are made, the permanent one first.

**Bits** (`sue`, `oue`). The permanent response has bit i set with probability p1 if the user holds item i and with q1
if not. A report has the bit set with probability p2 if it is set in the permanent response and with q2 if not. So

    p* = p1 p2 + (1 - p1) q2,     q* = q1 p2 + (1 - q1) q2,     p* - q* = (p1 - q1) (p2 - q2),

and all bits of a report are independent, because both perturbations treat every bit alone. One report is thus a unary
encoding with p* and q*. Its largest ratio of two probabilities is p* (1 - q*) / (q* (1 - p*)), which must be at most
e^once. The first perturbation is that of `sue` or `oue` at `epsilon`. In the second, p2 = 1 - q2 for `sue` and p2 = 1/2
for `oue`, and q2 is the smallest threshold that is private enough. It is found by bisection, with exact fractions. That
works because more noise never makes the ratio larger: a second perturbation with a larger q2 (up to 1/2) is one with
a smaller q2, followed by another flip of each bit.

With `oue+sue`, p* is exactly 1/2, whatever q2 is, and q* is 1/(1 + e^once) up to rounding. That is `oue` at `once`, the
unary encoding with the least variance: asking again costs no accuracy at all.

**Symbols** (`grr`). Both perturbations tell the truth with some probability, t1 and t2, and otherwise draw any of the d
items uniformly. So a report is the value with probability t1 t2, and otherwise uniform: it is `grr` with t = t1 t2,
which is private enough for t2 = t/t1 with the t of `grr` at `once`, rounded down.

**References.** `sue+sue` is RAPPOR without its Bloom filter (Erlingsson, Pihur & Korolova, CCS 2014). The others are
L-GRR, L-OUE, L-OSUE and L-SOUE of Arcolezi, Couchot, Al Bouna & Xiao, "Improving the utility of locally differentially
private protocols for longitudinal and multidimensional frequency estimates", Digital Communications and Networks, 2022.

>>> mechanism = OptimizedThenSymmetric(size=100, epsilon=2.0, once=0.5)
>>> mechanism.p_star, round(mechanism.q_star, 6), round(mechanism.epsilon, 6), round(mechanism.epsilon_once, 6)
(0.5, 0.377541, 2.0, 0.5)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar, Self

from localdp.errors import EpsilonError
from localdp.formats import bitstrings
from localdp.mechanisms.base import Mechanism
from localdp.mechanisms.pure import PureMechanism
from localdp.mechanisms.randomized_response import RandomizedResponse
from localdp.mechanisms.symbol_response import SymbolResponse
from localdp.mechanisms.unary import IndependentBits, OptimizedUnary, SymmetricUnary, UnaryEncoding, noise_bits
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Indices, Rows
from localdp.validation import checked_epsilon


class Chain(PureMechanism):
    """A permanent response by the mechanism `first`, perturbed once more for each report."""

    perturbs_again = True

    first: Mechanism

    def __init__(self, size: int, epsilon: float, width: int = 64, *, once: float) -> None:
        self._once = checked_once(once, checked_epsilon(epsilon))
        super().__init__(size, epsilon, width)

    @property
    @abstractmethod
    def ratio_once(self) -> Fraction: ...

    @property
    def ratio(self) -> Fraction:
        return self.first.ratio

    @property
    def makes_permanent(self) -> Mechanism:
        return self.first

    @property
    def requested_once(self) -> float:
        return self._once

    def options(self) -> dict[str, Any]:
        return {"once": self._once}

    @classmethod
    def examples(cls, size: int, epsilon: float) -> Iterator[Self]:
        yield cls(size, epsilon, once=epsilon / 2)

    def randomize_permanent(self, values: Indices, source: Entropy) -> Rows:
        return self.first.randomize(values, source)

    @abstractmethod
    def randomize_again(self, permanent: Rows, source: Entropy) -> Rows: ...

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        """A report with both perturbations fresh, as in a survey where everybody answers once."""
        permanent = self.randomize_permanent(values, source)
        rows = self.randomize_again(permanent, source)
        permanent[:] = 0  # it tells more about the value than the report does
        return rows

    @property
    def _randomize_work(self) -> int:
        return 2 * super()._randomize_work

    def __repr__(self) -> str:
        budgets = f"epsilon {self.epsilon:.6g} and {self.epsilon_once:.6g} for one report"
        return f"<{self.name} on {self.size} items, {budgets}, {self.report_bits}-bit reports>"

    def _refuse_once(self, most: Fraction) -> None:
        """Refuse a budget for one report that is not used up even if the second perturbation changes nothing."""
        # At the few bits of a check, rounding may leave no room. Then the least noise there is will do.
        if self.width == 64:
            raise EpsilonError(
                f"with {self.name} at epsilon {self.requested_epsilon:g}, one report cannot spend as much as once = "
                f"{self._once:g}: even with the least noise in the second perturbation it spends only "
                f"{thresholds.log(most):.4g}; give a smaller once"
            )


class UnaryChain(Chain, IndependentBits):
    """A chain of two unary encodings: `first_kind` makes the permanent response, and each report flips its bits.

    A bit of the report is set with probability again_keep/2^width if the bit of the permanent response is set, and with
    again_noise/2^width if it is not.
    """

    first_kind: ClassVar[type[UnaryEncoding]]
    symmetric: ClassVar[bool]
    """Whether the second perturbation is that of `sue`, which flips ones and zeros alike, or that of `oue`."""

    first: UnaryEncoding

    def configure(self) -> None:
        self.first = self.first_kind(self.size, self.requested_epsilon, self.width)
        self.again_noise = self._least_noise()
        self.again_keep = self._keep_with(self.again_noise)

    @property
    def p(self) -> Fraction:
        return self._pair_with(self.again_noise)[0]

    @property
    def q(self) -> Fraction:
        return self._pair_with(self.again_noise)[1]

    @property
    def ratio_once(self) -> Fraction:
        return _ratio(*self._exact_pair)

    def parameters(self) -> dict[str, int | str]:
        again = {"again_keep": str(self.again_keep), "again_noise": str(self.again_noise)}
        return self.first.parameters() | again

    def randomize_again(self, permanent: Rows, source: Entropy) -> Rows:
        """Draw the second perturbation of all bits, and then combine it with the permanent response."""
        users = permanent.shape[0]
        if self.symmetric:
            flips = noise_bits(source, users, self.size, self.again_noise, self.width)
            return permanent ^ bitstrings.from_words(flips, self.size)
        columns = -(-self.size // 64)
        coins = source.bits(users * columns, min(self.size, 64)).reshape(users, columns)
        noise = noise_bits(source, users, self.size, self.again_noise, self.width)
        fair, rare = bitstrings.from_words(coins, self.size), bitstrings.from_words(noise, self.size)
        return permanent & fair | ~permanent & rare

    def _keep_with(self, noise: int) -> int:
        """`again_keep` for this `again_noise`."""
        return (1 << self.width) - noise if self.symmetric else 1 << (self.width - 1)

    def _pair_with(self, noise: int) -> tuple[Fraction, Fraction]:
        """p* and q* with this `again_noise`."""
        kept, lit = Fraction(self._keep_with(noise), 2**self.width), Fraction(noise, 2**self.width)
        p, q = self.first.p, self.first.q
        return p * kept + (1 - p) * lit, q * kept + (1 - q) * lit

    def _least_noise(self) -> int:
        """The smallest `again_noise` with which one report is private enough."""
        most = thresholds.exp_below(self.requested_once)
        without = _ratio(*self._pair_with(0))
        if without <= most:
            self._refuse_once(without)
            return 1
        leaky, private = 0, 1 << (self.width - 1)
        while private - leaky > 1:
            middle = (leaky + private) // 2
            if _ratio(*self._pair_with(middle)) <= most:
                private = middle
            else:
                leaky = middle
        return private


class SymmetricTwice(UnaryChain):
    """Basic RAPPOR: the permanent response and every report flip ones and zeros alike.

    >>> round(SymmetricTwice(size=100, epsilon=2.0, once=0.5).p_star, 6)
    0.562177
    """

    name = "sue+sue"
    first_kind = SymmetricUnary
    symmetric = True


class OptimizedTwice(UnaryChain):
    """The permanent response of `oue`, and reports that keep its ones with probability 1/2 and light few zeros."""

    name = "oue+oue"
    first_kind = OptimizedUnary
    symmetric = False


class OptimizedThenSymmetric(UnaryChain):
    """The permanent response of `oue`, and reports that flip its bits alike: as accurate as `oue` asked once.

    >>> from localdp.mechanisms.unary import OptimizedUnary
    >>> chain = OptimizedThenSymmetric(size=100, epsilon=2.0, once=0.5)
    >>> round(chain.variance(1) / OptimizedUnary(size=100, epsilon=0.5).variance(1), 9)
    1.0
    """

    name = "oue+sue"
    first_kind = OptimizedUnary
    symmetric = True


class SymmetricThenOptimized(UnaryChain):
    """The permanent response of `sue`, and reports that keep its ones with probability 1/2 and light few zeros."""

    name = "sue+oue"
    first_kind = SymmetricUnary
    symmetric = False


class RandomizedResponseTwice(Chain, RandomizedResponse):
    """Randomized response as the permanent response, and randomized response to that in each report.

    >>> mechanism = RandomizedResponseTwice(size=4, epsilon=2.0, once=1.0)
    >>> round(mechanism.p_star, 6), round(mechanism.q_star, 6), mechanism.report_bits
    (0.475367, 0.174878, 2)
    """

    name = "grr+grr"

    def configure(self) -> None:
        self.first = RandomizedResponse(self.size, self.requested_epsilon, self.width)
        again, whole = self.first.response.again(self.requested_once), 2**self.width
        if again >= whole:
            self._refuse_once(self.first.ratio)
            again = whole - 1
        self.second = SymbolResponse(self.size, again, self.width)
        self.response = self.first.response.then(again)

    @property
    def ratio_once(self) -> Fraction:
        return self.response.ratio

    def parameters(self) -> dict[str, int | str]:
        return self.first.parameters() | {"again_truth": str(self.second.truth)}

    def randomize_again(self, permanent: Rows, source: Entropy) -> Rows:
        symbols = self.second.perturb(bitstrings.to_integers(permanent), source)
        return bitstrings.from_integers(symbols, self.report_bits)


def _ratio(p: Fraction, q: Fraction) -> Fraction:
    """The largest ratio of the probabilities of one report with independent bits; infinite cases do not occur here."""
    return p * (1 - q) / (q * (1 - p))


def checked_once(once: Any, epsilon: float) -> float:
    """The budget of one report: a float above 0 and below epsilon."""
    try:
        value = checked_epsilon(once)
    except EpsilonError as error:
        raise EpsilonError(f"once, the budget of one report, cannot be used: {error}") from None
    if value >= epsilon:
        raise EpsilonError(
            f"once = {value:g} must be below epsilon = {epsilon:g}: epsilon is what all reports of a device reveal "
            "together, and once is what one of them reveals. Leave out once if a report may reveal all of epsilon"
        )
    return value
