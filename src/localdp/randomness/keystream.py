"""Where fair bits come from: one keystream, keyed by the operating system or, by name, by a seed.

The stream is AES-128 in counter mode from the `cryptography` package. `secure()` keys a new one from
`os.urandom` for every use, and work that is done in parts gives each part a `branch` of it, so no two calls,
threads or processes share keystream; should one object be used after a fork all the same, the child keys it anew.
`seeded(seed)` exists for simulation and tests: whoever knows the seed can undo the noise, so nothing chooses it
unless a caller passes a seed.

Mechanisms draw through three methods: `bits` (fair bits), `integers` (uniform words of `width` bits, to
compare with thresholds) and `below` (uniform on 0..bound-1 with no bias). Each is told *who* draws: a number
of users, or the indices of those who draw again. A keystream only counts them; an enumerating source (see
`localdp.checks`) gives every user a tape of their own.

>>> seeded(7).below(6, 4).tolist() == seeded(7).below(6, 4).tolist()
True
"""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol, Self, SupportsIndex

import numpy as np

from localdp.errors import InvalidInputError
from localdp.types import Places, Words
from localdp.validation import checked_seed

Who = int | Places

_BLOCK_BYTES = 1 << 21  # few calls: after each, a thread waits for the interpreter
_ZEROS = bytes(_BLOCK_BYTES)
_LEAST_WORDS = 512  # calling the cipher takes as long as encrypting this many
_SLACK_WORDS = 2  # update_into wants room for one block more than it writes


class Entropy(ABC):
    """A source of independent fair bits."""

    width: int = 64

    @abstractmethod
    def bits(self, who: Who, count: int) -> Words:
        """One word for each user whose lowest `count` bits are fair; the others must not be used."""

    @abstractmethod
    def integers(self, who: Who) -> Words:
        """One uniform number in 0..2^width-1 for each user."""

    def below(self, bound: int, who: Who) -> Words:
        """One uniform number in 0..bound-1 for each user, exactly: words past the last whole share are redrawn.

        The redrawing depends on the words alone, so the bytes consumed say nothing about anybody's value.
        """
        users = np.arange(who) if isinstance(who, int) else who
        if bound == 1:
            return np.zeros(users.size, np.uint64)
        if bound > 2**self.width:
            raise InvalidInputError(f"a word of {self.width} bits cannot choose among {bound}")
        share = np.uint64(2**self.width // bound)
        drawn = self.integers(who) // share
        again = np.flatnonzero(drawn >= bound)
        while again.size:
            drawn[again] = self.integers(users[again]) // share
            again = again[drawn[again] >= bound]
        return drawn


class _Scratch(threading.local):
    """Room that a thread uses again and again: fresh memory would cost more than the cipher."""

    words = np.empty(0, np.uint64)


_scratch = _Scratch()


class _Encryptor(Protocol):
    def update_into(self, data: memoryview, buffer: memoryview) -> int: ...


_STREAMS: weakref.WeakSet[Keystream] = weakref.WeakSet()


def _unlock_after_fork() -> None:
    """A lock that another thread held at the fork would never be released in the child."""
    for stream in list(_STREAMS):
        stream._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_after_fork)


class Keystream(Entropy):
    """AES-128-CTR output. With no key it takes one from the operating system, again after a fork."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key
        self._number, self._numbers = 0, itertools.count(1)
        self._own()
        self._rekey()

    def _own(self) -> None:
        """What two streams must not share."""
        self.drawn = 0
        self._lock = threading.Lock()
        self._encryptor: _Encryptor | None = None
        self._ahead = np.zeros(0, np.uint64)
        _STREAMS.add(self)

    def _rekey(self) -> None:
        self._secret = os.urandom(16) if self._key is None else self._key
        self._encryptor, self._ahead = None, self._ahead[:0]
        self._process = os.getpid()

    def branch(self) -> Self:
        """Another stream under the same key that this one and its other branches never meet: 2^64 blocks further on."""
        with self._lock:
            self._check_process()
            branch = object.__new__(type(self))
            branch.__dict__.update(self.__dict__)
            branch._own()
            branch._number = next(self._numbers)
        return branch

    def words(self, count: int) -> Words:
        """The next `count` words of the stream."""
        with self._lock:
            window = self._look_ahead(count, np.empty(self._room(count), np.uint64))
            self._ahead = window[count:].copy()
            self.drawn += count
            return window[:count]

    def consume(self, count: int, use: Callable[[Words], int]) -> int:
        """Show the next `count` words to `use`, which answers how many of them, from the first, are now used up.

        They must not be kept: the next call writes over them.
        """
        with self._lock:
            if _scratch.words.size < self._room(count):
                _scratch.words = np.empty(self._room(count), np.uint64)
            window = self._look_ahead(count, _scratch.words)
            used = use(window[:count])
            self._ahead = window[used:].copy()
            self.drawn += used
            return used

    def bits(self, who: Who, count: int) -> Words:  # noqa: ARG002 (a word has all the bits anyone may ask for)
        return self.words(who if isinstance(who, int) else who.size)

    def integers(self, who: Who) -> Words:
        return self.words(who if isinstance(who, int) else who.size)

    def _room(self, count: int) -> int:
        return max(count, self._ahead.size + _LEAST_WORDS) + _SLACK_WORDS

    def _look_ahead(self, count: int, room: Words) -> Words:
        """At least the next `count` words, written into the room given."""
        self._check_process()
        known = self._ahead.size
        size = known if known >= count else max(count, known + _LEAST_WORDS)
        room[:known] = self._ahead
        target, zeros = room.view(np.uint8).data, memoryview(_ZEROS)
        for start in range(8 * known, 8 * size, _BLOCK_BYTES):
            self._cipher().update_into(zeros[: min(_BLOCK_BYTES, 8 * size - start)], target[start:])
        if sys.byteorder == "big":
            room[known:size].byteswap(inplace=True)
        return room[:size]

    def _check_process(self) -> None:
        if self._key is None and self._process != os.getpid():
            self._rekey()

    def _cipher(self) -> _Encryptor:
        if self._encryptor is None:
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

            # A key serves one stream and its branches only, so the counter may start at zero.
            start = (self._number << 64).to_bytes(16, "big")
            self._encryptor = Cipher(algorithms.AES(self._secret), modes.CTR(start)).encryptor()
        return self._encryptor


def secure() -> Keystream:
    """A fresh stream keyed by the operating system: the one to protect people with."""
    return Keystream()


def seeded(seed: SupportsIndex) -> Keystream:
    """A reproducible stream, for simulation only: the seed undoes the noise."""
    digest = hashlib.sha256(b"localdp seed\0" + f"{checked_seed(seed):x}".encode()).digest()
    return Keystream(digest[:16])
