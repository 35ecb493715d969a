"""The domain: the fixed list of items that people may hold.

>>> Domain(["tea", "coffee", "water"]).indices(["water", "tea"]).tolist()
[2, 0]
>>> Domain(3).indices([2, 0]).tolist()
[2, 0]
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localdp.errors import DomainError, FrequencyError, UnknownItemError
from localdp.formats import canonical_json
from localdp.frozen import Frozen
from localdp.items import Item, as_size, checked_items
from localdp.types import Indices
from localdp.validation import LARGEST_EXACT_INTEGER, LARGEST_SIZE, check_no_answers, check_no_table, shown

_NUMBERS = "the items are numbers, and this is text"
_TEXT = "the items are text, and this is a number"
_FLOATS = "the items are whole numbers, and this is a float: convert the values, as in values.astype(int)"
_OVERLOOKED = "it differs from an item only in spaces, capitals or the way accents are written"


class Domain(Frozen):
    """A fixed list of distinct items: strings, whole numbers, finite floats or booleans.

    Given a number d, the items are the indices 0..d-1 themselves. Two domains are equal when their items have the same
    JSON text, in the same order: 1 and 1.0 are the same item, 1 and True are not, though Python says `1 == True`.

    `other` is a catch-all: an item that stands for every value that is not an item. It is added to the items if it is
    not one of them. Without it, such values are refused.

    >>> Domain(["tea", "coffee"]).size
    2
    >>> Domain([1, 2]) == Domain([1.0, 2.0]), Domain([1, 2]) == Domain([True, 2])
    (True, False)
    >>> Domain(["tea", "coffee"], other="something else").indices(["coffee", "cocoa"]).tolist()
    [1, 2]
    """

    def __init__(self, items: int | Iterable[Item], other: Item | None = None) -> None:
        if isinstance(items, str | bytes):
            raise DomainError(f"a domain is a list of items or a number of items, not the text {items!r:.60}")
        if isinstance(items, Set | Mapping):
            raise DomainError("a domain needs an order that is the same everywhere: give a list, such as sorted(items)")
        check_no_table(items, DomainError)
        size = as_size(items)
        if size is not None and size > LARGEST_SIZE:
            given = f"{size:,}" if size < 2**64 else f"about 2^{size.bit_length() - 1}"
            raise DomainError(f"a domain holds at most 2^32 items, not {given}")
        self.items: Sequence[Item] = range(size) if size is not None else checked_items(items)
        self.other: Item | None = other.item() if isinstance(other, np.generic) else other
        if self.other is not None:
            self._place_other(self.other)
        if len(self.items) < 2:
            said = "one, everybody's answer is known" if self.items else "none, nobody can answer"
            raise DomainError(f"a domain needs at least two items: with {said}")
        self._freeze()

    def _place_other(self, other: Item) -> None:
        """Find the catch-all item in the domain, or add it as the last item."""
        if isinstance(self.items, range):
            if type(other) is not int or other not in self.items:
                raise DomainError(
                    f"the catch-all of numbered items is one of their numbers, 0..{self.size - 1}, not {shown(other)}"
                )
        elif _text_key(other) not in set(map(_text_key, self.items)):
            self.items = checked_items([*self.items, other])

    @property
    def size(self) -> int:
        """d, the number of items."""
        return len(self.items)

    def indices(self, values: ArrayLike) -> Indices:
        """The index of each value, one value for each user.

        A value that is not an item gets the index of the catch-all, if the domain has one. Otherwise an
        `UnknownItemError` names such values.
        """
        check_no_table(values, UnknownItemError)
        if not isinstance(values, Iterable) or isinstance(values, str | bytes | Set | Mapping) or _is_not_flat(values):
            raise UnknownItemError(f"values must be a flat list with one item for each user, not {values!r:.60}")
        if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
            raise UnknownItemError("times and durations cannot be items: give their text or their number instead")
        if hasattr(values, "to_pylist"):  # an Arrow array, whose elements are not plain values
            values = values.to_pylist()
            assert isinstance(values, list)  # noqa: S101 (for the type checker)
        if isinstance(self.items, range):
            if self.other is not None:
                return _numbers_or_other(values, self.size, self.other_index)
            return checked_indices(values if isinstance(values, np.ndarray) else list(values), self.size)
        listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)  # masked ones are None
        if self._sorted_numbers is not None and listed and set(map(type, listed)) == {int}:
            found = self._find_numbers(listed)
            if found is not None:
                return found
        if self._all_text and self.other is None:
            try:
                return np.fromiter(map(self._index.__getitem__, listed), np.int64, len(listed))
            except (KeyError, TypeError):
                pass  # the slower way finds out which values are not items
        rest = None if self.other is None else self.other_index
        places = [self._index.get(_text_key(value), rest) for value in listed]
        if None in places:
            strangers = [value for value, place in zip(listed, places, strict=True) if place is None]
            raise _unknown(strangers, f"the {self.size} items of the domain", self.near_miss(strangers[0]))
        return np.array(places, np.int64)

    def by_position(self, frequencies: Any) -> Any:
        """Frequencies in the order of the items, if they are given by item; any others are returned as they are.

        They are given by item in a mapping, or in a pandas Series whose index is not 0..d-1 in order.

        >>> Domain(["tea", "coffee", "milk"]).by_position({"milk": 5, "tea": 7}).tolist()
        [7, 0, 5]
        """
        check_no_table(frequencies, FrequencyError)
        labels = labels_of(frequencies)
        if isinstance(frequencies, Mapping):
            return self._placed(list(frequencies), np.array(list(frequencies.values())))
        check_no_answers(frequencies)
        return frequencies if labels is None else self._placed(labels, frequencies.to_numpy())

    def _placed(self, labels: list[Any], counts: NDArray[Any]) -> NDArray[Any]:
        """The counts at the places of their items, and 0 for all other items."""
        places = self.places(labels, "frequencies by item need an item for each frequency")
        if np.unique(places).size < places.size:
            raise FrequencyError("frequencies by item have an item twice: add up its frequencies first")
        ordered = np.zeros(self.size, counts.dtype if counts.size else np.int64)
        ordered[places] = counts
        return ordered

    def places(self, items: Any, why: str) -> Indices:
        """The index of each of these items. What is not an item is an error, which begins with `why`: no catch-all.

        >>> Domain(["tea", "coffee"], other="something else").places(["something else", "tea"], "groups have items")
        array([2, 0])
        """
        listed = self if self.other is None else Domain(self.size if isinstance(self.items, range) else self.items)
        try:
            return listed.indices(items)
        except UnknownItemError as error:
            raise UnknownItemError(f"{why}: {str(error).partition('; give the plan')[0]}") from None

    def near_miss(self, value: object) -> str | None:
        """Why a value that is not an item looks like one, as a remark without the value; None if it does not.

        >>> Domain(["0", "1"]).near_miss(0)
        'the items are text, and this is a number'
        >>> Domain(["tea", "coffee"]).near_miss("Tea ")
        'it differs from an item only in spaces, capitals or the way accents are written'
        """
        plain = _plain(value)
        if isinstance(self.items, range):
            return _near_number(plain, self.size)
        if isinstance(plain, str):
            if plain.strip() in {str(item) for item in self.items if not isinstance(item, str)}:
                return _NUMBERS
            alike = _folded(plain) in {_folded(item) for item in self.items if isinstance(item, str)}
            return _OVERLOOKED if alike else None
        is_number = isinstance(plain, int | float) and not isinstance(plain, bool)
        return _TEXT if is_number and str(plain) in self.items else None

    def lookalikes(self) -> tuple[str, str] | None:
        """Two items that look the same, because they are one text in two Unicode forms; None if there are none.

        >>> Domain(["caf\\u00e9", "cafe\\u0301"]).lookalikes() is None
        False
        """
        texts = [] if isinstance(self.items, range) else [item for item in self.items if isinstance(item, str)]
        if "".join(texts).isascii():
            return None
        seen: dict[str, str] = {}
        for text in texts:
            first = seen.setdefault(unicodedata.normalize("NFC", text), text)
            if first is not text:
                return first, text
        return None

    def to_json(self) -> dict[str, Any]:
        """The domain as a JSON value."""
        known = {"size": self.size} if isinstance(self.items, range) else {"items": list(self.items)}
        return known if self.other is None else {**known, "other": self.other}

    @classmethod
    def from_json(cls, given: Any) -> Domain:
        """The domain behind `{"items": [..]}` or `{"size": d}`, either with "other" or without.

        `TypeError` for any other shape: the caller knows what it is reading.
        """
        items = given.get("items", given.get("size")) if isinstance(given, dict) else None
        if not isinstance(items, list if "items" in given else int) or set(given) - {"other"} not in (
            {"items"},
            {"size"},
        ):
            raise TypeError("a domain has either items or a size")
        domain = cls(items, given.get("other"))
        if not canonical_json.same(domain.other, given.get("other")) or (domain.other is None) != (
            "other" not in given
        ):
            raise TypeError("the catch-all must be written as it is")
        if isinstance(items, list) and domain.size != len(items):
            raise TypeError("the catch-all must be one of the items")
        return domain

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domain) or self.items != other.items or self.other != other.other:
            return False  # items that differ have different texts
        if isinstance(self.items, range):
            return True
        if list(map(type, (*self.items, self.other))) == list(map(type, (*other.items, other.other))):
            return True
        return canonical_json.dumps(self.to_json()) == canonical_json.dumps(other.to_json())

    def __hash__(self) -> int:
        return hash((self.items, self.other))

    def __repr__(self) -> str:
        rest = "" if self.other is None else f", other={self.other!r:.40}"
        if isinstance(self.items, range):
            return f"Domain({self.size}{rest})"
        return f"Domain({list(self.items) if self.size <= 6 else [*self.items[:5], '...']}, {self.size} items{rest})"

    def index(self, value: Any) -> int:
        """The index of one value, as `indices` gives it, without the time that arrays take.

        >>> Domain(["tea", "coffee"], other="something else").index("cocoa")
        2
        """
        if type(value) is str and self._all_text:
            place = self._index.get(value)
            if place is not None:
                return place
        elif type(value) is int and isinstance(self.items, range) and 0 <= value < self.size:
            return value
        if isinstance(value, list | tuple | np.ndarray):
            raise UnknownItemError(f"a value is one item, not {shown(value)}")
        return int(self.indices([value])[0])

    def _find_numbers(self, numbers: list[int]) -> Indices | None:
        """The index of each whole number, by searching all of them at once; None if one needs a closer look."""
        ascending, indices = self._sorted_numbers  # type: ignore[misc]
        try:
            asked = np.array(numbers, np.int64)
        except OverflowError:
            return None
        places = np.minimum(np.searchsorted(ascending, asked), self.size - 1)
        known = ascending[places] == asked
        if self.other is not None:
            return np.where(known, indices[places], self.other_index)
        return indices[places] if known.all() else None

    @cached_property
    def _sorted_numbers(self) -> tuple[Indices, Indices] | None:
        """The items in ascending order, and their indices, if all items are whole numbers."""
        if set(map(type, self.items)) != {int}:
            return None
        items = np.array(self.items, np.int64)
        order = np.argsort(items, kind="stable")
        return items[order], order.astype(np.int64)

    @cached_property
    def _all_text(self) -> bool:
        return not isinstance(self.items, range) and set(map(type, self.items)) == {str}

    @cached_property
    def _index(self) -> dict[Any, int]:
        """The index of each item, by its text.

        Python salts the hashes of text but not those of numbers. With numbers as keys, whoever writes a plan could
        choose items that keep a device busy for hours.
        """
        keys = self.items if self._all_text else map(_text_key, self.items)
        return dict(zip(keys, range(self.size), strict=True))

    @property
    def other_index(self) -> int:
        """The index of the catch-all item."""
        return int(self.other) if isinstance(self.items, range) else self._index[_text_key(self.other)]  # type: ignore[arg-type]


def _text_key(value: object) -> str | tuple[str] | None:
    """What two values share exactly if they have the same canonical JSON text; None for what cannot be an item."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ("true",) if value else ("false",)
    if isinstance(value, int | float) and abs(value) <= LARGEST_EXACT_INTEGER:
        return (repr(float(value) + 0.0),)  # whole numbers up to here are exact, and -0 is 0
    return None


