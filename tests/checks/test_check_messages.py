"""What the checks say to the author of a wrong mechanism: one mutant for each message."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

from localdp.checks import CheckFailure, check_mechanism
from localdp.checks.failure import require
from localdp.checks.independence import check_value_independence
from localdp.checks.instances import instances, telling_values
from localdp.checks.privacy import check_exact_privacy, check_stated_privacy
from localdp.checks.reports import check_merging, check_wire
from localdp.checks.sampling import check_estimates, check_samples_match_channel
from localdp.errors import ImpureMechanismError, WireCode, WireError
from localdp.formats import bitstrings
from localdp.mechanisms import Channel, Mechanism, RandomizedResponse, SubsetSelection
from localdp.mechanisms.symbol_response import SymbolResponse


class CountsOneTooMany(RandomizedResponse):
    name = "mutant-count"

    def count(self, rows):
        return np.minimum(super().count(rows) + 1, len(rows))


class AcceptsEverything(RandomizedResponse):
    name = "mutant-lenient"

    def validate(self, rows):
        """Everything is welcome."""


class AcceptsAnySymbol(RandomizedResponse):
    name = "mutant-symbols"
    validate = Mechanism.validate


class RefusesTheFirstItem(RandomizedResponse):
    name = "mutant-strict"

    def validate(self, rows):
        super().validate(rows)
        if (rows == 0).all():
            raise WireError(WireCode.SYMBOL_OUT_OF_RANGE, "no zeros")


class StatesAnotherChannel(RandomizedResponse):
    name = "mutant-channel"

    def channel(self):
        channel = super().channel()
        return Channel(channel.reports, channel.probabilities[::-1])


class ListsTooMuch(RandomizedResponse):
    name = "mutant-lists"

    def channel(self):
        channel = super().channel()
        reports = np.append(channel.reports, [[0xFE]], axis=0)
        return Channel(reports, tuple((*row, Fraction(0)) for row in channel.probabilities))


class NeverSendsTheFirst(RandomizedResponse):
    name = "mutant-never"

    def randomize(self, values, source):
        reports = bitstrings.to_integers(super().randomize(values, source))
        return bitstrings.from_integers(np.where(values == 1, np.maximum(reports, 1), reports), self.report_bits)


class StatesAnotherRatio(RandomizedResponse):
    name = "mutant-ratio"

    @property
    def ratio(self):
        return super().ratio * Fraction(99, 100)


class SpendsHalf(RandomizedResponse):
    name = "mutant-waste"

    def configure(self):
        self.response = SymbolResponse.private(self.size, self.requested_epsilon / 2, self.width)


class ReadsMoreForOne(RandomizedResponse):
    name = "mutant-reads"

    def randomize(self, values, source):
        rows = super().randomize(values, source)
        again = np.flatnonzero(values == 1)
        if again.size:
            source.integers(again)
        return rows


class LongerForLateValues(RandomizedResponse):
    name = "mutant-length"

    def randomize(self, values, source):
        rows = super().randomize(values, source)
        return np.pad(rows, ((0, 0), (0, 1))) if values.max(initial=0) > 0 else rows


class NeverOffered(RandomizedResponse):
    name = "mutant-nowhere"

    def configure(self):
        raise ImpureMechanismError("not today")


class NoDifference(RandomizedResponse):
    name = "mutant-equal"

    @property
    def q(self):
        return self.p


class WrongSubsetRate(SubsetSelection):
    name = "mutant-rate"

    @property
    def q(self):
        return super().q * Fraction(9, 10)


class SendsUnlisted(RandomizedResponse):
    name = "mutant-unlisted"

    def channel(self):
        channel = super().channel()
        return Channel(channel.reports[:-1], tuple(row[:-1] for row in channel.probabilities))


MESSAGES = [
    (check_merging, CountsOneTooMany, r"counts (\d+) of 60 reports for item 0; by supports\(\) there are \d+"),
    (check_wire, AcceptsEverything, "accepted a malformed batch; expected a WireError with the code 'nonzero-padding'"),
    (check_wire, AcceptsAnySymbol, r"validate\(\) accepts the report 0x[5-7], which channel\(\) does not list"),
    (check_wire, RefusesTheFirstItem, r"validate\(\) refuses the report 0x0, which channel\(\) lists"),
    (check_exact_privacy, StatesAnotherChannel, r"with probability .* at 9 bits; its channel\(\) states"),
    (
        check_exact_privacy,
        ListsTooMuch,
        r"lists the report 0xfe in channel\(\), but over all random inputs .* never sends it",
    ),
    (check_exact_privacy, NeverSendsTheFirst, "never sends the report 0x0 for value 1, but does for another value"),
    (
        check_exact_privacy,
        StatesAnotherRatio,
        "states epsilon 0.4.*, but over all random inputs at 9 bits its reports have",
    ),
    (check_exact_privacy, ReadsMoreForOne, "does not read as many random bits for value 1 as for value 0"),
    (
        check_stated_privacy,
        SpendsHalf,
        "made for epsilon 0.001 and states epsilon 0.0005; expected at least 99.9% of it",
    ),
    (check_stated_privacy, NoDifference, r"cannot be made for 2 items at epsilon 0.001.* Expected p\* above q\*"),
    (
        check_value_independence,
        LongerForLateValues,
        r"returns reports of shape \(500, 1\) for value 0 and \(500, 2\) for",
    ),
    (
        check_estimates,
        WrongSubsetRate,
        "is biased: over 1200 runs .* off by .* expected at most 5.*; check p, q and count",
    ),
    (
        check_samples_match_channel,
        SendsUnlisted,
        r"sent the report 0x1 for value 0, which its channel\(\) does not list",
    ),
    (check_wire, NeverOffered, "cannot be checked: it raises ImpureMechanismError at all of the epsilons"),
]


@pytest.mark.parametrize(("check", "mutant", "message"), MESSAGES, ids=lambda case: getattr(case, "__name__", ""))
def test_the_message_says_what_was_found_and_expected(check, mutant, message):
    with pytest.raises(CheckFailure, match=message) as failure:
        check(mutant, 0)
    assert mutant.name in str(failure.value)
    assert re.search(r"expected|Expected|states|lists|list|supports", str(failure.value))


@pytest.mark.parametrize("mutant", [CountsOneTooMany, StatesAnotherRatio, NeverOffered])
def test_the_whole_suite_catches_it_too(mutant):
    with pytest.raises(CheckFailure, match=mutant.name):
        check_mechanism(mutant)


def test_a_failure_is_an_assertion_with_the_sentence():
    require(True, "all is well")
    with pytest.raises(AssertionError, match="the sentence"):
        require([], "the sentence")


def test_instances_leave_out_what_is_not_pure():
    class OnlySmall(RandomizedResponse):
        name = "only-small"

        def configure(self):
            if self.requested_epsilon > 1:
                raise ImpureMechanismError("too large")
            super().configure()

    found = [
        (made.size, made.requested_epsilon) for made in instances(OnlySmall, sizes=(2, 3), epsilons=(0.5, 1.0, 2.0))
    ]
    assert found == [(2, 0.5), (2, 1.0), (3, 0.5), (3, 1.0)]


def test_telling_values_are_all_or_the_edges_of_words():
    assert telling_values(RandomizedResponse(5, 1.0)) == [0, 1, 2, 3, 4]
    assert telling_values(RandomizedResponse(65, 1.0)) == [0, 1, 7, 8, 63, 64]
    assert telling_values(RandomizedResponse(16, 1.0)) == [0, 1, 7, 8, 15]
