"""Mechanisms, priors and questions that are written outside this library, by their names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from localdp.errors import InvalidInputError

Kind = TypeVar("Kind")

_NAME = re.compile(r"[a-z][a-z0-9]*([-+][a-z0-9]+)*")
_LONGEST_NAME = 40


class Registry(Generic[Kind]):
    """Classes by name. Each derives from `base`; `taken` are the names of the library, which no other class may have.

    >>> class Animal:
    ...     pass
    >>> class Cat(Animal):
    ...     name = "cat"
    >>> registry = Registry(Animal, {"dog"})
    >>> registry.add(Cat)
    >>> registry.get("cat") is Cat, list(registry)
    (True, ['cat'])
    """

    def __init__(self, base: Any, taken: set[str]) -> None:
        self._base = base
        self._taken = taken
        self._kinds: dict[str, type[Kind]] = {}

    def add(self, kind: Any) -> None:
        """Remember the class under its name.

        A second class of the same name is refused, unless it is the first one defined anew, as happens when a cell of a
        notebook is run again.
        """
        complaint = complaint_about(kind, self._base)
        if complaint is not None:
            raise InvalidInputError(complaint)
        if kind.name in self._taken:
            raise InvalidInputError(
                f"the name {kind.name!r} belongs to the library: give {kind.__name__} a name of its own"
            )
        before = self._kinds.get(kind.name)
        if before is not None and (before.__module__, before.__qualname__) != (kind.__module__, kind.__qualname__):
            raise InvalidInputError(
                f"the name {kind.name!r} belongs to {before.__module__}.{before.__qualname__}: give "
                f"{kind.__name__} a name of its own"
            )
        self._kinds[kind.name] = kind

    def get(self, name: str) -> type[Kind] | None:
        """The class of this name, or None."""
        return self._kinds.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)


def complaint_about(kind: Any, base: type[Any]) -> str | None:
    """What keeps `kind` from being a complete class with a name that derives from `base`; None if nothing does.

    >>> complaint_about("grr", int)
    "expected a class that derives from localdp.int, not 'grr'"
    """
    if isinstance(kind, base):
        return f"give the class {type(kind).__name__}, not an object of it"
    if not isinstance(kind, type) or not issubclass(kind, base):
        return f"expected a class that derives from localdp.{base.__name__}, not {kind!r:.60}"
    if inspect.isabstract(kind):
        missing = sorted(getattr(kind, "__abstractmethods__", ()))
        return f"{kind.__name__} is not complete: write {', '.join(missing)}"
    return complaint_about_name(getattr(kind, "name", None), kind)


def complaint_about_name(name: object, kind: type[Any]) -> str | None:
    """What is wrong with the name of a class; None if nothing is."""
    if isinstance(name, str) and len(name) <= _LONGEST_NAME and _NAME.fullmatch(name):
        return None
    return (
        f'{kind.__name__} needs a name, such as name = "my-name": small letters, digits, single hyphens and plus '
        f"signs, at most {_LONGEST_NAME} characters, not {name!r:.60}"
    )
