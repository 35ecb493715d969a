"""One thread of BLAS while many small systems are solved.

Threads of BLAS wait busily for each other. For matrices of a few hundred rows they gain nothing, and while other
programs are busy, waiting is most of the work: calibrated ages took 7 seconds of processors instead of half a second.
Only OpenBLAS is asked, which NumPy and SciPy bring along, each its own; where it is not found, nothing changes.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

_MODULES = ("numpy.linalg._umath_linalg", "scipy.linalg._fblas")
_NAMES = [(before, after) for before in ("scipy_openblas", "openblas") for after in ("64_", "")]


@dataclass
class _Use:
    """How many want one thread now, and how many threads there were before."""

    inside: int = 0
    before: tuple[int, ...] = ()


_lock, _use = threading.Lock(), _Use()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS use one thread until the last of those who asked for it has finished. It is also a decorator."""
    with _lock:
        if not _use.inside:
            _use.before = tuple(read() for read, _ in libraries())
            for _, change in libraries():
                change(1)
        _use.inside += 1
    try:
        yield
    finally:
        with _lock:
            _use.inside -= 1
            if not _use.inside:
                for (_, change), number in zip(libraries(), _use.before, strict=True):
                    change(number)


@cache
def libraries() -> tuple[tuple[Callable[[], int], Callable[[int], Any]], ...]:
    """For each OpenBLAS that is found: what reads the number of its threads, and what changes it."""
    found = []
    for module in _MODULES:
        try:
            library = ctypes.CDLL(str(import_module(module).__file__))
        except (ImportError, OSError):
            continue
        for before, after in _NAMES:
            read = getattr(library, f"{before}_get_num_threads{after}", None)
            change = getattr(library, f"{before}_set_num_threads{after}", None)
            if read is not None and change is not None:
                found.append((read, change))
                break
    return tuple(found)
