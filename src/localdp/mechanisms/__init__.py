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

from localdp.errors import ImpureMechanismError, UnknownMechanismError
from localdp.mechanisms.base import Channel, Mechanism
from localdp.mechanisms.choice import Choice, choose
from localdp.mechanisms.hadamard import HadamardResponse
from localdp.mechanisms.linear_hashing import LinearLocalHashing
from localdp.mechanisms.local_hashing import BinaryLocalHashing, OptimizedLocalHashing
from localdp.mechanisms.randomized_response import RandomizedResponse
from localdp.mechanisms.subset import SubsetSelection
from localdp.mechanisms.unary import OptimizedUnary, SymmetricUnary

__all__ = [
    "MECHANISMS",
    "BinaryLocalHashing",
    "Channel",
    "Choice",
    "HadamardResponse",
    "LinearLocalHashing",
    "Mechanism",
    "OptimizedLocalHashing",
    "OptimizedUnary",
    "RandomizedResponse",
    "SubsetSelection",
    "SymmetricUnary",
    "create",
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

_IMPURE = {
    "rappor": "Bloom-filter RAPPOR (basic RAPPOR, without the filter, is 'sue')",
    "bloom-rappor": "Bloom-filter RAPPOR (basic RAPPOR, without the filter, is 'sue')",
    "cms": "the count-mean sketch",
    "hcms": "the Hadamard count-mean sketch",
}


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
    if name not in MECHANISMS:
        known = [*sorted(MECHANISMS), "auto"]
        close = get_close_matches(name[:20].lower(), known, n=1)  # a plan from elsewhere may have a name of megabytes
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UnknownMechanismError(f"there is no mechanism {name!r:.60}; {hint}there are {', '.join(known)}")
    mechanism = MECHANISMS[name](size, epsilon)
    return Choice(mechanism, (mechanism,), f"{name} was asked for by name")


def _epsilon_hint(value: object) -> str:
    """A question for callers who gave a budget where the name of a mechanism belongs."""
    return f". Did you mean epsilon={value!r}?" if isinstance(value, Real) else ""
