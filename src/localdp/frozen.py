"""Values that cannot be changed once they are made, for classes that are more than a list of fields."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any


class Frozen:
    """Refuse to set or delete attributes after `_freeze()`. (A cached property may still remember its value.)"""

    _is_frozen = False

    def _freeze(self) -> None:
        object.__setattr__(self, "_is_frozen", True)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._is_frozen:
            raise FrozenInstanceError(f"{type(self).__name__} is a value: make a new one instead of setting {name}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"{type(self).__name__} is a value: {name} cannot be deleted")
