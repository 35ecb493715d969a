"""How values become bits, so that a prefix of a value is a number of its first bits.

A key is a whole number below 2^48 or 2^64 (any number of bits from 1 to 64), and its bits are its binary digits, the
highest first. All keys have the same length.

A text is written in symbols (letters, pieces that are common, an end mark, see `books` and `library`), and each symbol
in a Huffman code. A word of 7 letters takes about 32 bits instead of 56, and an address about half of what
its bytes would take, so that fewer rounds find it. The code is public, and it is in the document of the discovery.
Behind the end mark there are only zeros. Two texts never share all their bits, because no code word begins another one.
Some bits spell a text in another way than it is written, in another book or with two short pieces in the place of a
long one; no value begins with them.

Both know which values they cannot write: a number that is no key, a text of more than `most_bytes` bytes or with
characters that have no symbol, and text that is not Unicode. Such a value is *outside*, and a device that holds one
reports the catch-all of every plan.

Some values may be *known* beforehand, such as the words of a dictionary. Each of them has a cell of its own in every
round, so it need not be found bit by bit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.discovery import library, symbols
from localdp.discovery.books import Books, States
from localdp.discovery.design import MOST_KNOWN, MOST_ROUNDS
from localdp.errors import InvalidInputError
from localdp.types import Flags, Indices, Rows
from localdp.validation import check_no_table, checked_amount, shown

LONGEST_TEXT = 1 << 16
FIRST_BITS, LATER_BITS = 21, 15
"""The bits that the first round and each later one can take on, with room for a hundred candidates."""
WORD_BITS = 64
"""The bits that rounds are planned for if nobody says how long texts are: about 12 letters of English."""
QUERY_BITS, FEW_USERS = 78, 100_000
"""With fewer users than this the rounds are planned for so many bits, about 15 letters: only the heaviest values can be
found then, and none of them should be lost because it has two words."""
USUAL_BYTES = 128
"""The bytes of the longest text that can be found, if nobody says how long texts are."""
_BITS_OF_A_BYTE = 3.5  # of addresses and longer English text; see docs/discovery.md for other texts
_STORED_BITS = (192, 1024)  # the least and the most that is kept of a text: more than the rounds can reach


@dataclass(frozen=True)
class Encoded:
    """Values as bits. Different values, one row of bytes each: the number of bits, whether the value is outside, and
    its place among the known values, or -1. `places` has the row of each user.
    """

    rows: Rows
    lengths: Indices
    outside: Flags
    known: Indices
    places: Indices

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, part: Any) -> Encoded:
        """The values of some of the users."""
        places = self.places[part]
        if len(places) >= len(self.rows):
            return replace(self, places=places)
        here = self.lengths[places], self.outside[places], self.known[places]
        return Encoded(self.rows[places], *here, np.arange(len(places)))


class Code(ABC):
    """The way in which one kind of value becomes bits."""

    alike: bool
    """Whether many values share their first bits, as texts do. It is used for planning only."""
    known: tuple[Any, ...] = ()
    """Values that are known beforehand."""

    @property
    @abstractmethod
    def planned_bits(self) -> int:
        """The number of bits that the rounds are planned for."""

    def usual_bits(self, users: int) -> int:  # noqa: ARG002 (only texts can be longer than planned)
        """The number of bits to plan for if so many users take part and nobody says how long values are."""
        return self.planned_bits

    def bits_in(self, rounds: int) -> int:  # noqa: ARG002 (only texts can be longer than planned)
        """The number of bits to plan for if somebody asks for this number of rounds."""
        return self.planned_bits

    @property
    @abstractmethod
    def row_bytes(self) -> int:
        """The bytes of an encoded value."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """The code as a JSON value."""

    @abstractmethod
    def encode(self, values: Any) -> Encoded:
        """The bits of each value. `InvalidInputError` for values of another kind."""

    @abstractmethod
    def decode(self, row: bytes, length: int) -> str | int | None:
        """The value with these bits; None if there is none."""

    @abstractmethod
    def extended(self, state: int, bits: int) -> States:
        """The state behind each of the 2^bits possible next bits, or `IMPOSSIBLE`."""

    @abstractmethod
    def is_final(self, states: States, position: int) -> Flags:
        """Whether a value ends in each of these states, where `position` bits are read."""

    @abstractmethod
    def state_of(self, row: bytes, length: int) -> int:
        """The state behind the first `length` bits of a row."""

    @abstractmethod
    def is_plausible(self, row: bytes, length: int) -> bool:
        """Whether some value begins with these bits."""

    def typed(self, text: str) -> str | int | None:
        """The value that somebody typed."""
        return text

    def shown_prefix(self, row: bytes, length: int) -> str:
        """What is known of a value that begins with these bits, for people."""
        return f"{int.from_bytes(row, 'big') >> (8 * len(row) - length):0{length}b}..."


class Keys(Code):
    """Whole numbers from 0 to 2^bits - 1.

    >>> code = Keys(48)
    >>> encoded = code.encode([5, 2**48])
    >>> code.decode(encoded.rows[0].tobytes(), 48), encoded.outside.tolist()
    (5, [False, True])
    """

    alike = False

    def __init__(self, bits: int, known: Any = ()) -> None:
        self.bits = checked_amount(bits, 64, "the number of bits of a key")
        numbers, outside = _whole_numbers(known, self.bits)
        self.known = _known(numbers.tolist(), outside)

    @property
    def planned_bits(self) -> int:
        return self.bits

    @property
    def row_bytes(self) -> int:
        return -(-self.bits // 8)

    def document(self) -> dict[str, Any]:
        # Known keys as text: programs that read numbers of JSON as floats would change large ones.
        return {"kind": "keys", "bits": self.bits} | ({"known": list(map(str, self.known))} if self.known else {})

    def encode(self, values: Any) -> Encoded:
        numbers, outside = _whole_numbers(values, self.bits)
        left = numbers << np.uint64(64 - self.bits)
        rows = left.astype(">u8")[:, None].view(np.uint8)[:, : self.row_bytes]
        known = np.full(numbers.size, -1)
        if self.known:
            listed = np.array(self.known, np.uint64)
            order = np.argsort(listed)
            place = order[np.minimum(np.searchsorted(listed, numbers, sorter=order), listed.size - 1)]
            known = np.where((listed[place] == numbers) & ~outside, place, -1)
        lengths = np.full(numbers.size, self.bits)
        return Encoded(np.ascontiguousarray(rows), lengths, outside, known, np.arange(numbers.size))

    def decode(self, row: bytes, length: int) -> int:
        return int.from_bytes(row[: self.row_bytes], "big") >> (8 * self.row_bytes - length)

    def extended(self, state: int, bits: int) -> States:  # noqa: ARG002 (a key may go on with any bits)
        return np.zeros(1 << bits, np.int16)

    def is_final(self, states: States, position: int) -> Flags:
        return np.full(states.size, position == self.bits)

    def state_of(self, row: bytes, length: int) -> int:  # noqa: ARG002 (there is one state only)
        return 0

    def is_plausible(self, row: bytes, length: int) -> bool:  # noqa: ARG002 (every number is a key)
        return True

    def typed(self, text: str) -> int:
        try:
            return int(text)
        except ValueError:
            raise InvalidInputError(f"every key must be a whole number, and {shown(text)} is not") from None


class Text(Code):
    """Text of at most `most_bytes` bytes in UTF-8, written in `books`: those of the first code unless given.

    >>> code = Text(8, library.usual())
    >>> encoded = code.encode(["tea", "", "far too long"])
    >>> encoded.lengths.tolist(), encoded.outside.tolist()
    ([18, 5, 0], [False, False, True])
    >>> code.decode(encoded.rows[0].tobytes(), 18)
    'tea'
    """

    alike = True

    def __init__(self, most_bytes: int, books: Books | None = None, known: Any = ()) -> None:
        self.most_bytes = checked_amount(most_bytes, LONGEST_TEXT, "most_bytes, the bytes of the longest text,")
        self.books = symbols.first_books() if books is None else books
        self._named = books is None
        octets = [_utf8(value) for value in _listed(known)]
        texts = [None if text is None else text.decode("utf-8") for text in octets]
        self.known = _known(texts, np.array([text is None or len(text) > most_bytes for text in octets], np.bool_))
        self._places = {text: place for place, text in enumerate(octets)}

    @property
    def planned_bits(self) -> int:
        wanted = max(WORD_BITS, math.ceil(_BITS_OF_A_BYTE * self.most_bytes))
        return min(self._longest, wanted, FIRST_BITS + LATER_BITS * (MOST_ROUNDS - 2))

    def usual_bits(self, users: int) -> int:
        return WORD_BITS if users >= FEW_USERS else QUERY_BITS

    def bits_in(self, rounds: int) -> int:
        most = min(self._longest, 8 * self.row_bytes)
        return max(min(self.planned_bits, WORD_BITS), min(most, FIRST_BITS + LATER_BITS * (rounds - 2)))

    @property
    def _longest(self) -> int:
        """The most bits that a text can take."""
        return self.books.most_bits(self.most_bytes)

    @property
    def row_bytes(self) -> int:
        least, most = _STORED_BITS
        return max(least, min(8 * self.most_bytes, most)) // 8

    def document(self) -> dict[str, Any]:
        code = {"code": symbols.name()} if self._named else {"books": self.books.document()}
        known = {"known": list(self.known)} if self.known else {}
        return {"kind": "text", "most_bytes": self.most_bytes} | code | known

    def encode(self, values: Any) -> Encoded:
        listed = _listed(values)
        distinct: dict[Any, int] = {}
        places = np.fromiter((distinct.setdefault(value, len(distinct)) for value in listed), np.int64, len(listed))
        texts = list(map(_utf8, distinct))
        written = list(map(self._written, texts))
        rows = np.frombuffer(b"".join(row for row, _ in written), np.uint8).reshape(-1, self.row_bytes)
        lengths = np.array([length for _, length in written], np.int64)
        known = np.array([-1 if text is None else self._places.get(text, -1) for text in texts], np.int64)
        return Encoded(rows, lengths, lengths == 0, known, places)

    def _written(self, octets: bytes | None) -> tuple[bytes, int]:
        """The bits of a text, as bytes, and their number; no bits for a value that is outside."""
        written = None if octets is None or len(octets) > self.most_bytes else self.books.written(octets)
        if written is None:
            return bytes(self.row_bytes), 0
        number, length = written
        spare = 8 * self.row_bytes - length
        stored = number << spare if spare >= 0 else number >> -spare
        return stored.to_bytes(self.row_bytes, "big"), length

    def decode(self, row: bytes, length: int) -> str | None:
        read = self.books.read(row, length)
        try:
            text = read.text.decode("utf-8")
        except UnicodeDecodeError:
            return None
        return text if read.ended and self._written(read.text)[0] == row[: self.row_bytes] else None

    def extended(self, state: int, bits: int) -> States:
        return self.books.extended(state, bits)

    def is_final(self, states: States, position: int) -> Flags:  # noqa: ARG002 (the state tells)
        return np.asarray(states == self.books.end)

    def state_of(self, row: bytes, length: int) -> int:
        return self.books.state_of(row, length)

    def is_plausible(self, row: bytes, length: int) -> bool:
        read = self.books.read(row, length)
        try:
            read.text.decode("utf-8")
        except UnicodeDecodeError as error:
            if error.reason != "unexpected end of data":
                return False
        if len(read.text) > self.most_bytes or read.book is None:
            return len(read.text) <= self.most_bytes
        return read.book.is_written_so(read.symbols, read.text)

    def shown_prefix(self, row: bytes, length: int) -> str:
        return self.books.read(row, length).text.decode("utf-8", "ignore") + "..."


def text_code(
    most_bytes: int | None = None, alphabet: str | None = None, examples: Any = None, known: Any = ()
) -> Text:
    """The code of texts: for every kind of text, or fitted to an alphabet or to public examples."""
    if alphabet is not None and examples is not None:
        raise InvalidInputError("a code is made of an alphabet or of examples: give one of the two")
    books = (
        library.of_alphabet(alphabet) if alphabet is not None
        else library.of_examples(examples) if examples is not None
        else library.usual()
    )  # fmt: skip
    return Text(USUAL_BYTES if most_bytes is None else most_bytes, books, known)


def code_named(document: Any) -> Code:
    """The code that a JSON value describes."""
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind == "keys" and "bits" in document:
        numbers = [int(number) for number in document.get("known", ())]
        code: Code = Keys(document["bits"], numbers)
    elif kind == "text" and "most_bytes" in document:
        books = Books.from_document(document["books"]) if "books" in document else None
        code = Text(document["most_bytes"], books, document.get("known", ()))
    else:
        raise _no_code()
    if document != code.document():
        raise _no_code()
    return code


def _no_code() -> InvalidInputError:
    return InvalidInputError("values are keys with their number of bits, or text with most_bytes and a code")


def _known(values: list[Any], outside: Flags) -> tuple[Any, ...]:
    """Values that are known beforehand; those that cannot be are an `InvalidInputError`."""
    if len(values) > MOST_KNOWN:
        raise InvalidInputError(f"{len(values):,} known values were given, and {MOST_KNOWN:,} is the most")
    if outside.any():
        wrong = values[int(np.argmax(outside))]
        raise InvalidInputError(f"{shown(wrong)} is among the known values, and no value of this discovery")
    if len(set(values)) < len(values):
        raise InvalidInputError("every known value must be given once")
    return tuple(values)


def _utf8(value: Any) -> bytes | None:
    """The bytes of a text; None for what is missing or not Unicode."""
    if value is None:
        return None
    try:
        if isinstance(value, bytes):
            value.decode("utf-8")
            return value
        return str(value).encode("utf-8")
    except UnicodeError:
        return None


def _listed(values: Any) -> list[Any]:
    """Texts as a list; `InvalidInputError` if something else is among them."""
    check_no_table(values, InvalidInputError)
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInputError(f"values must be a flat list with one text for each user, not {shown(values, 60)}")
    if hasattr(values, "to_pylist"):  # an Arrow array
        values = values.to_pylist()
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    listed = [
        None if type(value) is float and value != value else value for value in listed
    ]  # what pandas has for None
    strange = next((value for value in listed if not isinstance(value, str | bytes | None)), None)
    if strange is not None:
        raise InvalidInputError(
            f"every value must be a text, and {shown(strange)} is not; whole numbers are keys, as in kind='keys'"
        )
    return listed


def _whole_numbers(values: Any, bits: int) -> tuple[NDArray[np.uint64], Flags]:
    """Keys as unsigned numbers, and which values are none: negative, too large or missing."""
    check_no_table(values, InvalidInputError)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.ndim == 1:
        outside = (values < 0) | (values > (1 << bits) - 1) if bits < 64 else values < 0
        return np.where(outside, 0, values).astype(np.uint64), np.asarray(outside)
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInputError(f"values must be a flat list with one key for each user, not {shown(values, 60)}")
    listed = [value.item() if isinstance(value, np.generic) else value for value in values]
    strange = next((value for value in listed if value is not None and type(value) is not int), None)
    if strange is not None:
        raise InvalidInputError(
            f"every key must be a whole number, and {shown(strange)} is not; for words, leave out bits"
        )
    outside = np.array([value is None or not 0 <= value < 1 << bits for value in listed], np.bool_)
    inside = [0 if out else value for value, out in zip(listed, outside.tolist(), strict=True)]
    return np.array(inside, np.uint64), outside
