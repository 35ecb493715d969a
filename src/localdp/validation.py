"""Checks of the quantities that people pass in, one function for each quantity.

Each function returns the quantity in the type that the library computes with, or raises an error that says what was
given and what is expected.

>>> checked_users(40)
40
>>> share_of("0.5%", "a threshold")
0.005
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Sequence
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from localdp.errors import (
    DomainError,
    EmptyError,
    EpsilonError,
    FrequencyError,
    ImpureMechanismError,
    InvalidInputError,
    SeedError,
)
from localdp.frozen import read_only
from localdp.types import Counts, Vector

LARGEST_EPSILON = 16.0
LARGEST_SIZE = 2**32
"""The largest number of items of a domain."""
LARGEST_EXACT_INTEGER = 2**53 - 1
"""2^53 - 1: larger whole numbers lose digits in languages that keep all numbers as floats."""


def checked_epsilon(epsilon: object) -> float:
    """A privacy budget as a float above 0 and at most 16.

    Other files check what needs more than the number: a missing epsilon (`plan/plan.py`), one too small for 64-bit
    probabilities (`mechanisms/base.py`), and one too large for `hr` (`mechanisms/hadamard.py`).
    """
    if isinstance(epsilon, bool) or not isinstance(epsilon, Real):
        raise EpsilonError(
            f"epsilon must be a number above 0 and at most 16, such as 1.0 (an int or a float), not "
            f"{shown(epsilon, 60)}; `localdp.advise` helps to choose one"
        )
    try:
        value = float(epsilon)
    except OverflowError:
        value = math.inf
    if math.isfinite(value) and value > epsilon:
        value = math.nextafter(value, 0)  # the number given lies between two floats: take the more private one
    if not math.isfinite(value):
        raise EpsilonError(f"epsilon must be above 0 and at most 16, not {shown(epsilon, 60)}: it must be finite")
    if value <= 0:
        raise EpsilonError(
            f"epsilon must be above 0 and at most 16, not {value}: a report would say nothing about the item"
        )
    if value > LARGEST_EPSILON:
        raise EpsilonError(
            f"epsilon must be above 0 and at most 16, not {value}: a larger one would hide next to nothing"
        )
    return value


def checked_size(size: object) -> int:
    """A number of items, from 2 to 2^32."""
    value = _integer(size)
    if value is None or not 2 <= value <= LARGEST_SIZE:
        raise DomainError(f"a mechanism needs a whole number of items from 2 to 2^32, not {shown(size)}")
    return value


def checked_users(n: object, least: int = 1) -> int:
    """A number of users, at least 1 unless `least` is 0."""
    users = _integer(n)
    if users is None:
        raise InvalidInputError(f"n is the number of users, a whole number, not {shown(n)}")
    if not 0 <= users <= LARGEST_EXACT_INTEGER:
        raise InvalidInputError(f"n is the number of users, at most 2^53, and cannot be {shown(n)}")
    if users < least:
        raise EmptyError("there are no users (n = 0), so there is nothing to estimate")
    return users


def checked_seed(seed: object) -> int:
    """A seed: a whole number of at least 0."""
    value = _integer(seed)
    if value is None or value < 0:
        raise SeedError(f"a seed is a whole number of at least 0, not {shown(seed)}")
    return value


def checked_amount(k: object, most: int, what: str) -> int:
    """A whole number from 1 to `most`; the error begins with `what`, such as "the top k"."""
    value = _integer(k)
    if value is None or not 1 <= value <= most:
        raise InvalidInputError(f"{what} must be a whole number from 1 to {most}, not {shown(k)}")
    return value


def checked_level(level: Any, what: str = "a level") -> float:
    """A probability strictly between 0 and 1."""
    is_number = isinstance(level, Real)
    if not is_number or not 0 < level < 1:
        meant = f": write {float(level) / 100:g} for {level:g}%" if is_number and 1 < level < 100 else ""
        raise InvalidInputError(f"{what} is a probability between 0 and 1, not {shown(level)}{meant}")
    return float(level)


def checked_threshold(threshold: Any) -> float:
    """A number of users that a frequency is compared with; any real number."""
    sentence = "a threshold is a number of users"
    if isinstance(threshold, bool | np.bool_) or not isinstance(threshold, Real) or threshold != threshold:
        raise InvalidInputError(f"{sentence}, not {shown(threshold)}")
    return checked_number(threshold, sentence)


def checked_limit(users: float) -> float:
    """A number of users of at least 1; if it might be a share, the error says how shares are written."""
    if users >= 1:
        return users
    hint = ""
    if users > 0:
        large, small = (f"'{share * 100:.6g}%' ({_in_words(share)})" for share in (users, users / 100))
        hint = f"; for a share of the users write {large} or {small}"
    raise InvalidInputError(f"a threshold is a number of users, at least 1, not {users:g}{hint}")


def _in_words(share: float) -> str:
    """The share as people say it: 0.1 is "1 user in 10"."""
    exact = Fraction(f"{share:.6g}")
    return f"{exact.numerator:,} user{'' if exact.numerator == 1 else 's'} in {exact.denominator:,}"


def share_of(text: Any, what: str) -> float:
    """A share of the users between 0 and 1, given as a number such as 0.005 or as text such as "0.5%"."""
    given = text.strip() if isinstance(text, str) else text
    try:
        share = float(given[:-1]) / 100 if isinstance(given, str) and given.endswith("%") else float(given)
    except (TypeError, ValueError, OverflowError):
        share = math.nan
    if isinstance(text, bool | np.bool_) or not 0 <= share <= 1:
        meant = 1 < share <= 100 and not str(given).endswith("%")
        hint = f"; for {share:g} percent write '{share:g}%'" if meant else ""
        raise InvalidInputError(
            f"{what} is a share of the users, such as '10%' or 0.1 (1 user in 10), not {shown(text)}{hint}"
        )
    return share


def checked_number(number: Any, sentence: str) -> float:
    """A number as a float; the error begins with `sentence`, such as "a variance is one number"."""
    try:
        return float(number)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"{sentence}, not {shown(number, 60)}") from None


def checked_variance(variance: Any) -> float:
    """The variance of an estimate of an item that nobody holds."""
    if variance is None:
        raise ImpureMechanismError(
            "an estimate needs its variance, and None was given; mechanisms that are not pure have no single variance, "
            "so their estimates cannot be calibrated here; use a pure mechanism such as 'llh', 'oue' or 'grr'"
        )
    value = checked_number(variance, "variance is one number for all items, or a list with one for each")
    if not value >= 0:
        raise InvalidInputError(f"a variance is at least 0, not {value}")
    return value


def checked_variances(variances: ArrayLike, size: int) -> Vector:
    """A read-only copy of the variances of estimates, one for each of this many items that nobody holds."""
    try:
        vector = np.array(variances, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError("variance is one number for all items, or a flat list with one for each item") from None
    if vector.shape != (size,):
        given = f"{vector.size} were given" if vector.ndim == 1 else f"an array of shape {vector.shape} was given"
        raise InvalidInputError(f"variance is one number, or one for each of the {size} items, but {given}")
    bad = np.flatnonzero(~(np.isfinite(vector) & (vector > 0)))
    if bad.size:
        raise InvalidInputError(
            f"the variance of item {bad[0]} is {vector[bad[0]]}: every item needs a finite variance above 0"
        )
    return read_only(vector)


def checked_total(total: Any) -> float | None:
    """The sum of all frequencies as a float; None if it is not known."""
    if total is None:
        return None
    number = checked_number(total, "a total is the sum of all frequencies: a finite number above 0, or None")
    if not 0 < number < math.inf:
        raise FrequencyError(f"a total is the sum of all frequencies: a finite number above 0, or None, not {number:g}")
    return number


def checked_excess_variance(excess: Any) -> float:
    """The variance that each holder of an item adds to the item's estimate; it may be negative."""
    value = checked_number(excess, "excess_variance is one number, the same for all items")
    if not math.isfinite(value):
        raise InvalidInputError(f"excess_variance must be finite, not {value}")
    return value


