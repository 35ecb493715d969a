"""One report without arrays: the same bytes as the ordinary way, in a fraction of the time.

Mechanisms work on arrays of users. For a single user, making arrays takes most of the time. The mechanisms with short
reports are written here once more, on plain Python integers, in the order of draws that `docs/wire-format.md` gives;
the golden vectors hold for both. All other mechanisms take the ordinary way.

As there, as much randomness is drawn for every value, and no branch depends on the value. Python's integers cannot be
cleared: like the short arrays of the ordinary way, they are freed, and stay in memory until something is written there.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from localdp.held import OneUser
from localdp.kernels.galois_field import irreducible
from localdp.mechanisms import (
    BinaryLocalHashing,
    HadamardResponse,
    LinearLocalHashing,
    Mechanism,
    OptimizedLocalHashing,
    RandomizedResponse,
    RandomizedResponseTwice,
)
from localdp.mechanisms.symbol_response import SymbolResponse
from localdp.randomness.keystream import Keystream

Held = tuple[int, ...]
"""The indices of the items that the user holds, in ascending order: one, unless users hold sets."""
Draw = Callable[[], int]
"""Gives the next random word of 64 bits."""
Perturb = Callable[[int, Draw], int]
"""Makes a report, as an integer, from the index of an item or from a permanent response."""

_WORDS = struct.Struct("<8Q")
_ZEROS = bytes(_WORDS.size)
_COUNTER = bytes(16)
_UNIFORM = 1 << 64
_LOW = 0xFFFFFFFF


class OneReport:
    """The permanent response of one device, and one report from it, as bytes."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism
        self._bytes = mechanism.report_bytes
        self._permanent = short_way(mechanism)
        self._again = short_way_again(mechanism)

    def permanent(self, held: Held, key: bytes) -> bytes:
        """The permanent response to a value, drawn from the keystream of this key."""
        if self._permanent is not None:
            return self._permanent(held[0], keyed_words(key).__next__).to_bytes(self._bytes, "little")
        return self._mechanism.respond(OneUser(np.array(held, np.int64)), Keystream(key)).tobytes()

    def again(self, response: bytes, stream: Keystream) -> bytes:
        """A report from a permanent response."""
        if self._again is not None:
            return self._again(int.from_bytes(response, "little"), _fresh_words(stream).__next__).to_bytes(
                self._bytes, "little"
            )
        return self._mechanism.again(np.frombuffer(response, np.uint8)[None], stream).tobytes()


def short_way(mechanism: Mechanism) -> Perturb | None:
    """How the mechanism draws a permanent response on integers, or None if it has no short way."""
    make = _SHORT_WAYS.get(type(mechanism))
    return make(mechanism) if make else None


def short_way_again(mechanism: Mechanism) -> Perturb | None:
    """How a chain makes a report from a permanent response on integers, or None if it has no short way."""
    return _response(mechanism.second) if type(mechanism) is RandomizedResponseTwice else None


def keyed_words(key: bytes) -> Iterator[int]:
    """The words of the keystream with this key, as `Keystream(key)` gives them."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    encryptor = Cipher(algorithms.AES(key), modes.CTR(_COUNTER)).encryptor()
    while True:
        yield from _WORDS.unpack(encryptor.update(_ZEROS))


def _fresh_words(stream: Keystream) -> Iterator[int]:
    """The next words of a stream, taken a few at a time. Those that are not used are dropped, and never used again."""
    while True:
        yield from stream.words(8).tolist()


def _below(bound: int) -> Callable[[Draw], int]:
    """A function that draws a uniform number from 0 to bound - 1."""
    if bound == 1:
        return lambda draw: 0  # noqa: ARG005 (there is nothing to draw)
    share = _UNIFORM // bound

    def below(draw: Draw) -> int:
        number = draw() // share
        while number >= bound:
            number = draw() // share
        return number

    return below


def _response(response: SymbolResponse) -> Perturb:
    """Randomized response over symbols."""
    truth, uniform = response.truth, _below(response.symbols)

    def perturb(symbol: int, draw: Draw) -> int:
        truthful = draw() < truth
        other = uniform(draw)
        return symbol if truthful else other

    return perturb


def _randomized_response(mechanism: Any) -> Perturb:
    return _response(mechanism.response)


def _randomized_response_twice(mechanism: Any) -> Perturb:
    return _response(mechanism.first.response)


def _local_hashing(mechanism: Any) -> Perturb:
    perturb = _response(mechanism.response)
    symbols: int = mechanism.response.symbols
    shift: int = mechanism.function_bits
    mask = (1 << shift) - 1

    def report(index: int, draw: Draw) -> int:
        seed = draw() & mask
        return seed | perturb(_mix(seed ^ _mix(index + 1 & _LOW)) * symbols >> 32, draw) << shift

    return report


def _mix(word: int) -> int:
    """The mixer of `localdp.kernels.local_hash`, on one word of 32 bits."""
    word ^= word >> 17
    word = word * 0xED5AD4BB & _LOW
    word ^= word >> 11
    word = word * 0xAC4C1B51 & _LOW
    word ^= word >> 15
    word = word * 0x31848BAB & _LOW
    return word ^ word >> 14


def _linear_hashing(mechanism: Any) -> Perturb:
    degree: int = mechanism.degree
    places = range(mechanism.symbol_bits)
    perturb, draw_multiplier = _response(mechanism.response), _below((1 << degree) - 1)
    polynomial, top = irreducible(degree), degree - 1

    def report(index: int, draw: Draw) -> int:
        multiplier = power = draw_multiplier(draw) + 1
        symbol = 0
        for place in places:
            symbol |= ((power & index).bit_count() & 1) << place
            power = power << 1 ^ (power >> top) * polynomial
        return multiplier | perturb(symbol, draw) << degree

    return report


def _hadamard(mechanism: Any) -> Perturb:
    mask: int = (1 << mechanism.order_bits) - 1
    keep: int = mechanism.keep

    def report(index: int, draw: Draw) -> int:
        row, column = index + 1, draw() & mask
        wanted = int(draw() >= keep)
        return column ^ (row & -row) * ((column & row).bit_count() & 1 ^ wanted)

    return report


_SHORT_WAYS: dict[type[Mechanism], Callable[[Any], Perturb]] = {
    RandomizedResponse: _randomized_response,
    RandomizedResponseTwice: _randomized_response_twice,
    OptimizedLocalHashing: _local_hashing,
    BinaryLocalHashing: _local_hashing,
    LinearLocalHashing: _linear_hashing,
    HadamardResponse: _hadamard,
}
