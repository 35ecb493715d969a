"""Which inner loops run: the definitions in NumPy, or their compiled twins, which give the same bits sooner.

A function marked `@accelerated("file.function")` is the definition. Where Numba is installed (`pip install
'localdp[fast]'`) the function of that name in `localdp.kernels.compiled` takes its place, except for arguments that the
twin declines by returning `NotImplemented`.

Loading Numba takes about half a second, so it is loaded once the work of all calls together is worth it
(`expect_work`), and never to protect one value on a device. The environment variable `LOCALDP_KERNELS` overrides this:
`numpy` never loads Numba, `fast` loads it at the first call.

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
from typing import Any, Generic, ParamSpec, TypeVar

from localdp.errors import InvalidInputError

P = ParamSpec("P")
T = TypeVar("T")

CHOICES = ("auto", "numpy", "fast")
_WORTH_LOADING = 1 << 20  # words: NumPy takes about as long for them as Numba takes to load
_COMPILED = "localdp.kernels.compiled"

_choice = os.environ.get("LOCALDP_KERNELS") or "auto"
_expected = 0


class Accelerated(Generic[P, T]):
    """A function with a compiled twin; `definition` is the one in NumPy."""

    def __init__(self, definition: Callable[P, T], twin: str) -> None:
        self.definition = definition
        self.twin = twin
        update_wrapper(self, definition)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        result = load_twin(self.twin)(*args, **kwargs) if uses_compiled() else NotImplemented
        return self.definition(*args, **kwargs) if result is NotImplemented else result


def accelerated(twin: str) -> Callable[[Callable[P, T]], Accelerated[P, T]]:
    """Let the twin, named as file and function in `localdp.kernels.compiled`, do the work where it can."""
    return lambda definition: Accelerated(definition, twin)


def expect_work(words: int) -> None:
    """Say that about this many words are about to be read or written. Small calls add up."""
    global _expected
    _expected += words


def uses_compiled() -> bool:
    """Whether compiled kernels are used now."""
    if _choice not in CHOICES:
        raise InvalidInputError(f"LOCALDP_KERNELS is one of {', '.join(CHOICES)}, not {_choice!r}")
    if _choice == "numpy" or (_choice == "auto" and _expected < _WORTH_LOADING):
        return False
    if not _numba_works() and _choice == "fast":
        raise InvalidInputError("LOCALDP_KERNELS=fast needs Numba: pip install 'localdp[fast]'")
    return _numba_works()


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
