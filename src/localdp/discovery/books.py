"""Books: tables of symbols with code words, which write text in bits.

A *symbol* is some bytes with a code word: a character, a piece of several characters, or the beginning of a character.
The empty symbol is the end mark. In a book that *completes* characters, a symbol may end inside a character; then
each byte that is missing follows with its lowest 6 bits, since the highest two of such a byte are always 10. So one
symbol for the first byte opens a whole script. A text is written with the longest symbol that fits, then the longest
that fits behind it, and so on, and the end mark. A text with something that has no symbol cannot be written.

The code words of a book are canonical: symbols in the order of their lengths and, among equal lengths, in the order of
the book, get the next free word.

*Books* are several of them, each with a word that comes first. A text is written in the book that takes the fewest
bits, the first of them if several do. Nobody has to say which book fits: the first round of a discovery shows which
books' words are frequent, as it shows every other beginning. That costs the bits of the word, and no users.

Read from the left, bits lead from *state* to state: inside a word, between two symbols, inside the missing bytes, or
behind the end mark, where there are only zeros.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import count, pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidInputError
from localdp.frozen import read_only

States = NDArray[np.int16]
"""States of a code, each behind some bits."""

IMPOSSIBLE = -1
"""The state behind bits that no value has."""
END = b""
"""The symbol of the end mark."""
_MOST_BOOKS, _MOST_SYMBOLS, _LONGEST_WORD = 64, 8_192, 32
_LONGEST_SYMBOL = 255  # bytes: all lengths are tried at every symbol, and the time would tell how long a text is
_MOST_LENGTHS = 1_020  # the longest symbol times the number of books, for the same reason
_MOST_STATES = 32_000  # they are numbers of 16 bits


def huffman_lengths(weights: Sequence[int]) -> tuple[int, ...]:
    """The bits of the code word of each symbol, by Huffman's algorithm; ties go to the smaller symbols.

    >>> huffman_lengths([4, 2, 1, 1])
    (1, 2, 3, 3)
    """
    heap: list[tuple[int, int, tuple[int, ...]]] = [(weight, place, (place,)) for place, weight in enumerate(weights)]
    lengths = [0] * len(heap)
    heapq.heapify(heap)
    while len(heap) > 1:
        one, two = heapq.heappop(heap), heapq.heappop(heap)
        for place in (*one[2], *two[2]):
            lengths[place] += 1
        heapq.heappush(heap, (one[0] + two[0], min(one[1], two[1]), (*one[2], *two[2])))
    return tuple(lengths)


@dataclass(frozen=True)
class Book:
    """One table: its symbols and the lengths of their code words; whether it `completes` characters; and its own word,
    as a text of 0 and 1.

    >>> book = Book((b"a", b"b", b""), (1, 2, 2))
    >>> book.written(b"ab"), book.written(b"abc")
    ((11, 5), None)
    """

    symbols: tuple[bytes, ...]
    lengths: tuple[int, ...]
    completes: bool = True
    word: str = ""

    @classmethod
    def weighed(cls, weights: dict[bytes, int], word: str = "") -> Self:
        """The book of a Huffman code for symbols with these weights."""
        symbols = tuple(sorted(weights))
        return cls(symbols, huffman_lengths([weights[symbol] for symbol in symbols]), word=word)

    @cached_property
    def words(self) -> dict[bytes, tuple[int, int]]:
        """The code word of each symbol, and its length."""
        # A canonical code: each word is the one before it plus 1, filled with zeros. So the lengths tell all words.
        found, word, size = {}, 0, 0
        for place in sorted(range(len(self.symbols)), key=lambda place: (self.lengths[place], place)):
            word <<= self.lengths[place] - size
            size = self.lengths[place]
            found[self.symbols[place]] = word, size
            word += 1
        return found

    @cached_property
    def _bits(self) -> dict[bytes, str]:
        """The code word of each symbol as text."""
        return {symbol: f"{word:0{size}b}" for symbol, (word, size) in self.words.items()}

    @cached_property
    def _sizes(self) -> dict[int, list[int]]:
        """By their first byte, the sizes that symbols have, the longest first."""
        found: dict[int, set[int]] = {}
        for symbol in self.symbols:
            if symbol:
                found.setdefault(symbol[0], set()).add(len(symbol))
        return {first: sorted(sizes, reverse=True) for first, sizes in found.items()}

    def next_symbol(self, text: bytes, start: int) -> bytes:
        """The symbol with which a text goes on; the empty one if there is none."""
        if start < len(text):
            for size in self._sizes.get(text[start], ()):
                if text[start : start + size] in self.words:
                    return text[start : start + size]
        return END

    def missing(self, symbol: bytes) -> int:
        """The bytes of a character that follow a symbol in bits."""
        return _missing(symbol) if self.completes else 0

    def written(self, text: bytes) -> tuple[int, int] | None:
        """The bits of a text as a number, and how many there are; None if it cannot be written."""
        bits, start = [self.word], 0  # as text: a number that grows by every symbol would take quadratic time
        while True:
            symbol = self.next_symbol(text, start)
            if not symbol and start < len(text):
                return None
            bits.append(self._bits[symbol])
            if not symbol:
                whole = "".join(bits)
                return int(whole, 2), len(whole)
            start += len(symbol)
            for _ in range(self.missing(symbol)):  # in UTF-8, six bits of such a byte say something
                bits.append(f"{text[start] & 63:06b}")
                start += 1

    def is_written_so(self, symbols: Sequence[bytes], text: bytes) -> bool:
        """Whether some text is written with these symbols at its beginning: no longer one fits into what is known."""
        start = 0
        for symbol in symbols:
            if symbol and self.next_symbol(text, start) != symbol:
                return False
            start += len(symbol) + self.missing(symbol)
        return True

    def document(self) -> dict[str, Any]:
        """The book as a JSON value: its word, and the symbols in hexadecimal by the lengths of their code words."""
        by_length: dict[str, list[str]] = {}
        for symbol, length in zip(self.symbols, self.lengths, strict=True):
            by_length.setdefault(str(length), []).append(symbol.hex())
        return {"word": self.word, "symbols": by_length}

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """The book in such a JSON value; `InvalidInputError` if it is none."""
        try:
            word, by_length = document["word"], document["symbols"]
            listed = [(bytes.fromhex(symbol), int(size)) for size in by_length for symbol in by_length[size]]
        except (TypeError, KeyError, ValueError, AttributeError):
            raise _no_book() from None
        symbols, lengths = zip(*sorted(listed), strict=True) if listed else ((), ())
        distinct = len(set(symbols)) == len(symbols) <= _MOST_SYMBOLS
        fits = distinct and END in symbols and min(lengths) >= 1 and max(lengths) <= _LONGEST_WORD
        fits = fits and max(map(len, symbols)) <= _LONGEST_SYMBOL
        if not fits or not isinstance(word, str) or set(word) - set("01") or len(word) > _LONGEST_WORD:
            raise _no_book()
        if sum(1 << (_LONGEST_WORD - length) for length in lengths) > 1 << _LONGEST_WORD:
            raise _no_book()
        return cls(symbols, lengths, word=word)


@dataclass(frozen=True)
class Read:
    """What some bits spell: the book, its whole symbols, their bytes, and whether the end mark is among them."""

    book: Book | None = None
    symbols: tuple[bytes, ...] = ()
    text: bytes = b""
    ended: bool = False


class Books:
    """Several books. `written` writes a text, `read` reads bits, and states tell which bits can follow.

    >>> books = Books((Book((b"a", b"b", b""), (1, 2, 2), word="0"), Book((b"0", b"1", b""), (2, 2, 1), word="1")))
    >>> books.written(b"10")
    (60, 6)
    >>> books.read((60 << 2).to_bytes(1, "big"), 6).text
    b'10'
    """

    def __init__(self, books: Iterable[Book]) -> None:
        self.books = tuple(books)
        words = sorted(book.word for book in self.books)
        alone = all(not later.startswith(word) for word, later in pairwise(words))
        if not 0 < len(words) <= _MOST_BOOKS or not alone:
            raise _no_book()
        if len(words) * max(len(symbol) for book in self.books for symbol in book.symbols) > _MOST_LENGTHS:
            raise _no_book()
        if len(self._tree[0]) > _MOST_STATES:
            raise InvalidInputError("these books have too many symbols: there is room for about 30,000 in all")

    def most_bits(self, size: int) -> int:
        """The most bits that a text of so many bytes takes, or a few more."""
        return max(len(book.word) + size * max(book.lengths) + book.words[END][1] for book in self.books)

    def written(self, text: bytes) -> tuple[int, int] | None:
        """The bits of a text as a number, and how many there are; None if no book can write it."""
        found = [written for book in self.books if (written := book.written(text)) is not None]
        return min(found, key=lambda written: written[1]) if found else None

    def read(self, row: bytes, length: int) -> Read:
        """What the first `length` bits of a row spell, as far as symbols are whole."""
        steps, outputs, end = self._tree
        number, state = int.from_bytes(row, "big"), 0
        book = None if self.books[0].word else self.books[0]
        symbols: list[bytes] = []
        text, missing, bits = b"", 0, 0
        for place in range(8 * len(row) - 1, 8 * len(row) - 1 - length, -1):
            bit = number >> place & 1
            output = outputs.get((state, bit))
            state = int(steps[state, bit])
            if state in (end, IMPOSSIBLE):
                break
            if missing:
                bits = bits << 1 | bit
                missing -= 1
                if not missing % 6:
                    text, bits = text + bytes([0x80 | bits]), 0
            elif isinstance(output, Book):
                book = output
            elif output is not None and book is not None:
                symbols.append(output)
                text, missing = text + output, 6 * book.missing(output)
        return Read(book, tuple(symbols), text, state == end)

    def extended(self, state: int, bits: int) -> States:
        """The states behind all next bits."""
        return _extended(self, state, bits)

    @property
    def end(self) -> int:
        """The state behind the end mark."""
        return self._tree[2]

    def state_of(self, row: bytes, length: int) -> int:
        """The state behind the first `length` bits of a row."""
        step, state, number = self._tree[0], 0, int.from_bytes(row, "big")
        for place in range(8 * len(row) - 1, 8 * len(row) - 1 - length, -1):
            state = int(step[state, number >> place & 1])
            if state == IMPOSSIBLE:
                break
        return state

    @cached_property
    def steps(self) -> States:
        """The next state for each state and bit; the last row is that of the state -1."""
        return np.vstack([self._tree[0], [IMPOSSIBLE, IMPOSSIBLE]]).astype(np.int16)

    @cached_property
    def _tree(self) -> tuple[NDArray[np.int64], dict[tuple[int, int], Any], int]:
        """The next state for each state and bit, what is whole behind some of these steps, and the state of the end."""
        numbers = count(1)
        steps: dict[tuple[int, int], int] = {}
        outputs: dict[tuple[int, int], Any] = {}
        ends: list[tuple[int, int]] = []
        for book in self.books:
            root = _follow(steps, numbers, 0, book.word) if book.word else 0
            if book.word:
                outputs[_edge(steps, book.word)] = book
            behind = {0: root}  # so many missing bytes: the state that they begin with
            for symbol in book.symbols:
                word, size = book.words[symbol]
                path = f"{word:0{size}b}"
                state = _follow(steps, numbers, root, path[:-1])
                edge = state, int(path[-1])
                outputs[edge] = symbol
                if symbol == END:
                    ends.append(edge)
                else:
                    steps[edge] = _completion(steps, numbers, behind, book.missing(symbol))
        end = next(numbers)
        steps |= dict.fromkeys(ends, end) | {(end, 0): end}
        table = np.full((end + 1, 2), IMPOSSIBLE)
        for (state, bit), following in steps.items():
            table[state, bit] = following
        return table, outputs, end

    def document(self) -> list[dict[str, Any]]:
        """The books as a JSON value."""
        return [book.document() for book in self.books]

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """The books in such a JSON value; `InvalidInputError` if there are none."""
        if not isinstance(document, list):
            raise _no_book()
        return cls(map(Book.from_document, document))


@lru_cache(maxsize=1024)
def _extended(books: Books, state: int, bits: int) -> States:
    """By doubling: each of the states so far goes on with 0 or 1."""
    states = np.array([state], np.int16)
    for _ in range(bits):
        states = books.steps[states].ravel()
    return read_only(states)


def _follow(steps: dict[tuple[int, int], int], numbers: Any, state: int, path: str) -> int:
    """The state behind these bits, which is made if there is none."""
    for bit in path:
        edge = state, int(bit)
        if edge not in steps:
            steps[edge] = next(numbers)
        state = steps[edge]
    return state


def _edge(steps: dict[tuple[int, int], int], path: str) -> tuple[int, int]:
    """The last step of a path from the beginning."""
    state = 0
    for bit in path[:-1]:
        state = steps[state, int(bit)]
    return state, int(path[-1])


def _completion(steps: dict[tuple[int, int], int], numbers: Any, behind: dict[int, int], missing: int) -> int:
    """The state in which so many bytes of a character are missing: any 6 bits for each lead back to the book."""
    if missing not in behind:
        state = _completion(steps, numbers, behind, missing - 1)
        for _ in range(6):
            before = next(numbers)
            steps[before, 0] = steps[before, 1] = state
            state = before
        behind[missing] = state
    return behind[missing]


def _missing(symbol: bytes) -> int:
    """How many bytes are missing of the character that a symbol ends with."""
    for back, byte in enumerate(reversed(symbol[-4:])):
        if byte >= 0xC0:
            return max(0, (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0) - back)
        if byte < 0x80:
            return 0
    return 0


def _no_book() -> InvalidInputError:
    return InvalidInputError("this is not a code of texts: books of symbols in hexadecimal by the length of their word")
