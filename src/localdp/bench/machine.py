"""What this machine is, and how fast it can read memory, make keystream, and pass once over an array with `np.exp`."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar

import numpy as np

from localdp.bench.timing import interleaved, seconds
from localdp.kernels import threads

T = TypeVar("T")

READ_BYTES = 1 << 29
KEYSTREAM_BYTES = 1 << 29
BLOCK_BYTES = 1 << 18
"""The keystream is made in blocks that stay in the cache, as it is when reports are made."""

EXPONENTIALS = 10_000_000


@dataclass(frozen=True)
class Limits:
    """The limits of the machine.

    They are the speed of reading memory and of making keystream on all threads, in bytes per second, and the seconds of
    one pass of `np.exp`.
    """

    read_speed: float
    keystream_speed: float
    exponential_seconds: float

    def best_of(self, other: Limits) -> Limits:
        """The better of two measurements, for each limit."""
        return Limits(
            max(self.read_speed, other.read_speed),
            max(self.keystream_speed, other.keystream_speed),
            min(self.exponential_seconds, other.exponential_seconds),
        )


def limits(rounds: int) -> Limits:
    """Measure the limits, on the number of threads that the library uses."""
    data = np.ones(READ_BYTES // 8, np.uint64)
    small = np.random.default_rng(0).normal(0, 0.2, EXPONENTIALS)
    count = threads.workers()
    with ThreadPoolExecutor(count) as pool:

        def on_all_threads(work: Callable[[T], object], parts: Sequence[T]) -> float:
            return seconds(lambda: list(pool.map(work, parts)))

        parts = np.array_split(data, count)
        sides = {
            "read by xor": lambda: {"seconds": on_all_threads(np.bitwise_xor.reduce, parts)},
            "read by max": lambda: {"seconds": on_all_threads(np.max, parts)},
            "keystream": lambda: {"seconds": on_all_threads(_encrypt, [KEYSTREAM_BYTES // count] * count)},
            "exponential": lambda: {"seconds": min(seconds(lambda: np.exp(small)) for _ in range(3))},
        }
        best = {name: timings["seconds"] for name, timings in interleaved(sides, rounds).items()}
    return Limits(
        read_speed=READ_BYTES / min(best["read by xor"], best["read by max"]),
        keystream_speed=KEYSTREAM_BYTES / best["keystream"],
        exponential_seconds=best["exponential"],
    )


def _encrypt(size: int) -> None:
    """Make this number of bytes of AES-128-CTR keystream."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    zeros, target = bytes(BLOCK_BYTES), bytearray(BLOCK_BYTES + 16)
    encryptor = Cipher(algorithms.AES(os.urandom(16)), modes.CTR(bytes(16))).encryptor()
    for _ in range(size // BLOCK_BYTES):
        encryptor.update_into(zeros, target)


def description() -> str:
    """The processor, the system, the versions of the packages that are measured, and how busy the machine is."""
    packages = ", ".join(f"{name} {_version(name)}" for name in ("numpy", "scipy", "numba", "cryptography"))
    return (
        f"{_processor()}, {os.cpu_count()} processors, {platform.system()}; Python {platform.python_version()}, "
        f"{packages}; {threads.workers()} threads; load average at the start {os.getloadavg()[0]:.1f}"
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
