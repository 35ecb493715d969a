"""What one user tells in a whole discovery, by running every random input: the group and the report together.

The candidates of a round come from other users' reports, so for this user they are fixed. The user draws a group and
reports in its round. Run on all tapes at a small width, this gives the exact probability of every (group, report) for
every value, as fractions.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from localdp.checks.tapes import Tapes
from localdp.discovery.codes import Keys
from localdp.discovery.groups import Groups
from localdp.discovery.prefixes import Candidates
from localdp.discovery.rounds import Round
from localdp.formats import bitstrings
from localdp.randomness import thresholds

CODE, WIDTH, EPSILON = Keys(3), 6, 1.5
SHARES = (2, 1, 1)


def rows(*bits):
    return np.array([[int(text.ljust(8, "0"), 2)] for text in bits], np.uint8).reshape(-1, 1)


ROUNDS = [
    Candidates(0, 1, rows(""), rows()[:0]),
    Candidates(1, 2, rows("1"), rows()[:0]),
    Candidates(3, 0, rows()[:0], rows("101", "110", "111")),
]
"""Two rounds of extension, and a last one that counts three of the eight keys."""


def mechanisms(epsilon=EPSILON):
    made = [Round.make("00" * 32, number, asked, epsilon).plan.mechanism for number, asked in enumerate(ROUNDS)]
    return [mechanism.at_width(WIDTH) for mechanism in made]


def law(value, groups_of=None, epsilon=EPSILON):
    """The probability of every (group, report) for one value; None stands for a value that is outside."""
    encoded = CODE.encode([value])
    answer, tapes = {}, {}
    for length in (2 + 2 * WIDTH,):
        for group, mechanism in enumerate(mechanisms(epsilon)):
            tape = Tapes(np.arange(1 << length, dtype=np.uint64), length, WIDTH)
            drawn = (groups_of or Groups(SHARES)).draw(1 << length, Narrow(tape, 2))
            index = ROUNDS[group].indices(encoded)[0]
            reports = mechanism.randomize(np.full(1 << length, index), tape)
            usable = (drawn == group) & ~tape.spilled
            found, counts = np.unique(bitstrings.to_integers(reports[usable]), return_counts=True)
            share = Fraction(int((drawn == group).sum()), 1 << length)
            tapes[group] = share
            for report, count in zip(found.tolist(), counts.tolist(), strict=True):
                answer[group, report] = share * Fraction(count, int(usable.sum()))
    return answer, tapes


class Narrow:
    """The first bits of a tape as a source of its own: groups are drawn out of 4, so they need two bits."""

    def __init__(self, tape, width):
        self.tape, self.width = tape, width

    def below(self, bound, users):
        assert bound == 1 << self.width
        return self.tape._take(users, self.width)


VALUES = [*range(8), None]


def test_group_and_report_together_stay_within_epsilon_for_all_pairs_of_values():
    laws = [law(value)[0] for value in VALUES]
    outcomes = set().union(*laws)
    assert all(set(one) == outcomes for one in laws)  # every outcome is possible for every value
    assert all(sum(one.values()) == 1 for one in laws)
    worst = max(max(one[key] for one in laws) / min(one[key] for one in laws) for key in outcomes)
    assert worst <= thresholds.exp_below(EPSILON)
    assert worst == max(mechanism.ratio for mechanism in mechanisms())


def test_the_group_has_the_same_law_for_every_value():
    for value in VALUES:
        assert list(law(value)[1].values()) == [Fraction(share, 4) for share in SHARES]


def test_every_round_says_something_about_some_values():
    """So the test above does not pass because nothing is reported."""
    laws = [law(value)[0] for value in VALUES]
    for group in range(3):
        assert any(one[key] != laws[0][key] for one in laws for key in one if key[0] == group)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_every_round_has_the_epsilon_of_the_discovery_and_no_more(epsilon):
    """A user answers one round, so this is the total. At 64 bits, on rounds of real sizes."""
    from localdp import Discovery

    for options in ({"bits": 48}, {"bits": 64}, {}):
        discovery = Discovery(epsilon=epsilon, users=100_000, **options)
        assert discovery.round.plan.mechanism.epsilon <= epsilon
        assert discovery.round.plan.mechanism.requested_epsilon == epsilon
