r"""What a discovery can find, before anybody is asked: with which probability, by the share of users with a value.

A value of share s passes an extending round of the share w of the users if its estimate is above those of the noise
that fill the room of the next round. By `design`, that has the probability

    Phi( s sqrt(n w / V(s)) - t ),        t = Phi^-1(1 - room / cells),      V(s) = v + s (1 - s).

For texts the rounds stand alone, and the value passes all of them with the product. For keys, whose first bits tell
who they are, the users of several rounds count together: the value passes if it does in every span of rounds. In the
end the value must be told from nothing: its estimate by all groups that counted it whole, the last two, must be
`LISTED` standard errors above 0. A value that was known beforehand is counted by all users, and needs
Phi^-1(1 - 1/K) + `LISTED` / 2 standard errors among K of them.

This is about values that stand alone in their place in the list: of values with nearly equal shares around place `top`,
only some can be listed. Values that are longer than planned need more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.discovery.design import Design, hurdles, normal, quantile
from localdp.types import Vector

LISTED = 3.0
"""The standard errors above 0 that an estimate needs in the end."""
NOTHING = 0.5
"""If a value that so large a share of the users holds is missed more often than not, nothing will be found."""
_LETTER_BITS = 5.2  # of English words with an end mark and the word of their book


@dataclass(frozen=True)
class Reach:
    """What a discovery with this design can find.

    >>> from localdp import Discovery
    >>> reach = Discovery(epsilon=4.0, users=20_000).reach
    >>> round(reach.chance(0.02), 1), round(reach.chance(0.2), 1)
    (0.1, 1.0)
    """

    design: Design
    users: int
    variance: float
    top: int
    alike: bool
    known: int = 0

    def chance(self, share: float) -> float:
        """The probability that a value is found which this share of the users holds, and that nobody knew."""
        return float(self.chances(np.array([share]))[0])

    def chances(self, shares: Vector, rounds: int | None = None) -> Vector:
        """The same as `chance` for each of several shares; of texts that are whole after so many rounds, if given."""
        groups = np.array(self.design.shares, np.float64)
        groups /= groups.sum()
        count = len(self.design.bits) if rounds is None or not self.alike else min(rounds, len(self.design.bits))
        z = shares * np.sqrt(self.users / (self.variance + shares * (1 - shares)))
        whole = groups[count - 1 :].sum() if self.alike else 1.0
        chances = normal(z * np.sqrt(whole) - LISTED)
        for asked, hurdle in hurdles(self.design.bits[:count], self.top, self.alike):
            chances *= normal(z * np.sqrt(groups[asked].sum()) - hurdle)
        return chances

    def chance_of_known(self, share: float) -> float:
        """The same for a value that was known beforehand."""
        return float(self._chances_of_known(np.array([share]))[0])

    def share(self, chance: float = 0.9, *, known: bool = False) -> float:
        """The smallest share of the users that a value must have to be found with this probability; 1 if none is."""
        shares = np.geomspace(1e-7, 1.0, 2_000)
        enough = (self._chances_of_known if known else self.chances)(shares) >= chance
        return float(shares[int(np.argmax(enough))]) if enough.any() else 1.0

    @property
    def finds_nothing(self) -> bool:
        """Whether even a value of half of the users would probably be missed."""
        return max(self.chance(NOTHING), self.chance_of_known(NOTHING) if self.known else 0.0) < 0.5

    def sentence(self) -> str:
        """What can be found, for people."""
        found = (
            f"With {self.users:,} people, a value is found with probability 0.9 if at least "
            f"{_percent(self.share(0.9))} of them hold it, and with probability 0.5 from {_percent(self.share(0.5))} on"
        )
        known = f"; a known value from {_percent(self.share(known=True))} on" if self.known else ""
        letters = round(sum(self.design.bits) / _LETTER_BITS)
        return f"{found}{known}." + (f" Texts of more than about {letters} letters need more." if self.alike else "")

    def __str__(self) -> str:
        return self.sentence()

    def _chances_of_known(self, shares: Vector) -> Vector:
        needed = quantile(1 / max(self.known, 2)) + LISTED / 2
        return normal(shares * np.sqrt(self.users / self.variance) - needed)


def _percent(share: float) -> str:
    return "more than all" if share >= 1 else f"{100 * share:.2g}%"
