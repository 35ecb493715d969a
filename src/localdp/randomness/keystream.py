"""The source of all random bits: a keystream with a key from the operating system, or from a seed if a caller asks.

The stream is AES-128 in counter mode from the `cryptography` package. `secure()` makes a new stream with a key from
`os.urandom` for every use. Work that is done in chunks gives each chunk a `branch` of the stream. So no two calls,
threads or processes share keystream. If a stream is nevertheless used after a fork, the child takes a new key.

`seeded(seed)` is for simulation and tests: whoever knows the seed can undo the noise, so it is used only where a
caller passes a seed.

Mechanisms draw through three methods: `bits` (fair bits), `integers` (uniform words of `width` bits, to
compare with thresholds) and `below` (uniform on 0..bound-1 with no bias). Each takes *who* draws: a number
of users, or the indices of the users who draw again. A keystream needs only the number of users. The sources in
`localdp.checks`, which try every outcome, give each user a separate sequence of bits (a tape).

>>> seeded(7).below(6, 4).tolist() == seeded(7).below(6, 4).tolist()
True
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import os
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NoReturn, Protocol, Self, SupportsIndex

import numpy as np

from localdp.errors import InvalidInputError
from localdp.types import Places, Words
from localdp.validation import checked_seed

Who = int | Places
"""Who draws: a number of users, or the indices of some of them."""

_BLOCK_BYTES = 1 << 21  # bytes per cipher call; fewer calls mean less waiting for the interpreter's lock
_ZEROS = bytes(_BLOCK_BYTES)
_LEAST_WORDS = 512  # the fewest words per cipher call; the call itself takes as long as encrypting this many
_SLACK_WORDS = 2  # update_into needs room for one cipher block more than it writes


class Entropy(ABC):
    """A source of independent fair bits."""

    width: int = 64

    @abstractmethod
    def bits(self, who: Who, count: int) -> Words:
        """One word for each user. Its lowest `count` bits are fair; the other bits must not be used."""

    @abstractmethod
    def integers(self, who: Who) -> Words:
        """One uniform number in 0..2^width-1 for each user."""

    def below(self, bound: int, who: Who) -> Words:
        """One exactly uniform number in 0..bound-1 for each user.

        The numbers 0..2^width-1 are cut into `bound` equal shares; a word past the last share is drawn again. Whether a
        word is drawn again depends on the word alone, so the number of words used says nothing about anybody's value.
        """
        users = np.arange(who) if isinstance(who, int) else who
        if bound == 1:
            return np.zeros(users.size, np.uint64)
        if bound > 2**self.width:
            raise InvalidInputError(f"a random word of {self.width} bits cannot choose among {bound} outcomes")
        share = np.uint64(2**self.width // bound)
        drawn = self.integers(who) // share
        again = np.flatnonzero(drawn >= bound)
        while again.size:
            drawn[again] = self.integers(users[again]) // share
            again = again[drawn[again] >= bound]
        return drawn


class _Scratch(threading.local):
    """One array for each thread, used again in every call: getting new memory would take longer than the cipher."""

    words = np.empty(0, np.uint64)


_scratch = _Scratch()


class _Encryptor(Protocol):
    def update_into(self, data: memoryview, buffer: memoryview) -> int: ...


_STREAMS: weakref.WeakSet[Keystream] = weakref.WeakSet()
_CIPHERS = "cryptography.hazmat.primitives.ciphers"


def _renew_after_fork() -> None:
    """Give every stream of the child a new lock and, unless it was seeded, a new key.

    Nobody in the child would release a lock that another thread held at the fork. And the parent must not share
    keystream with its child, nor with a grandchild that happens to have its process number.
    """
    for stream in list(_STREAMS):
        stream._lock = threading.Lock()
        if stream._key is None:
            stream._rekey()


def _load_cipher_before_fork() -> None:
    """Finish loading the cipher: a child could wait forever for an import that another thread began before the fork."""
    if len(_STREAMS):
        importlib.import_module(_CIPHERS)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_load_cipher_before_fork, after_in_child=_renew_after_fork)


class Keystream(Entropy):
    """The output of AES-128-CTR. Without a key, it takes one from the operating system, and a new one after a fork."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key
        self._number, self._numbers = 0, itertools.count(1)
        self._start_afresh()
        self._rekey()

    def _start_afresh(self) -> None:
        """Set the attributes that two streams must not share. `drawn` counts the words used so far."""
        self.drawn = 0
        self._lock = threading.Lock()
        self._encryptor: _Encryptor | None = None
        self._ahead = np.zeros(0, np.uint64)
        _STREAMS.add(self)

    def _rekey(self) -> None:
        """Take a new key from the operating system, unless one was given, and drop all words that were not used."""
        self._secret = os.urandom(16) if self._key is None else self._key
        self._ahead[:] = 0
        self._encryptor, self._ahead = None, self._ahead[:0]
        self._process = os.getpid()

    def branch(self) -> Self:
        """Another stream under the same key. Streams start 2^64 cipher blocks apart, so they never overlap."""
        with self._lock:
            self._check_process()
            branch = object.__new__(type(self))
            branch.__dict__.update(self.__dict__)
            branch._start_afresh()
            branch._number = next(self._numbers)
        return branch

    def words(self, count: int) -> Words:
        """The next `count` words of the stream."""
        with self._lock:
            window = self._look_ahead(count, np.empty(self._room(count), np.uint64))
            self._keep(window[count:])
            self.drawn += count
            return window[:count]

    def consume(self, count: int, use: Callable[[Words], int]) -> int:
        """Show the next `count` words to `use`, which returns how many of them it used up; the rest will be drawn next.

        `use` must not keep the array: the next call writes over it.
        """
        with self._lock:
            if _scratch.words.size < self._room(count):
                _scratch.words = np.zeros(self._room(count), np.uint64)
            window = self._look_ahead(count, _scratch.words)
            try:
                used = use(window[:count])
                self._keep(window[used:])
            except BaseException:
                self._keep(window[:0])  # words that somebody has seen are not drawn again
                raise
            finally:
                window[:] = 0  # a report and the words it was made of would together tell the value
            self.drawn += used
            return used

    def _keep(self, unused: Words) -> None:
        """Keep the words that were not used for the next draw, and clear the places where they were."""
        used, self._ahead = self._ahead, unused.copy()  # in this order, so that no error leaves a stream of zeros
        used[:] = 0
        unused[:] = 0

    def bits(self, who: Who, count: int) -> Words:  # noqa: ARG002 (all 64 bits of a word are fair)
        return self.words(who if isinstance(who, int) else who.size)

    def integers(self, who: Who) -> Words:
        return self.words(who if isinstance(who, int) else who.size)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be copied or pickled: two copies would draw the same words."""
        raise TypeError("a keystream cannot be copied or pickled: two copies would draw the same noise")

    def _room(self, count: int) -> int:
        """The number of words that `_look_ahead` needs to write `count` words."""
        return max(count, self._ahead.size + _LEAST_WORDS) + _SLACK_WORDS

    def _look_ahead(self, count: int, room: Words) -> Words:
        """At least the next `count` words of the stream, written into `room`."""
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
        """After a fork, take a new key, so that parent and child do not draw the same words."""
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
    """A new stream with a key from the operating system. Reports of real people are made with this one."""
    return Keystream()


def seeded(seed: SupportsIndex) -> Keystream:
    """A reproducible stream, for simulation only: whoever knows the seed can undo the noise."""
    digest = hashlib.sha256(b"localdp seed\0" + f"{checked_seed(seed):x}".encode()).digest()
    return Keystream(digest[:16])
