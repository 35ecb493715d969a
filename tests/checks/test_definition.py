"""What the checks say about a mechanism that is not written as the library expects: each message says what to set."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from localdp.checks import MECHANISM_CHECKS, CheckFailure, check_mechanism
from localdp.checks.definition import check_definition
from localdp.checks.independence import check_value_independence
from localdp.errors import WireCode, WireError
from localdp.mechanisms import MECHANISMS, Channel, Mechanism, RandomizedResponse, UnaryEncoding, bitstrings

BASE = RandomizedResponse(3, 1.0)


def variant(**members):
    """Randomized response with some members replaced, under a name of its own."""
    return type("Variant", (RandomizedResponse,), {"name": "variant", **members})


def raises(error):
    def method(*_):
        raise error

    return method


def unseeded(mechanism, values):
    drawn = np.random.default_rng().integers(0, mechanism.size, values.size)
    return bitstrings.from_integers(drawn.astype(np.uint64), mechanism.report_bits)


class IgnoresTheWidth(UnaryEncoding):
    name = "ignores-the-width"

    def thresholds(self):
        return 2**63, 2**62


WRONG = [
    (BASE, "give the class RandomizedResponse, not an object of it"),
    (Mechanism, "Mechanism is not complete: write channel, configure, parameters, randomize, ratio"),
    (variant(name=None), "Variant needs a name, such as name = "),
    (variant(count=Mechanism.count), "set counts_pairs = True in Variant"),
    (variant(configure=raises(ZeroDivisionError("division by zero"))), "configure.., p or q raises ZeroDivisionError"),
    (variant(p=property(lambda _: 0.5)), "p is 0.5, of type float; expected an exact fraction, such as Fraction"),
    (variant(ratio=property(lambda _: 2.7)), "ratio is 2.7, of type float; expected an exact fraction"),
    (variant(ratio=property(lambda _: Fraction(1, 2))), "ratio is 0.5; expected e.epsilon, above 1"),
    (
        variant(ratio=property(lambda _: Fraction(1, 2) / 0)),
        "ratio raises ZeroDivisionError: .*where the mechanism does not work for so few items, raise .*Impure",
    ),
    (variant(report_bits=property(lambda _: 2.0)), "report_bits is 2.0; expected a whole number of at least 1"),
    (variant(parameters=lambda _: None), "parameters.. returns a NoneType; expected a dictionary of names"),
    (variant(parameters=lambda _: {"truth": 2**60}), "of type int; expected .* Write a threshold as a text: str"),
    (variant(parameters=lambda _: {"truth": 0.5}), "'truth': 0.5, of type float; expected a dictionary"),
    (variant(parameters=lambda _: {"the truth": 1}), "'the truth': 1"),
    (
        variant(randomize=lambda _, values, __: values),
        r"returns an array of int64 of shape \(3,\); expected an array of uint8",
    ),
    (variant(randomize=lambda *_: None), "randomize.* returns a value of type NoneType; expected an array of uint8"),
    (variant(randomize=raises(KeyError("x"))), "randomize.. raises KeyError: 'x'"),
    (variant(validate=raises(WireError(WireCode.WRONG_WEIGHT, "no"))), "validate.. refuses what randomize.. made: no"),
    (variant(supports=lambda _, rows, __: rows[:, 0]), r"supports\(rows, item\) .* returns an array of uint8 of shape"),
    (
        variant(count=lambda *_: [1, 1, 1]),
        r"count\(rows\) for 3 users and 2 items returns a value of type list; expected an array of int64",
    ),
    (
        variant(count=lambda self, _: np.zeros(self.size)),
        "an array of float64 of shape .2,.; expected an array of int64",
    ),
    (variant(randomize=lambda self, values, _: unseeded(self, values)), "take all randomness from `source`"),
    (IgnoresTheWidth, "at 10 bits, p is .*e.*; expected probabilities. Use self.width in configure"),
    (variant(channel=raises(NotImplementedError())), "channel.. raises NotImplementedError"),
    (variant(channel=lambda _: [[1.0]]), "channel.. returns a list; expected Channel"),
    (
        variant(channel=lambda _: Channel(np.zeros((1, 9), np.uint8), ())),
        "the reports of channel.. are an array of uint8",
    ),
    (variant(channel=lambda _: Channel(np.zeros((1, 1), np.uint8), ())), "has 0 rows of probabilities; expected one"),
    (
        variant(channel=lambda self: Channel(np.zeros((1, 1), np.uint8), ((0.5,),) * self.size)),
        "for value 0 sum to 0.5 as float; expected fractions that sum to exactly 1",
    ),
]


@pytest.mark.parametrize(("kind", "sentence"), WRONG, ids=[sentence[:40] for _, sentence in WRONG])
def test_a_wrong_definition_is_explained(kind, sentence):
    with pytest.raises(CheckFailure, match=sentence):
        check_mechanism(kind)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_mechanisms_of_the_library_are_well_defined(name):
    check_definition(MECHANISMS[name])


def test_the_definition_is_checked_first():
    assert MECHANISM_CHECKS[0] is check_definition


def test_a_class_without_a_file_is_checked():
    """A class that is typed into a notebook belongs to a module without a file, and its lines still count."""
    names = {"RandomizedResponse": RandomizedResponse, "__name__": "nowhere"}
    text = (
        "class Typed(RandomizedResponse):\n"
        "    name = 'typed'\n"
        "    def randomize(self, values, source):\n"
        "        if values.max(initial=0) > 0:\n"
        "            values = values + 0\n"
        "        return super().randomize(values, source)\n"
    )
    exec(compile(text, "<cell 1>", "exec"), names)  # noqa: S102
    with pytest.raises(CheckFailure, match=r"executes .*<cell 1>:.* for value 0"):
        check_value_independence(names["Typed"])
