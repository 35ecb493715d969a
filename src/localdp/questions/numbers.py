"""Numbers that people gave, from lists, arrays and columns of every kind: one float for each person.

A value that is missing or no number becomes nan: None, nan, a masked value, True and False, times, and text that does
not write a number. Text that does, such as "37" in a CSV file, is that number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Set
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from localdp.errors import UnknownItemError
from localdp.types import Vector
from localdp.validation import check_no_table, shown

# Python and JavaScript read such a text as the same number. Both know more ways to write one, and differ there.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WITH_COMMA = re.compile(r"[+-]?[0-9][0-9.]{0,40},[0-9][0-9,.]{0,40}")
_LONGEST = 400  # characters of a number: float() takes quadratic time for whole numbers of any length


def numbers_of(values: Any) -> Vector:
    """The values as floats, nan for those that are missing or no number.

    >>> numbers_of([3, "4.5", None, "many", True]).tolist()
    [3.0, 4.5, nan, nan, nan]
    """
    check_no_table(values, UnknownItemError)
    flat = isinstance(values, Iterable) and not isinstance(values, str | bytes | Set | Mapping)
    if not flat or (isinstance(values, np.ndarray) and values.ndim != 1):
        raise UnknownItemError(f"values must be a flat list with one number for each user, not {shown(values, 60)}")
    if hasattr(values, "to_pylist"):  # an Arrow array, whose elements are not plain values
        values = values.to_pylist()
    if isinstance(values, np.ndarray) and not np.ma.isMaskedArray(values) and values.dtype.kind in "iuf":
        return values.astype(np.float64)
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)  # masked values are None
    if set(map(type, listed)) <= {int, float}:
        try:
            return np.array(listed, np.float64)
        except OverflowError:
            pass  # a whole number of hundreds of digits, which is taken one by one below
    return np.array([number_of(value) for value in listed], np.float64)


def has_comma(values: Any) -> bool:
    """Whether one of these values is a number that is written with a comma, which is not read as a number.

    >>> has_comma(["1.5", "1,5"]), has_comma(["1.5", "yes, of course"])
    (True, False)
    """
    return any(isinstance(value, str) and _WITH_COMMA.fullmatch(value.strip()) for value in values)


def number_of(value: Any) -> float:
    """One value as a float, nan if it is missing or no number."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        text = value.strip(" \t\r\n")
        return float(text) if len(text) <= _LONGEST and _NUMBER.fullmatch(text) else math.nan
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value == abs(value) else -math.inf
    except ValueError:  # a decimal number that signals that it is none
        return math.nan
