"""Sources of randomness for checks: all tapes at once, and given bytes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from localdp.checks.tapes import Law, Tapes, bits_read
from localdp.mechanisms import MECHANISMS
from vectors.replay import Replay


def test_a_tape_is_read_from_its_lowest_bit():
    source = Tapes(np.array([0b110_01, 0b000_10], np.uint64), length=5, width=3)
    assert (source.bits(2, 2) & np.uint64(3)).tolist() == [1, 2]
    assert source.integers(2).tolist() == [0b110, 0]
    assert source.read.tolist() == [5, 5]
    assert not source.spilled.any()
    assert source.integers(np.array([1])).tolist() == [0]
    assert source.spilled.tolist() == [False, True]


def test_bits_that_were_not_asked_for_are_ones():
    assert Tapes(np.array([0], np.uint64), 8, 8).bits(1, 3).tolist() == [2**64 - 8]


def test_users_who_draw_again_are_named():
    with pytest.raises(ValueError, match=r"1 users draw, but there are 2 tapes: .* pass their indices"):
        Tapes(np.zeros(2, np.uint64), 8, 8).integers(1)


@pytest.mark.parametrize("name", ["grr", "oue", "ss", "llh", "hr"])
def test_the_law_over_all_tapes_is_the_channel(name):
    mechanism = MECHANISMS[name](2, 0.5).at_width(5)
    law = Law(mechanism, 1, bits_read(mechanism))
    channel = mechanism.channel()
    stated = dict(zip(channel.reports[:, 0].tolist(), channel.probabilities[1], strict=True))
    assert law.probabilities == stated
    assert sum(law.probabilities.values()) == Fraction(1)


def test_given_bytes_are_words_in_order_until_they_run_out():
    source = Replay((5).to_bytes(8, "little") + (2**64 - 1).to_bytes(8, "little"))
    assert source.integers(np.array([3])).tolist() == [5]
    assert source.bits(1, 7).tolist() == [2**64 - 1]
    assert source.used == 16
    with pytest.raises(EOFError, match="16 bytes of randomness were given, and this draw needs 24 in all"):
        source.integers(1)
