"""Jumps between rare bits: the exact law, every way it is drawn."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.checks.tapes import Tapes
from localdp.kernels import dispatch, rare_bits
from localdp.kernels.rare_bits import REACH, UNDECIDED
from localdp.randomness.keystream import Keystream, seeded
from vectors.replay import Replay

U = np.uint64
THRESHOLDS = st.one_of(
    st.integers(1, 2**59), st.sampled_from([1, 2**40, 2**59, 2**58 + 1, 331_792_083_943_461_888, 2**64 - 1])
)


class _Words:
    """A cipher whose output is given words, and after them ones that light nothing."""

    def __init__(self, words):
        self._left = list(words)

    def update_into(self, data, buffer):
        count = len(data) // 8
        words, self._left = self._left[:count], self._left[count:]
        words += [2**64 - 2] * (count - len(words))
        buffer[: 8 * count] = np.array(words, "<u8").tobytes()
        return 8 * count


def _keystream(words):
    source = Keystream(bytes(16))
    source._encryptor = _Words(words)
    return source


@pytest.mark.parametrize(
    ("bits", "width", "threshold"),
    [(1, 5, 3), (2, 3, 1), (2, 5, 9), (3, 4, 1), (3, 5, 2), (4, 4, 3), (5, 3, 1), (5, 3, 7), (8, 2, 1)],
)
def test_every_tape_together_gives_exactly_the_stated_law(bits, width, threshold):
    length = bits * width
    tapes = Tapes(np.arange(1 << length, dtype=U), length, width)
    words = rare_bits.rare_bits(tapes, 1 << length, bits, threshold, width)
    assert tapes.read.max() == length
    q = Fraction(threshold, 2**width)
    for outcome, tapes_of_it in enumerate(np.bincount(words[:, 0].astype(int), minlength=1 << bits)):
        ones = outcome.bit_count()
        assert Fraction(int(tapes_of_it), 1 << length) == q**ones * (1 - q) ** (bits - ones)


@settings(max_examples=20)
@given(THRESHOLDS)
def test_edges_and_table_are_exact(threshold):
    law = rare_bits.JumpLaw(threshold, 64)
    r = 1 - Fraction(threshold, 2**64)
    edges = [1 - r**j for j in range(1, REACH + 1)]
    assert [Fraction(edge, 2 ** (64 * REACH)) for edge in law.edges] == edges
    settled = 0
    for cell in range(0, 2**16, 37):
        low, high = Fraction(cell, 2**16), Fraction(cell + 1, 2**16)
        if law.table[cell] != UNDECIDED:
            answer = int(law.table[cell])
            assert answer == 0 or edges[answer - 1] <= low
            assert answer == REACH or high <= edges[answer]
            settled += 1
    assert settled > 2**16 / 37 - REACH


def _number_below(edges, words):
    """How many edges are at or below the number with these words of digits."""
    u = sum(Fraction(word, 2 ** (64 * place)) for place, word in enumerate(words, 1))
    return sum(edge <= u for edge in edges)


@pytest.mark.parametrize("after", [0, 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("j", [1, 2, 3, 100, REACH])
def test_a_tie_is_settled_by_the_words_that_follow(j, after):
    threshold = 331_792_083_943_461_888
    law = rare_bits.jump_law(threshold, 64)
    r = 1 - Fraction(threshold, 2**64)
    edges = [1 - r**k for k in range(1, REACH + 1)]
    words = [int(law.leading[j - 1]), after, 7, 9]
    assert law.draw(Replay(np.array(words, "<u8").tobytes()), 1)[0] == _number_below(edges, words)


def test_a_tie_reads_no_more_words_than_it_takes():
    law = rare_bits.jump_law(2**58 + 1, 64)
    further = [int(law.edges[2]) >> 64 * (REACH - place) & 2**64 - 1 for place in (1, 2, 3)]
    for words, read in (([5], 1), ([*further[:1], 0], 2), ([*further[:1], 2**64 - 1], 2), (further, 3)):
        source = Replay(np.array([*words, 1, 1], "<u8").tobytes())
        law.draw(source, 1)
        assert source.used == 8 * read


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 60), st.integers(1, 300), THRESHOLDS, st.lists(st.integers(0, REACH - 1), max_size=4), st.integers(0)
)
def test_one_after_another_together_and_compiled_are_the_same(users, bits, threshold, ties, seed):
    """Some words tie with edges, and a jump past the last user of one row starts no jump in the next."""
    law = rare_bits.jump_law(threshold, 64)
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 2**64, 400, U)
    words[rng.choice(400, len(ties), replace=False)] = law.leading[ties]
    made = []
    for kind in ("numpy", "fast"):
        source = _keystream(words.tolist())
        with dispatch.kernels(kind):
            made.append((rare_bits.rare_bits(source, users, bits, threshold, 64), source.drawn))
    replayed = Replay(words.tobytes() + np.full(64 * users * bits, 2**64 - 2, "<u8").tobytes())
    alone = rare_bits.rare_bits(replayed, 1, users * bits, threshold, 64)
    in_a_row = np.unpackbits(alone.view(np.uint8), bitorder="little")[: users * bits]
    assert made[0][1] == made[1][1] >= replayed.used // 8
    for lit, _ in made:
        rows = np.unpackbits(lit.view(np.uint8), axis=1, bitorder="little")
        assert np.array_equal(rows[:, :bits].ravel(), in_a_row)
        assert not rows[:, bits:].any()


@pytest.mark.parametrize("kind", ["numpy", "fast"])
def test_more_lit_bits_than_anyone_expects_take_more_words(kind):
    with dispatch.kernels(kind):
        source = _keystream([0] * 1000)
        lit = rare_bits.rare_bits(source, 10, 100, 2**50, 64)
    assert (np.bitwise_count(lit).sum(axis=1) == 100).all()
    assert 1000 <= source.drawn < 1100


@pytest.mark.parametrize("kind", ["numpy", "fast"])
@pytest.mark.parametrize(("users", "bits"), [(1, 3), (1, 200), (1, 5000), (40, 700)])
def test_the_number_of_words_tells_nothing_of_how_many_bits_are_lit(kind, users, bits):
    """False alarms: that many words are too few about once in 10^7 draws."""
    drawn, lit = set(), set()
    for seed in range(100):
        source = seeded(seed)
        with dispatch.kernels(kind):
            lit.add(int(np.bitwise_count(rare_bits.rare_bits(source, users, bits, 2**58, 64)).sum()))
        drawn.add(source.drawn)
    assert drawn == {rare_bits.jump_law(2**58, 64).sufficient_jumps(users * bits)}
    assert len(lit) > 1


def test_lit_bits_are_as_frequent_and_as_spread_as_stated():
    """False alarms: 1e-6 (five deviations, twice)."""
    q, users, bits = 1 / 50, 20_000, 130
    lit = rare_bits.rare_bits(seeded(1), users, bits, int(2**64 * q), 64)
    flags = np.unpackbits(lit.view(np.uint8), axis=1, bitorder="little")[:, :bits]
    assert abs(flags.mean() - q) < 5 * np.sqrt(q * (1 - q) / flags.size)
    by_place = flags.mean(axis=0)
    chance = np.sqrt(q * (1 - q) / users)
    assert abs((((by_place - q) / chance) ** 2).sum() - bits) < 5 * np.sqrt(2 * bits)


def test_jumps_pay_where_bits_are_rare():
    assert rare_bits.jumping_pays(2**59, 64)
    assert not rare_bits.jumping_pays(2**59 + 1, 64)
    assert not rare_bits.jumping_pays(0, 64)
    assert rare_bits.jumping_pays(1, 5)
    assert not rare_bits.jumping_pays(1, 4)
