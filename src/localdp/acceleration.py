"""Which inner loops run: the NumPy definitions, or those in `localdp.compiled` that give the same bits sooner.

A function marked `@accelerated` is the definition. Where Numba is installed (`pip install localdp[fast]`) the function
of the same name in `localdp.compiled` takes its place, for every argument it does not decline by returning
`NotImplemented`.

Numba takes half a second to load, so it is loaded when there is enough to do (`expect_work`), never to protect one
value on a device. `LOCALDP_KERNELS` says otherwise: `numpy` never loads it, `fast` loads it at the first call.

>>> with kernels("numpy"):
...     print(chosen())
None
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, update_wrapper
from types import ModuleType
from typing import Generic, ParamSpec, TypeVar

from localdp.errors import InvalidInputError

P = ParamSpec("P")
T = TypeVar("T")

CHOICES = ("auto", "numpy", "fast")
_WORTH_LOADING = 1 << 20

_choice = os.environ.get("LOCALDP_KERNELS") or "auto"
_expected = False


class Accelerated(Generic[P, T]):
    """A function with a compiled twin; `definition` is the one in NumPy."""

    def __init__(self, definition: Callable[P, T]) -> None:
        self.definition = definition
        update_wrapper(self, definition)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        module = chosen()
        result = NotImplemented if module is None else getattr(module, self.definition.__name__)(*args, **kwargs)
        return self.definition(*args, **kwargs) if result is NotImplemented else result


def accelerated(definition: Callable[P, T]) -> Accelerated[P, T]:
    """Let the compiled function of this name do the work where there is one."""
    return Accelerated(definition)


def expect_work(words: int) -> None:
    """Say that about this many words are about to be read or written, so that loading Numba may pay."""
    global _expected
    _expected = _expected or words >= _WORTH_LOADING


def chosen() -> ModuleType | None:
    """The compiled kernels if they are to be used, or None."""
    if _choice not in CHOICES:
        raise InvalidInputError(f"LOCALDP_KERNELS is one of {', '.join(CHOICES)}, not {_choice!r}")
    if _choice == "numpy" or (_choice == "auto" and not _expected):
        return None
    module = _load()
    if module is None and _choice == "fast":
        raise InvalidInputError("LOCALDP_KERNELS=fast needs Numba: pip install localdp[fast]")
    return module


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
def _load() -> ModuleType | None:
    if importlib.util.find_spec("numba") is None:
        return None
    try:
        return importlib.import_module("localdp.compiled")
    except ImportError:  # a Numba that does not fit this NumPy says so
        return None
