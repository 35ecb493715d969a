"""What one user tells in a whole discovery, by running every random input: the round and the report together.

The candidates and spans of the rounds come from other users' reports, so for this user they are fixed. The user draws a
place and reports in the round whose span holds it. Run on all tapes at a small width, this gives the exact probability
of every (round, report) for every value, as fractions.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from localdp.checks.tapes import Tapes
from localdp.discovery.codes import Code, Encoded, Keys, Text
from localdp.discovery.prefixes import Candidates
from localdp.discovery.rounds import Round
from localdp.formats import bitstrings
from localdp.randomness import thresholds
from localdp.studies.places import Places, Span

WIDTH, EPSILON = 6, 1.5
SPANS = (Span(0, 2), Span(2, 3), Span(3, 4))
"""Places are drawn out of four here, so half of the users answer the first round."""


def rows(*bits, size=1):
    return np.array([list(int(text.ljust(8 * size, "0"), 2).to_bytes(size, "big")) for text in bits], np.uint8).reshape(
        -1, size
    )


def written(code, text):
    encoded = code.encode([text])
    return "".join(f"{byte:08b}" for byte in encoded.rows[0])[: int(encoded.lengths[0])]


KEYS = [
    Candidates(0, 1, rows(""), rows()),
    Candidates(1, 2, rows("1"), rows()),
    Candidates(3, 0, rows(), rows("101", "110", "111")),
]
"""Two rounds of extension, and a last one that counts three of the eight keys."""

TEXT = Text(24)
_TEA, _ADDRESS = written(TEXT, "tea"), written(TEXT, "https://a.org/x")
TEXTS = [
    Candidates(0, 1, rows("", size=24), rows(size=24)),
    Candidates(len(_TEA), 2, rows(_ADDRESS[: len(_TEA)], size=24), rows(_TEA, size=24)),
    Candidates(len(_ADDRESS), 0, rows(size=24), rows(*sorted([_TEA, _ADDRESS]), size=24)),
]
"""The same for texts; the second round counts a word that is finished, and asks how an address goes on."""

CASES = {
    "keys": (Keys(3), KEYS, [*range(8), None, 8]),
    "texts": (TEXT, TEXTS, ["tea", "https://a.org/x", "https://a.org/y", "", "z" * 24, "z" * 25, None, b"\xff"]),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def mechanisms(rounds, epsilon=EPSILON):
    made = [
        Round.make("00" * 32, number, asked, epsilon, SPANS[number]).plan.mechanism
        for number, asked in enumerate(rounds)
    ]
    return [mechanism.at_width(WIDTH) for mechanism in made]


def law(code: Code, rounds: list[Candidates], value: object):
    """The probability of every (round, report) for one value."""
    encoded: Encoded = code.encode([value])
    answer, shares = {}, []
    for number, mechanism in enumerate(mechanisms(rounds)):
        length = 2 + 2 * WIDTH
        tape = Tapes(np.arange(1 << length, dtype=np.uint64), length, WIDTH)
        asked = SPANS[number].holds(Places(4).draw(1 << length, Narrow(tape, 2)))
        reports = mechanism.randomize(np.full(1 << length, rounds[number].indices(encoded)[0]), tape)
        usable = asked & ~tape.spilled
        found, counts = np.unique(bitstrings.to_integers(reports[usable]), return_counts=True)
        share = Fraction(int(asked.sum()), 1 << length)
        shares.append(share)
        for report, count in zip(found.tolist(), counts.tolist(), strict=True):
            answer[number, report] = share * Fraction(count, int(usable.sum()))
    return answer, shares


class Narrow:
    """The first bits of a tape as a source of its own: places are drawn out of 4, so they need two bits."""

    def __init__(self, tape, width):
        self.tape, self.width = tape, width

    def below(self, bound, users):
        assert bound == 1 << self.width
        return self.tape._take(users, self.width)


def test_round_and_report_together_stay_within_epsilon_for_all_pairs_of_values(case):
    code, rounds, values = case
    laws = [law(code, rounds, value)[0] for value in values]
    outcomes = set().union(*laws)
    assert all(set(one) == outcomes for one in laws)  # every outcome is possible for every value
    assert all(sum(one.values()) == 1 for one in laws)
    worst = max(max(one[key] for one in laws) / min(one[key] for one in laws) for key in outcomes)
    assert worst <= thresholds.exp_below(EPSILON)
    assert worst == max(mechanism.ratio for mechanism in mechanisms(rounds))


def test_which_round_is_answered_has_the_same_law_for_every_value(case):
    code, rounds, values = case
    for value in values:
        assert law(code, rounds, value)[1] == [Fraction(span.end - span.first, 4) for span in SPANS]


def test_every_round_says_something_about_some_values(case):
    """So the tests above do not pass because nothing is reported."""
    code, rounds, values = case
    laws = [law(code, rounds, value)[0] for value in values]
    for number in range(3):
        assert any(one[key] != laws[0][key] for one in laws for key in one if key[0] == number)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_every_round_has_the_epsilon_of_the_discovery_and_no_more(epsilon):
    """A user answers one round, so this is the total. At 64 bits, on rounds of real sizes."""
    from localdp import Discovery

    for options in ({"bits": 48}, {"bits": 64}, {}, {"most_bytes": 64}):
        discovery = Discovery(epsilon=epsilon, users=100_000, **options)
        assert discovery.round.plan.mechanism.epsilon <= epsilon
        assert discovery.round.plan.mechanism.requested_epsilon == epsilon
