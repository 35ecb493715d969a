"""The checks against subtle bugs: each mutant is wrong in one way that a careless suite would let through.

The mutants of `test_check_messages` are wrong in plain ways, one for each message of the checks.
"""

from __future__ import annotations

import numpy as np
import pytest

from audits.mutants import MUTANTS, ModuloBias, SwappedProbabilities, UnclearedBit
from localdp.checks import MECHANISM_CHECKS, CheckFailure, check_mechanism
from localdp.checks.audit import audit
from localdp.checks.privacy import check_exact_privacy
from localdp.errors import UnknownMechanismError
from localdp.formats import bitstrings
from localdp.kernels.biased_bits import biased_bits
from localdp.mechanisms import (
    MECHANISMS,
    LinearLocalHashing,
    OptimizedLocalHashing,
    OptimizedUnary,
    RandomizedResponse,
    SubsetSelection,
)
from localdp.mechanisms.symbol_response import SymbolResponse
from localdp.randomness import keystream


class _Wrapped(keystream.Entropy):
    """Another source, with something wrong about it."""

    def __init__(self, source):
        self._source = source
        self.width = source.width

    def bits(self, who, count):
        return self._source.bits(who, count)

    def integers(self, who):
        return self._source.integers(who)


class _LazyRedraw(_Wrapped):
    """After a rejected draw, the second draw is one of the first two numbers only."""

    def below(self, bound, who):
        if bound == 1:
            return np.zeros(who, np.uint64)
        drawn = self.integers(who) // np.uint64(2**self.width // bound)
        again = np.flatnonzero(drawn >= bound)
        if again.size:
            drawn[again] = self.integers(again) % np.uint64(2)
        return drawn


class _ShortTail(_Wrapped):
    """From the third draw on, the last number never comes up."""

    def below(self, bound, who):
        return self._source.below(bound, who) if self.round_number() < 3 else self._source.below(bound - 1, who)

    def round_number(self):
        self.rounds = getattr(self, "rounds", 0) + 1
        return self.rounds


class RejectedDrawsAreBiased(RandomizedResponse):
    name = "mutant-redraw"

    def randomize(self, values, source):
        return super().randomize(values, _LazyRedraw(source))


class SecondWordNotCleared(OptimizedUnary):
    name = "mutant-second-word"

    def randomize(self, values, source):
        if self.size <= 64:
            return super().randomize(values, source)
        words = biased_bits(source, values.size, self.size, self.noise, self.width)
        lit = source.integers(values.size) < self.keep
        users, column = np.arange(values.size), values >> 6
        bit = np.uint64(1) << (values & 63).astype(np.uint64)
        words[users, column] &= ~(bit * (column == 0).astype(np.uint64))
        words[users, column] |= bit * lit
        return bitstrings.from_words(words, self.size)


class LateRoundsDrawTooFew(SubsetSelection):
    name = "mutant-late-rounds"

    def randomize(self, values, source):
        return super().randomize(values, _ShortTail(source))


class ThresholdTooHighAtFullWidth(RandomizedResponse):
    name = "mutant-threshold"

    def configure(self):
        super().configure()
        if self.width == 64:
            response = self.response
            self.response = SymbolResponse(response.symbols, response.truth + 4096, response.width)


class SeedTellsTheValue(OptimizedLocalHashing):
    name = "mutant-seed"

    def randomize(self, values, source):
        rows = super().randomize(values, source)
        if self.function_bits == 32:
            rows[:, 3] &= np.where(values == 7, 0x7F, 0xFF).astype(np.uint8)
        return rows


class ExtraDrawForLateValues(RandomizedResponse):
    name = "mutant-extra-draw"

    def randomize(self, values, source):
        rows = super().randomize(values, source)
        if values.size and values[0] > 60:
            source.integers(1)
        return rows


def _helper(values):
    total = 0
    if values.size and values[0] == 0:
        total += 1
    return total


class PathInAHelper(RandomizedResponse):
    name = "mutant-path"

    def randomize(self, values, source):
        _helper(values)
        return super().randomize(values, source)


class HonestOnSmallDomainsOnly(RandomizedResponse):
    name = "mutant-large"

    def randomize(self, values, source):
        rows = super().randomize(values, source)
        return rows if self.size <= 8 else bitstrings.from_integers(values.astype(np.uint64), self.report_bits)


class NoiseRepeats(RandomizedResponse):
    name = "mutant-repeats"

    def randomize(self, values, source):
        is_stream = isinstance(source, keystream.Keystream) and source._key is None
        return super().randomize(values, keystream.seeded(1) if is_stream else source)


class WrongQ(LinearLocalHashing):
    name = "mutant-q"

    @property
    def q(self):
        return super().q * 1001 / 1000


CAUGHT = {
    UnclearedBit: "made for epsilon 0.5, and over all random inputs at 6 bits its reports have epsilon 1.26",
    SwappedProbabilities: r"sends report 0x1 for value 0 with probability 387/2048 .*; its channel\(\) states 637/2048",
    ModuloBias: "made for epsilon 0.5, and over all random inputs at 9 bits its reports have epsilon 0.5013",
    RejectedDrawsAreBiased: "after a rejected draw is drawn again, the reports for value 0 have other probabilities",
    SecondWordNotCleared: r"of 20000 reports of value 64 support item 64; expected about 10000, since p\* is 0.5",
    LateRoundsDrawTooFew: r"do not follow its channel\(\): chi-square is .* expected at most",
    ThresholdTooHighAtFullWidth: r"states epsilon 0.00100000000000\d+; expected at most 0.001: round thresholds toward",
    SeedTellsTheValue: r"of 20000 reports of value 7 support item 7; expected about .*, since p\* is",
    ExtraDrawForLateValues: "draws 1000 random words for value 8 and 1001 random words for value 63",
    PathInAHelper: r"executes .*test_checks.py:\d+ for value 0 and .*test_checks.py:\d+ for value 1",
    HonestOnSmallDomainsOnly: r"on 9 items.* do not follow its channel\(\)",
    NoiseRepeats: "returned the same 500 reports twice with secure randomness",
    WrongQ: "the reports of value 1 support item 0 with probability 387/1024 .*; q states 387387/1024000",
}


@pytest.mark.parametrize("check", MECHANISM_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanism_passes(name, check):
    check(MECHANISMS[name], 0)


@pytest.mark.parametrize("mutant", CAUGHT, ids=lambda mutant: mutant.__name__)
def test_bug_is_caught_and_named(mutant):
    with pytest.raises(CheckFailure, match=CAUGHT[mutant]):
        check_mechanism(mutant)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_enumeration_alone_catches_every_published_bug(mutant):
    with pytest.raises(CheckFailure, match=CAUGHT[mutant]):
        check_exact_privacy(mutant)


def test_audit_tells_leak_from_waste_from_honesty():
    leak, waste = audit(UnclearedBit(8, 1.0), 100_000), audit(SwappedProbabilities(8, 1.0), 100_000)
    honest = audit(MECHANISMS["oue"](8, 1.0), 100_000)
    assert leak.leaks
    assert waste.wastes
    assert not honest.leaks
    assert not honest.wastes


def test_bias_by_modulo_is_too_small_for_any_audit_but_not_for_enumeration():
    assert not audit(ModuloBias(8, 1.0), 50_000).leaks


def test_checks_take_names():
    check_mechanism("hr")
    with pytest.raises(UnknownMechanismError, match="there is no mechanism 'nope'"):
        check_mechanism("nope")
