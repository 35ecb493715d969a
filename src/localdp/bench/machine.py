"""What this machine can do at most: read memory, encrypt, pass once over numbers. And what it is."""

from __future__ import annotations

import os
import platform
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from localdp.bench.timing import interleaved, seconds
from localdp.kernels import threads

READ_BYTES = 1 << 29
KEYSTREAM_BYTES = 1 << 29
BLOCK_BYTES = 1 << 18
EXPONENTIALS = 10_000_000


def limits(times: int) -> dict[str, float]:
    """Bytes a second of reading and of keystream, on as many threads as we use; seconds of one np.exp pass."""
    data = np.ones(READ_BYTES // 8, np.uint64)
    small = np.random.default_rng(0).normal(0, 0.2, EXPONENTIALS)
    number = threads.workers()
    with ThreadPoolExecutor(number) as pool:

        def on_all(work: object, parts: list[object]) -> float:
            return seconds(lambda: list(pool.map(work, parts)))  # type: ignore[arg-type]

        parts: list[object] = list(np.array_split(data, number))
        sides = {
            "read by xor": lambda: {"seconds": on_all(np.bitwise_xor.reduce, parts)},
            "read by max": lambda: {"seconds": on_all(np.max, parts)},
            "keystream": lambda: {"seconds": on_all(_encrypt, [KEYSTREAM_BYTES // number] * number)},
            "exponential": lambda: {"seconds": min(seconds(lambda: np.exp(small)) for _ in range(3))},
        }
        best = {name: steps["seconds"] for name, steps in interleaved(sides, times).items()}
    return {
        "read": READ_BYTES / min(best["read by xor"], best["read by max"]),
        "keystream": KEYSTREAM_BYTES / best["keystream"],
        "exponential": best["exponential"],
    }


def _encrypt(octets: Any) -> None:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    zeros, target = bytes(BLOCK_BYTES), bytearray(BLOCK_BYTES + 16)
    encryptor = Cipher(algorithms.AES(os.urandom(16)), modes.CTR(bytes(16))).encryptor()
    for _ in range(octets // BLOCK_BYTES):
        encryptor.update_into(zeros, target)


def description() -> str:
    """The processor, the system and the versions of what is measured."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba", "cryptography"))
    return (
        f"{_processor()}, {os.cpu_count()} processors, {platform.system()}; Python {platform.python_version()}, "
        f"{packages}; {threads.workers()} threads; load average at the start {os.getloadavg()[0]:.1f}"
    )


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
