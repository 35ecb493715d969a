"""Checks that a mechanism is written as the library expects: types and shapes, before any probability is looked at.

Every message says what to set or to return. Without these checks, an author would meet errors from deep inside.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from localdp.checks.failure import CheckFailure, require
from localdp.checks.instances import Kind, instances
from localdp.errors import ChannelTooLargeError, EpsilonError, LocalDPError
from localdp.mechanisms import Channel, Mechanism
from localdp.randomness.keystream import seeded
from localdp.registry import complaint_about
from localdp.validation import LARGEST_EXACT_INTEGER, shown

_USERS = 3
_NARROW = 10  # bits of a probability
_MANY_USERS = 200
_PARAMETER = re.compile(r"[a-z][a-z0-9_]*")


def check_definition(kind: Kind, seed: int = 0) -> None:
    """The class must be complete, and its methods must return values of the types and shapes that the library needs.

    Catches what is forgotten or misunderstood: probabilities as floats, reports that are not bytes, a slow count that
    does not say so.
    """
    complaint = complaint_about(kind, Mechanism)
    require(complaint is None, f"{complaint}")
    require(
        kind.p is not Mechanism.p or kind.chance is not Mechanism.chance,
        f"{kind.__name__} is not complete: write p and q, or, for one that is not pure, outcomes and chance",
    )
    require(
        kind.counts_pairs or kind.count is not Mechanism.count,
        f"{kind.name} counts one item after the other: set counts_pairs = True in {kind.__name__} so that the "
        "checks know that it is slow, or write a count that looks at all items at once",
    )
    for mechanism in _made(kind):
        _require_numbers(mechanism)
        _require_width(mechanism)
        _require_parameters(mechanism)
        _require_methods(mechanism, seed)
        _require_channel(mechanism)


def _made(kind: Kind) -> list[Mechanism]:
    """The mechanism on a few domains; errors of `configure`, `p` and `q` are reported as failures."""
    try:
        return list(instances(kind, sizes=(2, 3, 5)))
    except (LocalDPError, CheckFailure):
        raise
    except Exception as error:
        raise CheckFailure(
            f"{kind.name} cannot be made: configure(), p or q raises {type(error).__name__}: {error}. (Thresholds are "
            "whole numbers, such as thresholds.rounded_down(probability, self.width), and probabilities are fractions.)"
        ) from error


def _require_numbers(mechanism: Mechanism) -> None:
    """p, q and ratio are fractions, and report_bits is a whole number."""
    for name in ("p", "q", "ratio") if mechanism.pure else ("ratio",):
        try:
            value: Any = getattr(mechanism, name)
        except ArithmeticError as error:
            raise CheckFailure(
                f"{mechanism.name} on {mechanism.size} items: {name} raises {type(error).__name__}: {error}. Expected "
                "an exact fraction; where the mechanism does not work for so few items, raise "
                "ldp.errors.ImpureMechanismError in configure()"
            ) from error
        require(
            isinstance(value, Fraction | int),
            f"{mechanism.name}: {name} is {shown(value)}, of type {type(value).__name__}; expected an exact "
            f"fraction, such as Fraction(threshold, 2**self.width), because floats are rounded",
        )
    for name in ("p", "q") if mechanism.pure else ():
        value = getattr(mechanism, name)
        require(0 < value <= 1, f"{mechanism.name}: {name} is {float(value):g}; expected a probability above 0")
    require(mechanism.ratio >= 1, f"{mechanism.name}: ratio is {float(mechanism.ratio):g}; expected e^epsilon, above 1")
    bits: Any = mechanism.report_bits
    require(
        type(bits) is int and bits >= 1,
        f"{mechanism.name}: report_bits is {shown(bits)}; expected a whole number of at least 1, of type int",
    )


def _require_width(mechanism: Mechanism) -> None:
    """Thresholds are out of 2^width, whatever the width is: the checks try every random input of a small one."""
    if not mechanism.pure:
        return  # its chances are compared with its channel
    try:
        narrow = mechanism.at_width(_NARROW)
    except EpsilonError:
        return  # too coarse for so small an epsilon
    require(
        narrow.p <= 1 and narrow.q <= 1,
        f"{mechanism.name}: at {_NARROW} bits, p is {float(narrow.p):g} and q is {float(narrow.q):g}; expected "
        "probabilities. Use self.width in configure(), p and q, not 64",
    )


def _require_parameters(mechanism: Mechanism) -> None:
    """parameters() can be written into a plan and read by any client."""
    given: Any = mechanism.parameters()
    expected = "expected a dictionary of names (small letters, digits, _) with whole numbers below 2^53 or texts"
    require(isinstance(given, dict), f"{mechanism.name}: parameters() returns a {type(given).__name__}; {expected}")
    for name, value in given.items():
        usable = type(value) is str or (type(value) is int and abs(value) <= LARGEST_EXACT_INTEGER)
        require(
            isinstance(name, str) and _PARAMETER.fullmatch(name) is not None and usable,
            f"{mechanism.name}: parameters() has {shown(name)}: {shown(value)}, of type {type(value).__name__}; "
            f"{expected}. Write a threshold as a text: str(threshold)",
        )


def _require_methods(mechanism: Mechanism, seed: int) -> None:
    """randomize, supports and count return arrays of the right type and shape."""
    values = np.array([0, mechanism.size - 1, 0])
    rows = _called(mechanism, "randomize", lambda: mechanism.randomize(values, seeded(seed)))
    _require_array(
        mechanism,
        "randomize(values, source)",
        rows,
        np.uint8,
        (_USERS, mechanism.report_bytes),
        f"a row of bytes for each user: for a report that is a number below 2^{mechanism.report_bits}, "
        "bitstrings.from_integers(numbers, self.report_bits)",
    )
    once, again = (mechanism.randomize(np.zeros(_MANY_USERS, np.int64), seeded(seed)) for _ in range(2))
    require(
        np.array_equal(once, again),
        f"{mechanism.name}: randomize(values, source) with the same source twice returns different reports; expected "
        "the same: take all randomness from `source`, because no other is known to be secure",
    )
    _called(mechanism, "validate", lambda: mechanism.validate(rows))
    flags = _called(mechanism, "supports", lambda: mechanism.supports(rows, 0))
    _require_array(mechanism, "supports(rows, item)", flags, np.bool_, (_USERS,), "True or False for each report")
    counts = _called(mechanism, "count", lambda: mechanism.count(rows))
    expected = "a whole number for each item: how many of the reports support it"
    _require_array(mechanism, "count(rows)", counts, np.int64, (mechanism.outcomes,), expected)


def _called(mechanism: Mechanism, name: str, call: Callable[[], Any]) -> Any:
    """What a method returns; an error in it is a failure that names the method."""
    try:
        return call()
    except LocalDPError as error:
        raise CheckFailure(f"{mechanism.name}: {name}() refuses what randomize() made: {error}") from error
    except Exception as error:
        raise CheckFailure(f"{mechanism.name}: {name}() raises {type(error).__name__}: {error}") from error


def _require_array(
    mechanism: Mechanism, call: str, found: Any, dtype: type[np.generic], shape: tuple[int, ...], expected: str
) -> None:
    """The array has this type and shape."""
    is_array = isinstance(found, np.ndarray)
    what = (
        f"an array of {found.dtype} of shape {found.shape}" if is_array else f"a value of type {type(found).__name__}"
    )
    require(
        is_array and found.dtype == dtype and found.shape == shape,
        f"{mechanism.name}: {call} for {_USERS} users and {mechanism.size} items returns {what}; expected an "
        f"array of {np.dtype(dtype)} of shape {shape}, {expected}",
    )


def _require_channel(mechanism: Mechanism) -> None:
    """channel() has a row of fractions that sum to 1 for each value."""
    try:
        channel = mechanism.channel()
    except ChannelTooLargeError:
        return
    except Exception as error:
        raise CheckFailure(f"{mechanism.name}: channel() raises {type(error).__name__}: {error}") from error
    require(
        isinstance(channel, Channel),
        f"{mechanism.name}: channel() returns a {type(channel).__name__}; expected Channel(reports, probabilities)",
    )
    reports = len(channel.reports)
    shape = (reports, mechanism.report_bytes)
    require(
        channel.reports.dtype == np.uint8 and channel.reports.shape == shape,
        f"{mechanism.name}: the reports of channel() are an array of {channel.reports.dtype} of shape "
        f"{channel.reports.shape}; expected rows of {mechanism.report_bytes} bytes, one for each possible report",
    )
    require(
        len(channel.probabilities) == mechanism.size and all(len(row) == reports for row in channel.probabilities),
        f"{mechanism.name}: channel() has {len(channel.probabilities)} rows of probabilities; expected one for each of "
        f"the {mechanism.size} values, each with a probability for each of the {reports} reports",
    )
    for value, row in enumerate(channel.probabilities):
        exact = all(isinstance(probability, Fraction | int) for probability in row)
        require(
            exact and sum(row) == 1,
            f"{mechanism.name}: the probabilities of channel() for value {value} sum to {float(sum(row)):.12g} as "
            f"{type(row[0]).__name__}; expected fractions that sum to exactly 1",
        )
