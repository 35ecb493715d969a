"""The code of texts: a Huffman code over bytes and an end mark, as a table and as a tree of states.

It follows from the weights below, which are rough frequencies of letters in English text with room for every byte.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

States = NDArray[np.int16]
"""States of a code, each behind some bits."""

END = 256
"""The symbol of the end mark; the others are the bytes 0 to 255."""
IMPOSSIBLE = -1
"""The state behind bits that no value has."""

_LETTERS = "etaoinsrhldcumfpgwybvkxjqz"  # from the most frequent letter of English to the rarest
_LETTER_WEIGHTS = (
    1270, 906, 817, 751, 697, 675, 633, 599, 609, 403, 425, 278, 276, 241, 223, 193, 202, 236, 197, 149, 98, 77, 15, 15,
    10, 7,
)  # fmt: skip


@dataclass(frozen=True)
class Tree:
    """The code as a tree: `step[state, bit]` is the next state; leaves lead back to the root, that of END to `end`."""

    step: NDArray[np.int64]
    symbols: dict[tuple[int, int], int]

    @cached_property
    def end(self) -> int:
        return len(self.step) - 1


@cache
def code_lengths() -> tuple[int, ...]:
    """The number of bits of each byte and of the end mark, by Huffman's algorithm; ties go to the smaller symbols."""
    heap: list[tuple[int, int, tuple[int, ...]]] = [
        (weight, symbol, (symbol,)) for symbol, weight in enumerate(_weights())
    ]
    lengths = [0] * len(heap)
    heapq.heapify(heap)
    while len(heap) > 1:
        one, two = heapq.heappop(heap), heapq.heappop(heap)
        for symbol in (*one[2], *two[2]):
            lengths[symbol] += 1
        heapq.heappush(heap, (one[0] + two[0], min(one[1], two[1]), (*one[2], *two[2])))
    return tuple(lengths)


@cache
def code_words() -> tuple[tuple[int, int], ...]:
    """The code word of each symbol and its length: the canonical code with these lengths."""
    lengths = code_lengths()
    words = [(0, 0)] * len(lengths)
    word = size = 0
    for symbol in sorted(range(len(lengths)), key=lambda symbol: (lengths[symbol], symbol)):
        word <<= lengths[symbol] - size
        size = lengths[symbol]
        words[symbol] = word, size
        word += 1
    return tuple(words)


def _weights() -> list[int]:
    """Rough frequencies of bytes in texts, and of the end of a text."""
    weights = [1] * 257
    weights[0x80:0xC0] = [12] * 64  # second and later bytes of other letters
    weights[0xC2:0xF0] = [10] * 46
    weights[0x21:0x7F] = [8] * 94
    for signs, weight in (("0123456789", 40), ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 20), (" -./_:'", 80)):
        for sign in signs:
            weights[ord(sign)] = weight
    for letter, weight in zip(_LETTERS, _LETTER_WEIGHTS, strict=True):
        weights[ord(letter)] = weight
    weights[0xC3] = 40  # begins the accented letters of Western Europe
    weights[END] = 1_800
    return weights


@cache
def tree() -> Tree:
    states: dict[tuple[int, int], int] = {(0, 0): 0}
    steps: dict[tuple[int, int], int] = {}
    symbols: dict[tuple[int, int], int] = {}
    words = code_words()
    for symbol, (word, size) in enumerate(words):
        for done in range(size - 1):
            parent, child = (done, word >> (size - done)), (done + 1, word >> (size - done - 1))
            steps[states[parent], child[1] & 1] = states.setdefault(child, len(states))
        last = states[size - 1, word >> 1]
        symbols[last, word & 1] = symbol
        steps[last, word & 1] = 0
    end = len(states)
    final = next(edge for edge, symbol in symbols.items() if symbol == END)
    steps |= {final: end, (end, 0): end, (end, 1): IMPOSSIBLE}
    table = np.array([[steps[state, bit] for bit in (0, 1)] for state in range(end + 1)])
    return Tree(table, symbols)


@lru_cache(maxsize=1024)
def extended(state: int, bits: int) -> States:
    """The states behind all next bits, by doubling: each of the states so far goes on with 0 or 1."""
    step = np.vstack([tree().step, [IMPOSSIBLE, IMPOSSIBLE]]).astype(np.int16)  # the last row is that of the state -1
    states = np.array([state], np.int16)
    for _ in range(bits):
        states = step[states].ravel()
    states.setflags(write=False)
    return states


def octets_of(row: bytes, length: int) -> tuple[bytes, bool]:
    """The bytes that the first `length` bits spell, and whether the end mark follows them."""
    known, state, octets = tree(), 0, bytearray()
    number = int.from_bytes(row, "big")
    for place in range(8 * len(row) - 1, 8 * len(row) - 1 - length, -1):
        edge = (state, number >> place & 1)
        symbol = known.symbols.get(edge)
        if symbol == END:
            return bytes(octets), True
        if symbol is not None:
            octets.append(symbol)
        state = int(known.step[edge])
    return bytes(octets), False
