"""Which inner loops run: the definitions in NumPy, or their compiled twins, which give the same bits faster.

A function marked `@accelerated("file.function")` is the definition. Where Numba is installed (the extra
`fast`) the function of that name in `localdp.kernels.compiled` takes its place, except for arguments that the
twin declines by returning `NotImplemented`.

Loading Numba takes most of a second, so a process loads it only when that pays: for a call with a lot of work
(`expect_work`), or once the time lost without Numba equals the time that loading it takes. So a process that counts
small batches all day gets the compiled kernels; a short process does not pay for them, and neither does a device that
protects one value. The environment variable `LOCALDP_KERNELS` overrides this: `numpy` never loads Numba, `fast` loads
it at the first call.

>>> with kernels("numpy"):
...     uses_compiled()
False
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, update_wrapper
from time import perf_counter
from typing import Any, Generic, ParamSpec, TypeVar

from localdp.errors import InvalidInputError

P = ParamSpec("P")
T = TypeVar("T")

CHOICES = ("auto", "numpy", "fast")
LARGE_CALL_WORDS = 1 << 20
# Small calls are added up in seconds, not in words: NumPy takes from 2 ns (counting) to 7,000 ns (drawing subsets) a
# word. Loading takes 0.75 s (0.25 s to import Numba, 0.5 s for its first call of a cached kernel). Compiled kernels
# take about half as long as the definitions when calls are small, so after 1.5 s in NumPy about 0.75 s were lost, which
# is what loading costs.
SECONDS_WORTH_LOADING = 1.5
_COMPILED = "localdp.kernels.compiled"

_choice = os.environ.get("LOCALDP_KERNELS") or "auto"
_expects_large_call = False
_seconds_in_numpy = 0.0


class Accelerated(Generic[P, T]):
    """A function with a compiled twin; `definition` is the one in NumPy."""

    def __init__(self, definition: Callable[P, T], twin: str) -> None:
        self.definition = definition
        self.twin = twin
        update_wrapper(self, definition)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        if uses_compiled():
            result: T = load_twin(self.twin)(*args, **kwargs)
            if result is not NotImplemented:
                return result
        global _seconds_in_numpy
        start = perf_counter()
        result = self.definition(*args, **kwargs)
        _seconds_in_numpy += perf_counter() - start  # not locked, so threads may miss a call: an estimate is enough
        return result


def accelerated(twin: str) -> Callable[[Callable[P, T]], Accelerated[P, T]]:
    """Let the twin, named as file and function in `localdp.kernels.compiled`, do the work where it can."""
    return lambda definition: Accelerated(definition, twin)


def expect_work(words: int) -> None:
    """Announce a call that will read or write about this many 64-bit words. One large call is enough to load Numba."""
    global _expects_large_call
    if words >= LARGE_CALL_WORDS:
        _expects_large_call = True


def uses_compiled() -> bool:
    """Whether compiled kernels are used now. Numba is loaded here."""
    if _choice not in CHOICES:
        raise InvalidInputError(f"LOCALDP_KERNELS must be one of {', '.join(CHOICES)}, not {_choice!r}")
    if _choice == "numpy" or (_choice == "auto" and not _loading_pays()):
        return False
    if not _numba_works() and _choice == "fast":
        raise InvalidInputError("LOCALDP_KERNELS=fast needs Numba: pip install numba")
    return _numba_works()


def _loading_pays() -> bool:
    return _expects_large_call or _seconds_in_numpy >= SECONDS_WORTH_LOADING


@contextmanager
def kernels(choice: str) -> Iterator[None]:
    """Use the kernels of this choice inside the block, in all threads."""
    global _choice
    before, _choice = _choice, choice
    try:
        yield
    finally:
        _choice = before


@cache
def load_twin(twin: str) -> Callable[..., Any]:
    """The compiled function with this name."""
    file, _, function = twin.partition(".")
    found: Callable[..., Any] = getattr(importlib.import_module(f"{_COMPILED}.{file}"), function)
    return found


@cache
def _numba_works() -> bool:
    if importlib.util.find_spec("numba") is None:
        return False
    try:
        importlib.import_module(f"{_COMPILED}.jit")
    except ImportError:  # raised by a Numba that does not fit this NumPy
        return False
    return True
