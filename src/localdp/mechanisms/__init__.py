"""ENCODE and PERTURB: how a device turns its item into a private report, and which items a report supports.

| name | class | report | use it for |
|---|---|---|---|
| `grr` | `RandomizedResponse` | the index of an item | few items |
| `sue` | `SymmetricUnary` | a bit for each item | comparison with basic RAPPOR |
| `oue` | `OptimizedUnary` | a bit for each item | the paper's results; noise that is independent between items |
| `ss` | `SubsetSelection` | a bit for each item | the least variance, where d bits a report are affordable |
| `olh` | `OptimizedLocalHashing` | 32 bits and a symbol | comparison with other software; slow to count |
| `blh` | `BinaryLocalHashing` | 33 bits | comparison with other software |
| `llh` | `LinearLocalHashing` | log2(d) bits and a symbol | large domains: short reports, fast counting |
| `hr` | `HadamardResponse` | log2(d+1) bits | large domains at a small epsilon |

The base class of all mechanisms is in `base`, the base classes of two groups are in `bitmap_base` and `hashing_base`.
`symbol_response` is the randomized response that several mechanisms share, and `choice` decides what `auto` takes.

>>> create("auto", size=41_270, epsilon=1.0).mechanism.name
'llh'
"""

from __future__ import annotations

from difflib import get_close_matches
from numbers import Real
from typing import TypeVar

from localdp.errors import ImpureMechanismError, UnknownMechanismError
from localdp.formats import bitstrings
from localdp.mechanisms.base import Channel, Mechanism, independent_counts, require_sum
from localdp.mechanisms.choice import Choice, choose
from localdp.mechanisms.hadamard import HadamardResponse
from localdp.mechanisms.linear_hashing import LinearLocalHashing
from localdp.mechanisms.local_hashing import BinaryLocalHashing, OptimizedLocalHashing
from localdp.mechanisms.randomized_response import RandomizedResponse
from localdp.mechanisms.subset import SubsetSelection
from localdp.mechanisms.symbol_response import SymbolResponse
from localdp.mechanisms.unary import OptimizedUnary, SymmetricUnary, UnaryEncoding
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.registry import Registry

__all__ = [
    "MECHANISMS",
    "BinaryLocalHashing",
    "Channel",
    "Choice",
    "Entropy",
    "HadamardResponse",
    "LinearLocalHashing",
    "Mechanism",
    "OptimizedLocalHashing",
    "OptimizedUnary",
    "RandomizedResponse",
    "SubsetSelection",
    "SymbolResponse",
    "SymmetricUnary",
    "UnaryEncoding",
    "bitstrings",
    "create",
    "independent_counts",
    "kind_named",
    "register",
    "require_sum",
    "thresholds",
]

# Cheapest counting first: of two equally good mechanisms `auto` takes the earlier one. It never takes one that
# counts pairs.
MECHANISMS: dict[str, type[Mechanism]] = {
    kind.name: kind
    for kind in (
        RandomizedResponse,
        HadamardResponse,
        LinearLocalHashing,
        OptimizedUnary,
        SymmetricUnary,
        SubsetSelection,
        BinaryLocalHashing,
        OptimizedLocalHashing,
    )
}
"""The mechanisms of the library by name."""

_IMPURE = {
    "rappor": "Bloom-filter RAPPOR (basic RAPPOR, without the filter, is 'sue')",
    "bloom-rappor": "Bloom-filter RAPPOR (basic RAPPOR, without the filter, is 'sue')",
    "cms": "the count-mean sketch",
    "hcms": "the Hadamard count-mean sketch",
}

_Kind = TypeVar("_Kind", bound=type[Mechanism])
_REGISTRY: Registry[Mechanism] = Registry(Mechanism, {*MECHANISMS, *_IMPURE, "auto"})


def register(kind: _Kind) -> _Kind:
    """Make a mechanism of your own known by its name, so that plans with it can be read. It serves as a decorator.

    A plan says the name of its mechanism. Whoever writes `Plan(items, "your-name", epsilon)`, or reads such a plan or
    an aggregate from a file, registers the class first. `auto` never takes a registered mechanism, because a plan must
    not depend on what is registered where.

    >>> @register
    ... class Louder(SymmetricUnary):
    ...     name = "doctest-louder"
    >>> create("doctest-louder", size=10, epsilon=1.0).mechanism
    <doctest-louder on 10 items, epsilon 1, 10-bit reports>
    """
    _REGISTRY.add(kind)
    return kind


def kind_named(name: str) -> type[Mechanism] | None:
    """The class of the mechanism with this name, in the library or registered; None if there is none."""
    return MECHANISMS.get(name) or _REGISTRY.get(name)


def create(name: str, size: int, epsilon: float) -> Choice:
    """The mechanism with this name; "auto" chooses the best one for the number of items and the epsilon.

    >>> create("oue", size=100, epsilon=1.0).mechanism
    <oue on 100 items, epsilon 1, 100-bit reports>
    """
    if not isinstance(name, str):
        raise UnknownMechanismError(
            f"a mechanism is given by its name, such as 'auto' or 'llh', not by {name!r}{_epsilon_hint(name)}"
        )
    if name == "auto":
        return choose(tuple(kind for kind in MECHANISMS.values() if not kind.counts_pairs), size, epsilon)
    if name in _IMPURE:
        raise ImpureMechanismError.of(_IMPURE[name])
    kind = kind_named(name)
    if kind is None:
        known = [*sorted(MECHANISMS), *sorted(_REGISTRY), "auto"]
        close = get_close_matches(name[:20].lower(), known, n=1)  # a plan from elsewhere may have a name of megabytes
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UnknownMechanismError(
            f"there is no mechanism {name!r:.60}; {hint}there are {', '.join(known)}. A mechanism of your own must be "
            "registered first: localdp.mechanisms.register(YourClass)"
        )
    mechanism = kind(size, epsilon)
    return Choice(mechanism, (mechanism,), f"{name} was asked for by name")


def _epsilon_hint(value: object) -> str:
    """A question for callers who gave a budget where the name of a mechanism belongs."""
    return f". Did you mean epsilon={value!r}?" if isinstance(value, Real) else ""
