"""Estimates that another library gives by item, in a dictionary or a pandas Series, put in the order of a domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from localdp.domain import Domain, labels_of
from localdp.errors import DomainError, FrequencyError
from localdp.estimate.stated_noise import stated_variance
from localdp.frozen import read_only
from localdp.types import Vector
from localdp.validation import checked_estimates


def in_order(frequencies: Any, variance: Any, domain: Any) -> tuple[Vector, float | Vector, Domain]:
    """Estimates, their variance and their domain, all checked and in the order of the domain.

    Estimates without labels are in this order already. A list of variances is in the order of the estimates, unless it
    has labels too. Without a domain, the items are the labels, or else 0, 1, 2 and so on.

    >>> in_order({"tea": 5.0, "milk": 3.0}, {"milk": 2.0, "tea": 1.0}, ["milk", "tea"])[:2]
    (array([3., 5.]), array([2., 1.]))
    """
    labels = labels_of(frequencies)
    found = checked_estimates(_values(frequencies), labels)
    if domain is None:
        domain = found.size if labels is None else labels
    known = domain if isinstance(domain, Domain) else Domain(domain)
    if known.size != found.size:
        raise DomainError(f"{found.size} estimates were given for a domain of {known.size} items")
    own = labels_of(variance)
    stated = stated_variance(variance if own is None else _values(variance), found)
    if not isinstance(stated, float):
        stated = _placed(stated, labels if own is None else own, known)
    return _placed(found, labels, known), stated, known


def _values(given: Any) -> Any:
    return list(given.values()) if isinstance(given, Mapping) else given


def _placed(values: Vector, labels: list[Any] | None, domain: Domain) -> Vector:
    """The values at the places of the items that they are labelled with."""
    if labels is None:
        return values
    places = domain.places(labels, "estimates by item need the items of the domain")
    if np.unique(places).size < places.size:
        raise FrequencyError("estimates by item have an item twice")
    ordered = np.empty(domain.size)
    ordered[places] = values
    return read_only(ordered)
