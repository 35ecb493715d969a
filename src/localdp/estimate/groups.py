r"""Groups of items, and sums of raw estimates over them with intervals that know the total.

Let the items have independent uncertainties with variances v_i, and let V be the sum of them all and V_G the sum over
a group. If the sum of all frequencies is known, the group's sum is known better:

    Var(sum over G | total)  =  V_G - V_G^2 / V,

because what the group holds is what the others do not. A group of all items is known exactly. Groups of calibrated
frequencies ask `linear` of their posterior: `localdp.calibrate.sums` answers it, where no structure is known and items
are not few.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import NormalDist
from typing import Any

import numpy as np

from localdp.calibrate.base import Quantity
from localdp.domain import Domain
from localdp.errors import InvalidInputError
from localdp.types import Places, Vector


def checked_groups(groups: Any, domain: Domain) -> dict[str, Places]:
    """The groups as names with the indices of their items; an item named twice in a group counts once."""
    if not isinstance(groups, Mapping) or not groups:
        raise InvalidInputError('groups are given as a dictionary, such as {"hot drinks": ["tea", "coffee"]}')
    found = {}
    for name, items in groups.items():
        if isinstance(items, str | bytes) or not isinstance(items, Iterable):
            raise InvalidInputError(f"the items of the group {name!r:.40} must be a list, not {items!r:.40}")
        listed = items if isinstance(items, np.ndarray) else list(items)
        found[str(name)] = np.unique(domain.places(listed, f"the group {name!r:.40} has items of the domain"))
    return found


def group_deviation(members: Vector, everything: float | None) -> float:
    """The standard deviation of a group's sum, from the variances of its members.

    `everything` is the sum of the variances of all items if the total is known, and otherwise None.
    """
    own = float(members.sum())
    known = own * own / everything if everything else 0.0
    return float(np.sqrt(max(own - known, 0.0)))


def group_quantity(centre: float, deviation: float, level: float) -> Quantity:
    """A group's sum with its interval, if its error is normal.

    >>> round(group_quantity(100.0, 10.0, 0.9).high, 1)
    116.4
    """
    reach = NormalDist().inv_cdf((1 + level) / 2) * deviation
    return Quantity(centre, centre - reach, centre + reach, level)


def whole_numbers_within(found: Quantity, most: float) -> tuple[float, float]:
    """The interval of a group's sum widened to whole numbers from 0 to `most`.

    >>> whole_numbers_within(Quantity(100.0, 83.6, 116.4, 0.9), most=1000)
    (83.0, 117.0)
    """
    low, high = np.floor(found.low), np.ceil(found.high)
    return float(np.clip(low, 0, most)) + 0.0, float(np.clip(high, 0, most)) + 0.0
