"""What users hold, as indices of cells: one cell each, or a set of cells each.

Mechanisms get what users hold in one of these forms, so that nothing between a value and its report needs to know which
of them it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from localdp.errors import InvalidInputError
from localdp.types import Indices


class Held(ABC):
    """The cells of every user, one user after the other."""

    if TYPE_CHECKING:

        @property
        def items(self) -> Indices:
            """The indices of all users' cells, one user after the other."""

        @property
        def sizes(self) -> Indices:
            """How many cells each user holds."""

    @property
    @abstractmethod
    def users(self) -> int:
        """The number of users."""

    @abstractmethod
    def one_each(self) -> Indices:
        """The cell of each user; an `InvalidInputError` if users hold sets."""

    @abstractmethod
    def take(self, users: Indices) -> Held:
        """What some users hold, in this order."""


@dataclass(frozen=True)
class OneEach(Held):
    """Users who hold one cell each.

    >>> OneEach(np.array([4, 0, 4])).sizes.tolist()
    [1, 1, 1]
    """

    items: Indices

    @property
    def sizes(self) -> Indices:
        return np.ones(self.users, np.int64)

    @property
    def users(self) -> int:
        return np.size(self.items)

    def one_each(self) -> Indices:
        return self.items

    def take(self, users: Indices) -> OneEach:
        return OneEach(self.items[users])


@dataclass(frozen=True)
class OneUser(Held):
    """One user with these cells, in ascending order: one, several or none.

    >>> OneUser(np.array([2, 5])).sizes.tolist()
    [2]
    """

    items: Indices

    @property
    def sizes(self) -> Indices:
        return np.array([self.items.size])

    @property
    def users(self) -> int:
        return 1

    def one_each(self) -> Indices:
        if self.items.size != 1:
            raise InvalidInputError("under this plan every user holds one item: sets need a plan with set_size")
        return self.items

    def take(self, users: Indices) -> Held:
        raise InvalidInputError(f"there is one user, and {np.size(users)} were asked for")
