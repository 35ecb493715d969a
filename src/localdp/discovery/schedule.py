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

The first group that finds no open candidates left, or no planned bits, is the last one, and counts the finished
candidates with all users that are left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from localdp.discovery.codes import Code
from localdp.discovery.design import CELLS, SURVIVORS, Design
from localdp.studies.places import PLACES, Span
from localdp.types import Vector

FEW_OPEN = 4
TRUST = 3.0
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

    def room(self, position: int) -> int:
        """How many open candidates fit into the round that goes on from there."""
        left = self.left(position)
        return max(1, (CELLS - 1 - SURVIVORS) >> self.design.bits[-left]) if left else SURVIVORS

    def bits(self, position: int, opened: int) -> int:
        """The bits that the round asks for that goes on from there."""
        left = self.left(position)
        if not left or not opened:
            return 0
        planned = self._ends[-left] - position
        if not self.code.alike:
            return planned
        most = ((CELLS - 1 - SURVIVORS) // opened).bit_length() - 1
        return min(max(self.design.bits[-left], most), 8 * self.code.row_bytes - position)

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

    def span(self, position: int, used: int, opened: int, *, short: bool) -> Span:
        """The places that a round asks which goes on from there."""
        if not opened:
            return Span(used, PLACES)
        return Span(used, used + (self.small if short else self.usual(position, used)))

    def resolved(self, before: Vector, explained: Vector) -> bool:
        """Whether a short round counts, by the shares of the open candidates before, and what is explained of them."""
        return bool((before - explained < self.design.reach).all())
