r"""How many rounds there are, and which share of the users answers each: the design with the least expected error.

Every user answers one round, so epsilon is spent once, and the rounds share the users. Rounds 1 to R extend prefixes;
the last group counts the survivors once more.

**One round.** Let w be the share of the n users that answers a round, and v the variance of a mechanism for one user
(an estimated share has the variance v / (n w)). An item of share s stands out by z = s sqrt(n w / v) standard
errors. The next round has room for K candidates, so if C prefixes compete, an item is lost if its estimate is below
the quantile of the noise that K of the C exceed by chance:

    lost with probability    Phi(t - z),        t = Phi^-1(1 - K/C).

K is at most `CELLS` / 2^b for a next round of b bits, and at most `SURVIVORS` before the last group.

**Several rounds.** It depends on the values how much the rounds know of each other (`localdp.discovery.belief`).

- Keys that begin alike by chance only: the estimates of all prefixes of a key are estimates of the key. But keys that
  share their first bits up to round g also share what was measured of them, so only later rounds tell them apart. For
  all rounds g < h, the users of rounds g+1 to h must single out the extensions of heavy prefixes of round g: with
  their z together, C = top 2^(bits of these rounds) prefixes compete (without `top` for g = 0). At the end, the last
  group included, K is `top`.
- Texts, which share their first letters: every round stands alone, z is that of its own users, and C = K 2^b.

**The last estimates.** With z_end from all users for keys, and for texts from the last two groups, which both see whole
values, neighbours in rank that differ by 1/top of their frequency (a power law of exponent 1) are mistaken for each
other. At the edge of the list that makes 0.4 top / z_end wrong items in expectation.

**The error** of a design for a top k whose smallest share is s is the sum: the mean chance that an item of shares
s k/i, i = 1..k, is lost in some round, and 0.4 / z_end. Nobody knows s before. Where s is large any design will
do; so we look for the design whose error stays below `ENOUGH` for the smallest s. That share is its `reach`. The reach
hardly depends on the number of rounds, and every round takes time, so a round more must gain 1%. The last group has
at least 10% of the users, so that there is an estimate that had no part in choosing the survivors.

Shares are whole percents, or tenths of a percent where there are more than eight groups, so that a device can draw its
group exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from localdp.errors import InvalidInputError, LocalDPError, TooFewReportsError
from localdp.mechanisms import LinearLocalHashing
from localdp.types import Vector

CELLS = 1 << 22
"""The most cells of a round: counting takes about a second and a few arrays of 32 MiB."""
PRICE = 1e-4
"""A candidate is kept if its probability of being heavy is at least this: every device reads the list of them."""
SURVIVORS = 1 << 12
"""The most candidates that the last group counts."""
MOST_KNOWN = 1 << 18
"""The most values that are known beforehand: each is a cell of every round."""
ENOUGH = 0.2
MOST_ROUNDS = 24
"""The most groups: with more, a group is too small a part of the users to find anything."""
LEAST_LAST = 10
"""The smallest percentage of the users in the last group."""
LEAST_USERS = 150
"""The fewest users of a round, in expectation; with less than 100 reports a round is not evaluated."""
WORTH_A_ROUND = 1.01
"""By how much the reach may be larger than the least one if that takes fewer rounds."""
_FEW = 8  # rounds of extension: with more, shares are given in tenths of a percent
_USUAL_BITS = 10  # in a round; designs with many more rounds than that are not looked at
_CERTAIN = 60  # the fewest candidates that a round must have room for, and for twice the top at least


@dataclass(frozen=True)
class Design:
    """The percentages of the users in each group (the last one estimates), the bits of each round, and the reach."""

    shares: tuple[int, ...]
    bits: tuple[int, ...]
    reach: float

    @property
    def rounds(self) -> int:
        """The number of groups, with the last one."""
        return len(self.shares)

    def document(self) -> dict[str, Any]:
        """The design as a JSON value."""
        return {"shares": list(self.shares), "bits": list(self.bits), "reach": self.reach}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Design:
        """The design in such a JSON value; `ValueError` if it is none."""
        shares, bits, reach = tuple(document["shares"]), tuple(document["bits"]), document["reach"]
        whole = all(type(number) is int and 0 < number <= 1_000 for number in (*shares, *bits))
        if not whole or len(shares) != len(bits) + 1 or len(document) != 3:
            raise ValueError("this is not the design of a discovery")
        if isinstance(reach, bool) or not 0 < reach <= 1:
            raise ValueError("the reach of a design is a share")
        return cls(shares, bits, reach)


def split_bits(total: int, rounds: int, top: int = 1) -> tuple[int, ...] | None:
    """The bits of each round: as many as possible in the first, the rest evenly; None if a round cannot hold them."""
    first = min(total, (CELLS - 1).bit_length() - 1)
    if rounds == 1:
        return (first,) if first == total else None
    rest, others = total - first, rounds - 1
    if rounds < 1 or rest < others:
        return None
    later = tuple(rest // others + (place < rest % others) for place in range(others))
    return (first, *later) if (CELLS - 1) >> later[0] >= max(_CERTAIN, 2 * top) else None


def error(
    shares: Vector, bits: tuple[int, ...], reach: Vector, users: int, variance: float, top: int, alike: bool
) -> Vector:
    """The expected share of the top that is missed or wrong: for designs (rows of shares) and smallest shares `reach`.

    `reach` has one number for each row. `alike` says that values share their first bits, as texts do.
    """
    sizes = reach[:, None] * top / np.arange(1, top + 1)
    found = np.ones_like(sizes)
    for rounds, hurdle in hurdles(bits, top, alike):
        z = sizes * np.sqrt(users * shares[:, rounds].sum(axis=1) / variance)[:, None]
        found *= normal(z - hurdle)
    end = np.sqrt(users * (shares[:, -1] + shares[:, -2] if alike else 1.0) / variance)
    return np.asarray(1 - found.mean(axis=1) + 0.4 / (reach * end))


def hurdles(bits: tuple[int, ...], top: int, alike: bool) -> Iterator[tuple[slice, float]]:
    """The rounds that must single out a value together, and by how many standard errors: t above."""
    rooms = [math.log2(_room(bits, place)) for place in range(len(bits))]
    for first in range(len(bits)):
        for last in [first] if alike else range(first, len(bits) + 1):
            competing = sum(bits[first : last + 1]) + (
                0.0 if not first else rooms[first - 1] if alike else math.log2(top)
            )
            room = rooms[last] if last < len(bits) else math.log2(top)
            yield slice(first, last + 1), quantile(2.0 ** min(room - competing, -1.0))


def _room(bits: tuple[int, ...], place: int) -> int:
    """How many candidates the round after this one has room for."""
    return max(1, (CELLS - 1 - SURVIVORS) >> bits[place + 1]) if place + 1 < len(bits) else SURVIVORS


@cache
def best_design(total: int, users: int, epsilon: float, top: int, *, alike: bool, rounds: int | None = None) -> Design:
    """The design with the smallest reach for values of `total` bits; with `rounds`, among those with so many groups.

    >>> best_design(48, 2_000_000, 2.0, 20, alike=False).bits
    (21, 9, 9, 9)
    """
    variance = LinearLocalHashing(CELLS, epsilon).variance(1)
    designs = []
    most = min(MOST_ROUNDS, max(_FEW, -(-total // _USUAL_BITS)))
    for extending in range(1, most) if rounds is None else [rounds - 1]:
        bits = split_bits(total, extending, top)
        shares = _allotments(extending, LEAST_USERS / users)
        if bits is not None and len(shares):
            reach = _reach(shares / shares[0].sum(), bits, users, variance, top, alike)
            place = int(np.argmin(reach))
            designs.append(Design(tuple(shares[place].tolist()), bits, float(f"{min(reach[place], 1.0):.3g}")))
    if not designs:
        raise _impossible(total, users, rounds, top)
    least = min(design.reach for design in designs)
    return next(design for design in designs if design.reach <= WORTH_A_ROUND * least)


def _impossible(total: int, users: int, rounds: int | None, top: int) -> LocalDPError:
    """Why there is no design."""
    if rounds is not None and split_bits(total, rounds - 1, top) is None:
        return InvalidInputError(
            f"values of {total} bits cannot be found in {rounds} rounds: use another number, from 2 to {MOST_ROUNDS}"
        )
    return TooFewReportsError(
        f"{users:,} users are too few for values of {total} bits: every round needs {LEAST_USERS} of them or more. "
        "Ask more people, or for shorter values"
    )


def _allotments(extending: int, least: float) -> Any:
    """The share of every round: of the first, of the later ones, which are equal, and of the last group.

    No group has a smaller share of the users than `least`.
    """
    whole, step = (100, 1) if extending < _FEW else (1000, 5)
    found = []
    for last in range(LEAST_LAST * whole // 100, whole // 2, whole // 50):
        if extending == 1:
            found.append([whole - last, last])
        for each in range(3 * step, (96 * whole // 100 - last) // (extending - 1), step) if extending > 1 else ():
            found.append([whole - last - each * (extending - 1), *[each] * (extending - 1), last])
    return np.array([shares for shares in found if min(shares) >= least * whole], np.int64)


def _reach(shares: Vector, bits: tuple[int, ...], users: int, variance: float, top: int, alike: bool) -> Vector:
    """The smallest share of the top's last item with which the error stays below `ENOUGH`, for each row of shares."""
    low, high = np.full(len(shares), 1e-6), np.ones(len(shares))
    for _ in range(24):
        middle = np.sqrt(low * high)
        enough = error(shares, bits, middle, users, variance, top, alike) < ENOUGH
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def normal(x: Vector) -> Vector:
    """The probability that a standard normal variable is below each number."""
    from scipy.special import ndtr

    return np.asarray(ndtr(x))


def quantile(above: float) -> float:
    """The number that a standard normal variable exceeds with this probability."""
    from scipy.special import ndtri

    return -float(ndtri(above))
