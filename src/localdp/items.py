"""What can be an item, and which items can form a domain."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from localdp.errors import DomainError
from localdp.formats import canonical_json
from localdp.validation import LARGEST_EXACT_INTEGER, shown

Item = str | int | float | bool


def as_size(items: object) -> int | None:
    """The number of items, if a number was given; None for a list of items."""
    if isinstance(items, bool) or (isinstance(items, np.ndarray) and items.ndim):
        return None
    try:
        return operator.index(items)  # type: ignore[arg-type]
    except TypeError:
        return None


def checked_items(items: object) -> tuple[Item, ...]:
    if isinstance(items, np.ndarray):
        items = items.tolist()
    if not isinstance(items, Iterable):
        raise DomainError(f"a domain is a list of items or a number of items, not {items!r}")
    listed = tuple(items)
    return listed if _all_fit(listed) else _checked_one_by_one(listed)


def _all_fit(items: tuple[Any, ...]) -> bool:
    """Whether all items are plain strings, or all are plain whole numbers, and they can form a domain.

    Every question is asked of the whole list at once, in C. False decides nothing: `_checked_one_by_one` does.
    """
    kinds = set(map(type, items))
    if kinds == {int}:
        writable = min(items) >= -LARGEST_EXACT_INTEGER and max(items) <= LARGEST_EXACT_INTEGER
    else:
        writable = kinds == {str} and canonical_json.is_unicode("".join(items))
    return writable and _all_differ(items)


def _all_differ(items: tuple[Any, ...]) -> bool:
    """Whether all items differ. Sorting their hashes takes half the time of putting them into a set."""
    hashes = np.sort(np.fromiter(map(hash, items), np.int64, len(items)))  # different whole numbers have different ones
    if not (hashes[1:] == hashes[:-1]).any():
        return True
    return isinstance(items[0], str) and len(set(items)) == len(items)


def _checked_one_by_one(items: tuple[Any, ...]) -> tuple[Item, ...]:
    """The items, if they can form a domain; the error names the first one that is in the way."""
    listed = tuple(item.item() if isinstance(item, np.generic) else item for item in items)
    seen: dict[str | tuple[str], Item] = {}
    for item in listed:
        check_item(item)
        key = item if isinstance(item, str) else (repr(float(item) + 0.0),)  # True, 1 and 1.0 are equal
        if key in seen:
            same = "" if repr(seen[key]) == repr(item) else f" (equal to {shown(seen[key])})"
            raise DomainError(f"the item {shown(item)}{same} is in the domain twice; every item must be there once")
        seen[key] = item
    return listed


def check_item(item: object) -> None:
    if not isinstance(item, str | int | float) or (isinstance(item, float) and not math.isfinite(item)):
        raise DomainError(f"{item!r} cannot be an item: items are strings, whole numbers, finite floats or booleans")
    if not isinstance(item, str) and abs(item) > LARGEST_EXACT_INTEGER:
        raise DomainError("a number past 2^53 cannot be an item, since other languages lose its digits: use strings")
    try:
        canonical_json.dumps(item)
    except ValueError as error:
        raise DomainError(f"{item!r} cannot be an item: {error}") from None


def typed(text: str, items: Sequence[Item]) -> Item:
    """The item that was typed: itself if the items are text, or else the number or boolean that the text stands for."""
    if not isinstance(items, range) and text in items:
        return text
    try:
        plain: Any = canonical_json.loads(text)
    except ValueError:
        return text
    if isinstance(items, range):
        is_item = type(plain) is int and plain in items
    else:  # Python says that True is 1, and as items they differ
        is_item = any(plain == item and isinstance(plain, bool) == isinstance(item, bool) for item in items)
    return plain if is_item else text
