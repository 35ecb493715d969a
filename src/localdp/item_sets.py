"""Sets of items, one for each user, as arrays: for surveys where everybody may hold several items, or none.

>>> from localdp.domain import Domain
>>> sets = ItemSets.read([["tea", "milk"], [], ["milk", "milk"]], Domain(["tea", "coffee", "milk"]))
>>> sets.users, sets.sizes.tolist(), sets.items.tolist()
(3, [2, 0, 1], [0, 2, 2])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from localdp.domain import Domain
from localdp.errors import InvalidInputError
from localdp.held import Held
from localdp.types import Indices
from localdp.validation import shown


@dataclass(frozen=True)
class ItemSets(Held):
    """The indices of all users' items, one user after the other, and the number of items of each user.

    The items of a user are in ascending order, and none is there twice; anything else is an `InvalidInputError`. The
    proofs of privacy need that: an item that a set holds twice would be drawn twice as often.
    """

    items: Indices
    sizes: Indices

    def __post_init__(self) -> None:
        """Refuse what is not a set for each user. Nothing here depends on the items unless they are refused."""
        items, sizes = self.items, self.sizes
        if not (_are_whole(items) and _are_whole(sizes)):
            raise InvalidInputError("the items and the sizes of sets are flat arrays of whole numbers")
        if (sizes < 0).any() or (sizes > items.size).any() or sizes.sum() != items.size:
            raise InvalidInputError("the sizes of the sets do not add up to the number of their items")
        begins = np.zeros(items.size + 1, np.bool_)
        begins[np.cumsum(sizes)] = True  # at the place after a user's last item
        if not (begins[1 : items.size] | (items[1:] > items[:-1])).all():
            raise InvalidInputError(
                "the items of each user must be in ascending order, and none may be there twice; `ItemSets.of` makes "
                "sets of lists in any order"
            )

    @classmethod
    def read(cls, values: Any, domain: Domain) -> ItemSets:
        """The sets that people pass in: one list, tuple, set or array of items for each user.

        An item that a user lists twice counts once. Items that are not in the domain become the catch-all item, or an
        `UnknownItemError` if there is none. Sets that were read before stay as they are.
        """
        if isinstance(values, cls):
            return values
        if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping | Set):
            raise InvalidInputError(f"values must be a list with one set of items for each user, not {shown(values)}")
        if hasattr(values, "columns"):
            raise InvalidInputError("a table was given: pass one column, in which every user has a list of items")
        if hasattr(values, "to_pylist"):  # an Arrow array of lists
            values = values.to_pylist()
        lists = [_listed(held) for held in values]
        sizes = np.fromiter(map(len, lists), np.int64, len(lists))
        flat = [item for held in lists for item in held]
        return cls.of(domain.indices(flat) if flat else np.zeros(0, np.int64), sizes)

    @classmethod
    def of(cls, items: Indices, sizes: Indices) -> ItemSets:
        """Sets from the indices of all users' items, in any order and perhaps with repetitions."""
        users = np.repeat(np.arange(sizes.size), sizes)
        order = np.lexsort((items, users))
        users, items = users[order], items[order]
        first = np.ones(items.size, bool)
        first[1:] = (users[1:] != users[:-1]) | (items[1:] != items[:-1])
        return cls(items[first], np.bincount(users[first], minlength=sizes.size))

    @classmethod
    def joined(cls, parts: Sequence[ItemSets]) -> ItemSets:
        """The users of all parts, one part after the other."""
        none = np.zeros(0, np.int64)
        items, sizes = ([getattr(part, name) for part in parts] for name in ("items", "sizes"))
        return cls(np.concatenate([none, *items]), np.concatenate([none, *sizes]))

    def one_each(self) -> Indices:
        raise InvalidInputError("under this plan every user holds one item: sets need a plan with set_size")

    def take(self, users: Indices) -> ItemSets:
        """The sets of some users, in this order.

        >>> sets = ItemSets(np.array([5, 6, 7]), np.array([2, 0, 1]))
        >>> sets.take(np.array([2, 0])).items.tolist()
        [7, 5, 6]
        """
        sizes = self.sizes[users]
        ends = np.cumsum(sizes)
        return ItemSets(self.items[np.arange(sizes.sum()) + np.repeat(self.starts[users] - ends + sizes, sizes)], sizes)

    @property
    def users(self) -> int:
        """The number of users."""
        return self.sizes.size

    @property
    def starts(self) -> Indices:
        """Where the items of each user begin."""
        return np.cumsum(self.sizes) - self.sizes


def _are_whole(numbers: Any) -> bool:
    """Whether this is a flat array of whole numbers, all of which are there."""
    is_array = isinstance(numbers, np.ndarray) and not isinstance(numbers, np.ma.MaskedArray)
    return is_array and numbers.ndim == 1 and numbers.dtype.kind in "iu"


def _listed(held: Any) -> list[Any]:
    """The items of one user as a list."""
    if isinstance(held, np.ndarray):
        held = held.tolist()
    elif hasattr(held, "to_list"):  # a column of pandas or polars
        held = held.to_list()
    if isinstance(held, list | tuple | Set | range):
        return list(held)
    raise InvalidInputError(
        f"every user holds a set of items under this plan: give a list for each user, such as ['tea', 'milk'] or [], "
        f"not {shown(held)}"
    )
