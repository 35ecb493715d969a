"""One text for one value: canonical JSON, so that a fingerprint means the same in every language.

The rules are those of RFC 8785 (JSON Canonicalization Scheme): keys sorted, no spaces, UTF-8, and numbers
written as ECMAScript's `JSON.stringify` writes them (`1`, not `1.0`; `0.000001`, not `1e-06`).

>>> dumps({"epsilon": 1.0, "b": [1e-7, 0.5, "å"], "a": None})
'{"a":null,"b":[1e-7,0.5,"å"],"epsilon":1}'
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

from localdp.validation import LARGEST_EXACT_INTEGER


def dumps(value: Any) -> str:
    """The canonical text of a JSON value; `ValueError` for what JSON in other languages cannot hold."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_string(key)}:{dumps(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(dumps, value)) + "]"
    if isinstance(value, str):
        return _string(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        if abs(value) > LARGEST_EXACT_INTEGER:
            raise ValueError(f"{value} is past 2^53, where other languages lose digits; write it as a string")
        return str(value)
    if isinstance(value, float):
        return _number(value)
    raise ValueError(f"{value!r} has no place in JSON")


def loads(text: str | bytes) -> Any:
    """Read JSON strictly: UTF-8, no key twice, no NaN. `ValueError` for anything else."""
    try:
        decoded = text if isinstance(text, str) else bytes(text).decode("utf-8")
        return json.loads(decoded, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key is there twice, so readers may disagree on its value")
    return dict(pairs)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} has no place in JSON")


def _string(text: str) -> str:
    text.encode("utf-8")  # a lone surrogate is not text: UnicodeEncodeError is a ValueError
    return json.dumps(text, ensure_ascii=False)


def _number(value: float) -> str:
    """ECMAScript's Number::toString: the shortest digits that read back, laid out by their exponent."""
    if not math.isfinite(value):
        raise ValueError(f"{value} has no place in JSON")
    if value == 0:
        return "0"
    sign, digit_tuple, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits = "".join(map(str, digit_tuple))
    point = len(digits) + int(exponent)
    minus = "-" if sign else ""
    if len(digits) <= point <= 21:
        return minus + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{minus}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{minus}0.{'0' * -point}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{minus}{mantissa}e{'+' if point > 0 else '-'}{abs(point - 1)}"