def checked_probability(probability: Any) -> Fraction:
    """p* or q*, as an exact fraction."""
    if probability is None or np.ndim(probability) != 0:
        raise ImpureMechanismError.of("a mechanism without one p* and one q* for all items")
    try:
        value = Fraction(probability)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"p* and q* are probabilities, not {shown(probability)}") from None
    if not 0 <= value <= 1:
        raise InvalidInputError(f"p* and q* are probabilities, not {shown(probability)}")
    return value


def checked_estimates(values: ArrayLike, labels: Sequence[Any] | None = None) -> Vector:
    """A read-only copy of finite numbers, one for each item. An error names the item by its label, if there are any."""
    try:
        vector = np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        wanted = "frequencies must be a flat list of numbers, one for each item"
        raise FrequencyError(f"{wanted} (of a table, give the column that holds them)") from None
    if vector.ndim != 1:
        raise FrequencyError(f"frequencies must be a flat list, one for each item, not of shape {vector.shape}")
    bad = np.flatnonzero(~np.isfinite(vector))
    if bad.size:
        item = bad[0] if labels is None else shown(labels[bad[0]])
        raise FrequencyError(f"the frequency of item {item} is {vector[bad[0]]}, which is not a finite number")
    return read_only(vector)


def checked_counts(counts: ArrayLike, n: int, size: int | None = None) -> Counts:
    """A copy of support counts: for each item, the number of reports, out of n, that support it.

    There must be `size` counts, one for each item; any number of them if `size` is None.
    """
    whole = whole_numbers(counts)
    if whole.ndim != 1 or whole.size != (size or whole.size) or (whole < 0).any() or (whole > n).any():
        items = "one for each item" if size is None else f"one for each of the {size} items"
        raise FrequencyError(f"support counts are whole numbers between 0 and n = {n}, {items}")
    return whole


