"""Canonical JSON: every value has exactly one text, so a fingerprint is the same in every language.

The text has no spaces. Strings and numbers are written as RFC 8785 (JSON Canonicalization Scheme) says, which is how
ECMAScript's `JSON.stringify` writes them: `1`, not `1.0`; `0.000001`, not `1e-06`; `"` and `\\` behind a backslash;
`\\b \\t \\n \\f \\r` and otherwise `\\u00xx` for the control characters below U+0020; every other character as it is.

Keys are sorted by Unicode code point. RFC 8785 sorts them by UTF-16 code unit. The two orders differ only between a
key with a character beyond U+FFFF, which UTF-16 writes as surrogates from U+D800 to U+DFFF, and a key with a character
from U+E000 to U+FFFF in the same place. The keys of plans and aggregates are fixed and ASCII, so their text is
RFC 8785's.

>>> dumps({"epsilon": 1.0, "b": [1e-7, 0.5, "å"], "a": None})
'{"a":null,"b":[1e-7,0.5,"å"],"epsilon":1}'
>>> dumps({"\\U0001f375": 1, "\\uff5e": 2})  # RFC 8785 would write the cup of tea first
'{"～":2,"🍵":1}'
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

from localdp.validation import LARGEST_EXACT_INTEGER, shown

_SEPARATOR = b"\0"
_OTHER_CONTROLS = bytes(range(1, 0x20))
_INSTEAD_OF_ADVICE = {  # what Python advises its programmers is of no use to whoever wrote the text
    "utf-8-sig": "it begins with a byte order mark (BOM), which JSON does not have",
    "set_int_max_str_digits": "a whole number in it has thousands of digits",
}


def dumps(value: Any) -> str:
    """The canonical text of a JSON value; `ValueError` for what JSON in other languages cannot hold.

    The text is that of `definition`, which writes item by item. This function writes a list of strings, or of whole
    numbers, by a few calls for the whole list, because plans can have hundreds of thousands of items.
    """
    if isinstance(value, dict):
        return "{" + ",".join(f"{_string(key)}:{dumps(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        at_once = _list_at_once(value)
        return "[" + ",".join(map(dumps, value)) + "]" if at_once is None else at_once
    return definition(value)


def definition(value: Any) -> str:
    """The canonical text, written item by item: slow on long lists, and what `dumps` is tested against."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_string(key)}:{definition(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(definition, value)) + "]"
    if isinstance(value, str):
        return _string(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        if abs(value) > LARGEST_EXACT_INTEGER:
            raise ValueError(f"{shown(value)} is past 2^53, where other languages lose digits; write it as a string")
        return str(value)
    if isinstance(value, float):
        return _number(value)
    raise ValueError(f"{shown(value)} has no place in JSON")


def loads(text: str | bytes) -> Any:
    """Read JSON strictly: UTF-8, no key twice, no NaN. `ValueError` for anything else."""
    try:
        decoded = text if isinstance(text, str) else bytes(text).decode("utf-8")
        return json.loads(decoded, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("not JSON: it is nested too deeply") from None
    except TypeError as error:
        raise ValueError(f"not JSON: {error}") from None
    except ValueError as error:
        for advice, plain in _INSTEAD_OF_ADVICE.items():
            if advice in str(error):
                raise ValueError(plain) from None
        raise


def _list_at_once(items: list[Any] | tuple[Any, ...]) -> str | None:
    """The text of a list of strings, or of plain whole numbers; None for any other list, and for one with an error."""
    if items and isinstance(items[0], str):
        return _strings_at_once(items)
    if set(map(type, items)) != {int}:  # the exact type: True is an int too, and is written differently
        return None
    fits = min(items) >= -LARGEST_EXACT_INTEGER and max(items) <= LARGEST_EXACT_INTEGER
    return json.dumps(items, separators=(",", ":")) if fits else None


def _strings_at_once(items: list[Any] | tuple[Any, ...]) -> str | None:
    """The text of a list of strings: joined by NUL, escaped in one piece, and the NULs turned into `","`."""
    try:
        octets = _SEPARATOR.decode().join(items).encode("utf-8")
    except (TypeError, UnicodeEncodeError):  # not all are strings, or one has a lone surrogate
        return None
    if octets.count(_SEPARATOR) >= len(items) or len(octets.translate(None, _OTHER_CONTROLS)) < len(octets):
        return json.dumps(items, ensure_ascii=False, separators=(",", ":"))  # control characters: rare, and slower
    escaped = octets.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(_SEPARATOR, b'","')
    return f'["{escaped.decode("utf-8")}"]'


def is_unicode(text: str) -> bool:
    """Whether the text can be written in UTF-8: it has no lone surrogate, half of a character beyond U+FFFF."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key is there twice, so readers may disagree on its value")
    return dict(pairs)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} has no place in JSON")


def _string(text: str) -> str:
    text.encode("utf-8")  # raises UnicodeEncodeError, a ValueError, on a lone surrogate
    return json.dumps(text, ensure_ascii=False)


def _number(value: float) -> str:
    """ECMAScript's Number::toString: the shortest digits that read back, laid out by their exponent."""
    if not math.isfinite(value):
        raise ValueError(f"{value} has no place in JSON")
    if value == 0:
        return "0"  # also for -0.0
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


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values have the same canonical text. (Comparing the values would not do: 1 == True.)"""
    try:
        return dumps(one) == dumps(other)
    except (ValueError, RecursionError):
        return False
