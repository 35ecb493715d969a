"""The code of texts: a Huffman code over symbols (see `symbols`), as a table and as a tree of states."""

from __future__ import annotations

import hashlib
import heapq
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from localdp.discovery.symbols import END, octets, weights
from localdp.formats import canonical_json

States = NDArray[np.int16]
"""States of a code, each behind some bits."""

IMPOSSIBLE = -1
"""The state behind bits that no value has."""


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
    """The number of bits of each symbol, by Huffman's algorithm; ties go to the smaller symbols."""
    heap: list[tuple[int, int, tuple[int, ...]]] = [
        (weight, symbol, (symbol,)) for symbol, weight in enumerate(weights())
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


def symbols_in(row: bytes, length: int) -> list[int]:
    """The symbols that the first `length` bits spell, as far as they are whole; the end mark is the last one."""
    known, state = tree(), 0
    found: list[int] = []
    number = int.from_bytes(row, "big")
    for place in range(8 * len(row) - 1, 8 * len(row) - 1 - length, -1):
        edge = (state, number >> place & 1)
        symbol = known.symbols.get(edge)
        if symbol is not None:
            found.append(symbol)
        if symbol == END:
            break
        state = int(known.step[edge])
    return found


def octets_of(row: bytes, length: int) -> tuple[bytes, bool]:
    """The bytes that the first `length` bits spell, and whether the end mark follows them."""
    found, pieces = symbols_in(row, length), octets()
    return b"".join(pieces[symbol] for symbol in found), bool(found) and found[-1] == END


@cache
def name() -> str:
    """What identifies the code: the SHA-256 of its symbols and of the lengths of their code words."""
    table = {"symbols": [piece.hex() for piece in octets()], "lengths": list(code_lengths())}
    return hashlib.sha256(canonical_json.dumps(table).encode()).hexdigest()
