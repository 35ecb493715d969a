r"""What the next round asks: how many bits, of how many users, and with room for how many candidates.

The design (`localdp.discovery.design`) plans the rounds before anything is known. What the rounds show changes the plan
in two ways, for texts only; keys are asked as planned.

**More bits.** If there are few open candidates, a round asks for as many bits as its cells have room for, and reaches
later planned ends early. The users that are left are shared out evenly among the planned rounds that are left, apart
from those of the last group.

**Short rounds.** Addresses of one site share a long beginning. A round in which one candidate has nearly all users, who
all go on in the same way, needs few of them. Nobody knows before which rounds these are. So if at most `FEW_OPEN`
candidates are open, a small group is asked first, of

    n = (`TRUST` / reach)^2 v        users, whose estimates have the standard error reach / `TRUST`.

The round counts if the extensions that are certainly heavy have nearly all the users of their prefix: if for every open
candidate

    (the estimate of its share by the round before)  -  (the sum of the estimates of these extensions)  <  reach.

If nothing is missing, that holds in about 98 of 100 rounds, because the difference has 1.4 such errors. If a value at
the reach of the design branches off and is not seen, it holds in one of two. If it does not hold, the estimates are
dropped and a group of the usual size gets the same question. A short round thus risks some values near the reach, and
gives all others more users: where addresses of 64 bytes share 60 bits or more, the hard rounds have about a third more.

**Beyond the plan.** Some values are longer than planned. When the planned bits are used up, a heavy open candidate of
share s is followed if that is cheap: a group of

    n = (`FOLLOW` / s)^2 v        users sees its extension by `FOLLOW_BITS` bits `FOLLOW` standard errors above 0

(but `FOLLOW_USERS` at least: with fewer, estimates are not nearly Gaussian; candidates that show twice as clearly with
so few are asked for as many bits as fit). It is followed if that is at most
`WORTH_FOLLOWING` of the users that are left, and at least half of the users that were planned for the last group stay.
Those that are not followed are listed as beginnings.

The first group that finds no open candidates left is the last one, and counts the finished
candidates with all users that are left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from localdp.discovery.codes import Code
from localdp.discovery.design import CELLS, SURVIVORS, Design
from localdp.studies.places import PLACES, Span
from localdp.types import Flags, Vector

FEW_OPEN = 4
TRUST = 3.0
FOLLOW, FOLLOW_BITS, FOLLOW_USERS = 5.5, 12, 500
WORTH_FOLLOWING = 0.5
_WORTH = 0.5  # a short round has at most this part of the users of a usual one


@dataclass(frozen=True)
class Schedule:
    """The rounds of one discovery, as far as they can be foreseen. `variance` is that of one user's report."""

    code: Code
    design: Design
    users: int
    variance: float

    @cached_property
    def _ends(self) -> list[int]:
        """Where each planned round ends, in bits."""
        return list(accumulate(self.design.bits))

    def left(self, position: int) -> int:
        """The number of planned rounds that are left after so many bits, without the last group."""
        return sum(end > position for end in self._ends)

    @property
    def _cells(self) -> int:
        """The cells for extensions in a later round."""
        return CELLS - 1 - SURVIVORS - len(self.code.known)

    def room(self, position: int) -> int:
        """How many open candidates fit into the round that goes on from there."""
        left = self.left(position)
        return max(1, self._cells >> self.design.bits[-left]) if left else SURVIVORS

    def drops(self, position: int) -> bool:
        """Whether unlikely candidates are dropped before the round that goes on from there: see `belief`."""
        return self.code.alike and self.left(position) <= 1

    def bits(self, position: int, opened: int, least: float = 0.0) -> int:
        """The bits that the round asks for that goes on from there; `least` is the smallest share of a candidate."""
        left = self.left(position)
        if not opened:
            return 0
        if not self.code.alike:
            return self._ends[-left] - position
        most = (self._cells // opened).bit_length() - 1
        clear = least >= 2 * FOLLOW * math.sqrt(self.variance / FOLLOW_USERS)
        wanted = max(self.design.bits[-left], most) if left else most if clear else min(FOLLOW_BITS, most)
        return min(wanted, 8 * self.code.row_bytes - position)

    def usual(self, position: int, used: int) -> int:
        """The number of places of a usual round that goes on from there, where so many are used."""
        shares, whole = self.design.shares, sum(self.design.shares)
        if not position:
            return shares[0] * PLACES // whole
        return (PLACES - used - shares[-1] * PLACES // whole) // self.left(position)

    def is_short(self, position: int, used: int, opened: int) -> bool:
        """Whether a small group is asked first."""
        small = self.small <= _WORTH * self.usual(position, used) if opened and self.left(position) else False
        return self.code.alike and position > 0 and opened <= FEW_OPEN and small

    @cached_property
    def small(self) -> int:
        """The number of places of a short round."""
        needed = max((TRUST / self.design.reach) ** 2 * self.variance, 1_000.0)
        return int(np.ceil(needed / self.users * PLACES))

    def to_follow(self, shares: Vector) -> Vector:
        """The number of places that it takes to follow candidates with these shares."""
        needed = np.maximum((FOLLOW / np.maximum(shares, 1e-9)) ** 2 * self.variance, FOLLOW_USERS)
        return np.ceil(needed / self.users * PLACES)

    def followed(self, position: int, used: int, shares: Vector) -> Flags:
        """Which open candidates with these shares are followed beyond the plan."""
        left = PLACES - used
        spare = left - self.design.shares[-1] * PLACES // sum(self.design.shares) / 2
        worth = self.to_follow(shares) <= min(WORTH_FOLLOWING * left, spare)
        return np.asarray(worth & (self.code.alike and position < 8 * self.code.row_bytes))

    def span(self, position: int, used: int, shares: Vector, *, short: bool) -> Span:
        """The places that a round asks which goes on from there, where open candidates have these shares."""
        if not shares.size:
            return Span(used, PLACES)
        if not self.left(position):
            return Span(used, used + int(self.to_follow(shares).max()))
        return Span(used, used + (self.small if short else self.usual(position, used)))

    def resolved(self, before: Vector, explained: Vector) -> bool:
        """Whether a short round counts, by the shares of the open candidates before, and what is explained of them."""
        return bool((before - explained < self.design.reach).all())