def labels_of(frequencies: Any) -> list[Any] | None:
    """The items of frequencies that are given by item, in a mapping or a pandas Series; None if they are in order.

    >>> labels_of({"tea": 5, "milk": 3}), labels_of([5, 3])
    (['tea', 'milk'], None)
    """
    if isinstance(frequencies, Mapping):
        return list(frequencies)
    index: Any = getattr(frequencies, "index", None)
    if not hasattr(index, "tolist"):  # lists and Arrow arrays have a method of this name
        return None
    labels: list[Any] = index.tolist()
    return None if labels == list(range(len(labels))) else labels


def checked_indices(values: Any, size: int) -> Indices:
    """Indices of items in a domain of this size, as int64; `UnknownItemError` names the values that are none."""
    if np.ma.is_masked(values):
        raise UnknownItemError("some values are masked, and a missing value is not an item: fill them in, or drop them")
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.asarray(values, object)
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.dtype == np.int64 and array.ndim == 1 and int(array.view(np.uint64).max()) < size:
        return array  # as unsigned numbers, negative ones are large
    places = f"0..{size - 1}"
    if array.ndim != 1 or array.dtype.kind not in "iu":
        listed = [_plain(value) for value in array.tolist()] if array.ndim else [values]
        strange = [value for value in listed if type(value) is not int or not 0 <= value < size]
        if array.ndim == 1 and not strange:
            return np.array(listed, np.int64)  # whole numbers in an array of objects
        raise _unknown(strange or listed, places, _near_number(strange[0], size) if strange else None, size)
    outside = (array < 0) | (array >= size)
    if outside.any():
        raise _unknown(array[outside].tolist(), places, size=size)
    return array.astype(np.int64)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _near_number(value: object, size: int) -> str | None:
    """Why a value that is no index looks like one; None if it does not."""
    if isinstance(value, str):
        return _NUMBERS if _is_index(value.strip(), size) else None
    return _FLOATS if isinstance(value, float) and value.is_integer() and 0 <= value < size else None


