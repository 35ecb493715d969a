"""Where fair bits come from: one keystream, keyed by the operating system or, by name, by a seed.

The stream is AES-128 in counter mode from the `cryptography` package. `secure()` keys a new one from
`os.urandom` for every use, so no two calls, threads or processes share keystream; should one object be used
after a fork all the same, the child keys it anew. `seeded(seed)` exists for simulation and tests: whoever
knows the seed can undo the noise, so nothing chooses it unless a caller passes a seed.

Mechanisms draw through three methods: `bits` (fair bits), `integers` (uniform words of `width` bits, to
compare with thresholds) and `below` (uniform on 0..bound-1 with no bias). Each is told *who* draws: a number
of users, or the indices of those who draw again. A keystream only counts them; an enumerating source (see
`localdp.checks`) gives every user a tape of their own.

>>> seeded(7).below(6, 4).tolist() == seeded(7).below(6, 4).tolist()
True
"""

from __future__ import annotations

import hashlib
import operator
import os
import threading
import weakref
from abc import ABC, abstractmethod
from typing import Protocol, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidInputError, SeedError

Words = NDArray[np.uint64]
Who = int | NDArray[np.intp]

_BLOCK_BYTES = 1 << 18  # the cipher runs at full speed here and the zeros stay in cache
_ZEROS = bytes(_BLOCK_BYTES)
_CIPHER_SLACK = 16  # update_into wants room for one block more than it writes


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
        self._lock = threading.Lock()
        self._start()
        _STREAMS.add(self)

    def _start(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        key = os.urandom(16) if self._key is None else self._key
        # A key serves one stream only, so the counter may start at zero.
        self._encryptor: _Encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._process = os.getpid()

    def words(self, count: int) -> Words:
        """The next `count` words of the stream."""
        octets = bytearray(8 * count + _CIPHER_SLACK)
        target, zeros = memoryview(octets), memoryview(_ZEROS)
        with self._lock:
            if self._key is None and self._process != os.getpid():
                self._start()
            for start in range(0, 8 * count, _BLOCK_BYTES):
                self._encryptor.update_into(zeros[: min(_BLOCK_BYTES, 8 * count - start)], target[start:])
        return np.frombuffer(octets, "<u8", count).astype(np.uint64, copy=False)

    def bits(self, who: Who, count: int) -> Words:  # noqa: ARG002 (a word has all the bits anyone may ask for)
        return self.words(who if isinstance(who, int) else who.size)

    def integers(self, who: Who) -> Words:
        return self.words(who if isinstance(who, int) else who.size)


def secure() -> Keystream:
    """A fresh stream keyed by the operating system: the one to protect people with."""
    return Keystream()


def seeded(seed: SupportsIndex) -> Keystream:
    """A reproducible stream, for simulation only: the seed undoes the noise."""
    digest = hashlib.sha256(b"localdp seed\0" + f"{checked_seed(seed):x}".encode()).digest()
    return Keystream(digest[:16])


def checked_seed(seed: object) -> int:
    """A seed as a plain integer, or a `SeedError`."""
    try:
        value = -1 if isinstance(seed, bool) else operator.index(seed)  # type: ignore[arg-type]
    except TypeError:
        value = -1
    if value < 0:
        raise SeedError(f"a seed is a whole number of at least 0, not {seed!r}")
    return value