def checked_frequencies(frequencies: ArrayLike, size: int) -> Counts:
    """A copy of true frequencies: the number of users that hold each item, at least one user in all."""
    held = whole_numbers(frequencies)
    if held.shape != (size,):
        raise DomainError(f"frequencies must be a flat list of {size}, one for each item, not of shape {held.shape}")
    if (held < 0).any():
        first = int(np.argmax(held < 0))
        raise FrequencyError(f"frequencies count people, and cannot be negative: item {first} has {held[first]}")
    if held.sum(dtype=np.float64) > LARGEST_EXACT_INTEGER:
        raise FrequencyError("the frequencies sum to more than 2^53 people")
    if not held.any():
        raise EmptyError("the frequencies sum to 0, so nobody holds an item")
    return held


def whole_numbers(numbers: ArrayLike) -> Counts:
    """A copy of the numbers as int64; `FrequencyError` if one of them is not whole."""
    try:
        given = np.asarray(numbers)
        if given.dtype.kind in "iuf":
            with np.errstate(invalid="ignore"):
                whole = given.astype(np.int64)
            if (whole == given).all():
                return whole
    except (TypeError, ValueError, OverflowError):
        pass
    raise FrequencyError("frequencies and counts are numbers of people: every one must be a whole number")


def check_no_table(values: object, error: type[InvalidInputError]) -> None:
    """Raise the error for a table of rows and columns, of which only one column is meant."""
    shape = getattr(values, "shape", None)
    kinds = (list, tuple, np.ndarray)
    rows = isinstance(values, list | tuple) and bool(values) and all(isinstance(row, kinds) for row in values)
    if rows or (isinstance(shape, tuple) and len(shape) > 1):
        names = getattr(values, "columns", None)  # those of pandas and polars
        name = repr(str(names[0]))[:60] if names is not None and len(names) and isinstance(names[0], str) else "'...'"
        raise error(f"a table was given: pass one column, as in df[{name}]; values must be a flat list")


def check_no_answers(frequencies: Any) -> None:
    """Raise an error for texts where numbers of users are meant."""
    if isinstance(frequencies, Iterable) and isinstance(next(iter(frequencies), None), str):
        raise FrequencyError(
            "these are answers, and frequencies are numbers of users: count the answers first, as in "
            "collections.Counter(answers)"
        )


def checked_list(values: Any, what: str) -> list[Any]:
    """A list of at least one thing, given in any order-keeping form but a text."""
    if isinstance(values, str | bytes | dict | set) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{what} are given as a list, not as {shown(values, 60)}")
    listed = list(values)
    if not listed:
        raise InvalidInputError(f"the list of {what} is empty: give at least one")
    return listed


def _integer(value: object) -> int | None:
    """The value as an int, or None if it is not of a type for whole numbers. True and False do not count as numbers."""
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def shown(value: object, longest: int = 40) -> str:
    """The value as an error message shows it, at most `longest` characters long.

    >>> shown("tea"), shown(int), shown(object())
    ("'tea'", 'the class int', 'an object of type object')
    """
    if isinstance(value, type):
        return f"the class {value.__name__:.{longest}}"
    if type(value).__repr__ is object.__repr__:  # it would show an address in memory
        return f"an object of type {type(value).__name__:.{longest}}"
    try:
        return f"{value!r:.{longest}}"
    except ValueError:  # Python refuses to print whole numbers of more than 4,300 digits
        return "a number of thousands of digits"


def checked_regular_file(path: str | os.PathLike[str], error: type[InvalidInputError]) -> Path:
    """The path, unless it is a pipe, a device or a socket: reading one of those might never end."""
    checked = Path(path)
    if checked.exists() and not checked.is_file() and not checked.is_dir():
        raise error(f"{path} is a pipe, a device or a socket; a regular file is needed here")
    return checked