def _is_index(text: str, size: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 10 and int(text) < size


def _folded(text: str) -> str:
    """The text without what is easily overlooked: spaces around it, capitals, Unicode forms."""
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _unknown(values: list[Any], what: str, hint: str | None = None, size: int | None = None) -> UnknownItemError:
    """The error that names a few values that are not among `what`, with a hint if there is one.

    `size` is the number of items if they are numbers: then the catch-all is one of them.
    """
    catch_all = "Plan(items, other='something else')" if size is None else f"Plan({size + 1}, other={size})"
    distinct = list(dict.fromkeys(map(shown, values)))
    examples = ", ".join(distinct[:3]) + (", ..." if len(distinct) > 3 else "")
    return UnknownItemError(
        f"{len(values)} value{'s' if len(values) > 1 else ''} not among {what}: {examples}"
        f"{f' ({hint})' if hint else ''}; "
        f"give the plan a catch-all item for them, as in {catch_all}. Leaving such users out "
        "would tell that they hold none of the items"
    )


def _numbers_or_other(values: Any, size: int, other: int) -> Indices:
    """Whole numbers from 0 to size - 1 as they are, and everything else, such as missing values, as the catch-all."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and not np.ma.isMaskedArray(values):
        inside = (values >= 0) & (values < size)
        indices = np.full(values.size, other, np.int64)
        indices[inside] = values[inside]
        return indices
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)  # masked values are None
    return np.array([_number_or_other(value, size, other) for value in listed], np.int64)


def _number_or_other(value: Any, size: int, other: int) -> int:
    plain = _plain(value)
    is_whole = isinstance(plain, int) and not isinstance(plain, bool)
    is_whole = is_whole or (isinstance(plain, float) and plain.is_integer())
    return int(plain) if is_whole and 0 <= plain < size else other


def _is_not_flat(values: object) -> bool:
    return isinstance(values, np.ndarray) and values.ndim != 1
