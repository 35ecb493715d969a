"""Values that cannot be changed once they are made: a base class, whose `__init__` may check and compute; arrays."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array = TypeVar("Array", bound="NDArray[Any]")


class Frozen:
    """Refuse to set or delete attributes after `_freeze()`, which a class calls at the end of `__init__`.

    A `cached_property` still works: it stores its value without setting an attribute.

    >>> class Point(Frozen):
    ...     def __init__(self, x):
    ...         self.x = x
    ...         self._freeze()
    >>> Point(3).x = 4
    Traceback (most recent call last):
    dataclasses.FrozenInstanceError: Point is a value: make a new one instead of setting x
    """

    _is_frozen = False

    def _freeze(self) -> None:
        object.__setattr__(self, "_is_frozen", True)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._is_frozen:
            raise FrozenInstanceError(f"{type(self).__name__} is a value: make a new one instead of setting {name}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"{type(self).__name__} is a value: {name} cannot be deleted")


def read_only(values: Array) -> Array:
    """The same array, which nobody can write to any more."""
    values.setflags(write=False)
    return values
