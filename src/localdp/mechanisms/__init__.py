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
| `slh` | `SubsetLocalHashing` | log2(d) bits and a symbol | the same with the least variance; slower counting |
| `hr` | `HadamardResponse` | log2(d+1) bits | large domains at a small epsilon |
| `dbit` | `DBitFlip` | an index and a bit, for some items | comparison with Microsoft's telemetry |
| `cms` | `CountMeanSketch` | 1,034 bits | comparison with Apple's sketches |
| `hcms` | `HadamardCountMeanSketch` | 21 bits | comparison with Apple's sketches |

Where the same people are asked again and again, `once` bounds what one report reveals. These mechanisms perturb a
permanent response once more for each report:

| name | class | report | use it for |
|---|---|---|---|
| `grr+grr` | `RandomizedResponseTwice` | the index of an item | few items |
| `oue+sue` | `OptimizedThenSymmetric` | a bit for each item | the least variance on many items |
| `sue+sue` | `SymmetricTwice` | a bit for each item | comparison with RAPPOR |
| `oue+oue` | `OptimizedTwice` | a bit for each item | comparison with the literature |
| `sue+oue` | `SymmetricThenOptimized` | a bit for each item | comparison with the literature |

One more chain has one response for several items, for people whose item changes often: `llh+llh`, `LinearHashingTwice`.

Where every user holds a set of items, `set_sampling` draws one of them, and one of the mechanisms of the first table
reports it. One more perturbs the whole set at once:

| name | class | report | use it for |
|---|---|---|---|
| `privset` | `PrivSet` | a bit for each item | the least variance on sets of several items |

Where answers have an order, as on a `Scale`, one more is offered:

| name | class | report | use it for |
|---|---|---|---|
| `wave` | `SquareWave` | a number near one's own | means, percentiles and ranges of many ordered cells |

The base class of all mechanisms is in `base`, those of pure ones and of bitmaps are in `pure`, and those of groups in
`hashing_base` and `set_base`. `observation` has what counts say about items, and `channel` the exact law of reports.
`symbol_response` is the randomized response that several mechanisms share, `permanent` says how all of them answer
again, and `choice` decides what `auto` takes.

>>> create("auto", size=41_270, epsilon=1.0).mechanism.name
'llh'
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from numbers import Real
from typing import Any, TypeVar

from localdp.errors import EpsilonError, ImpureMechanismError, InvalidInputError, UnknownMechanismError
from localdp.formats import bitstrings
from localdp.mechanisms.base import Mechanism
from localdp.mechanisms.chains import (
    Chain,
    OptimizedThenSymmetric,
    OptimizedTwice,
    RandomizedResponseTwice,
    SymmetricThenOptimized,
    SymmetricTwice,
    checked_once,
)
from localdp.mechanisms.channel import Channel
from localdp.mechanisms.choice import Choice, Make, choose
from localdp.mechanisms.dbit_flip import DBitFlip
from localdp.mechanisms.hadamard import HadamardResponse
from localdp.mechanisms.hashing_twice import LinearHashingTwice
from localdp.mechanisms.linear_hashing import LinearLocalHashing, SubsetLocalHashing
from localdp.mechanisms.local_hashing import BinaryLocalHashing, OptimizedLocalHashing
from localdp.mechanisms.observation import Observation, Supported, Through
from localdp.mechanisms.ordered_choice import choose_ordered
from localdp.mechanisms.privset import PrivSet
from localdp.mechanisms.pure import PureMechanism, independent_counts, require_sum
from localdp.mechanisms.randomized_response import RandomizedResponse
from localdp.mechanisms.set_base import SetMechanism
from localdp.mechanisms.set_sampling import PaddingAndSampling
from localdp.mechanisms.sketches import CountMeanSketch, HadamardCountMeanSketch
from localdp.mechanisms.subset import SubsetSelection
from localdp.mechanisms.symbol_response import SymbolResponse
from localdp.mechanisms.unary import OptimizedUnary, SymmetricUnary, UnaryEncoding
from localdp.mechanisms.wave import SquareWave, check_cells
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.registry import Registry
from localdp.validation import checked_epsilon

__all__ = [
    "BUCKET_CHAINS",
    "CHAINS",
    "MECHANISMS",
    "ORDERED_MECHANISMS",
    "SET_MECHANISMS",
    "BinaryLocalHashing",
    "Chain",
    "Channel",
    "Choice",
    "CountMeanSketch",
    "DBitFlip",
    "Entropy",
    "HadamardCountMeanSketch",
    "HadamardResponse",
    "LinearHashingTwice",
    "LinearLocalHashing",
    "Mechanism",
    "Observation",
    "OptimizedLocalHashing",
    "OptimizedThenSymmetric",
    "OptimizedTwice",
    "OptimizedUnary",
    "PaddingAndSampling",
    "PrivSet",
    "PureMechanism",
    "RandomizedResponse",
    "RandomizedResponseTwice",
    "SetMechanism",
    "SquareWave",
    "SubsetLocalHashing",
    "SubsetSelection",
    "Supported",
    "SymbolResponse",
    "SymmetricThenOptimized",
    "SymmetricTwice",
    "SymmetricUnary",
    "Through",
    "UnaryEncoding",
    "bitstrings",
    "create",
    "independent_counts",
    "kind_named",
    "offered",
    "register",
    "require_sum",
    "thresholds",
]

# What `auto` takes one of, cheapest counting first: of two equally good mechanisms it takes the earlier. Nothing is
# added here later, so that the same call makes the same plan in every version.
_CHOSEN_FROM: tuple[type[Mechanism], ...] = (
    RandomizedResponse,
    HadamardResponse,
    LinearLocalHashing,
    OptimizedUnary,
    SymmetricUnary,
    SubsetSelection,
    DBitFlip,
)
_BY_NAME_ONLY: tuple[type[Mechanism], ...] = (
    BinaryLocalHashing,
    OptimizedLocalHashing,
    SubsetLocalHashing,
    CountMeanSketch,
    HadamardCountMeanSketch,
)
MECHANISMS: dict[str, type[Mechanism]] = {kind.name: kind for kind in (*_CHOSEN_FROM, *_BY_NAME_ONLY)}
"""The mechanisms of the library by name."""

# The mechanisms for plans with `once`. Of two equally good ones `auto` takes the earlier.
CHAINS: dict[str, type[Chain]] = {
    kind.name: kind
    for kind in (
        RandomizedResponseTwice,
        OptimizedThenSymmetric,
        SymmetricThenOptimized,
        SymmetricTwice,
        OptimizedTwice,
    )
}
"""The mechanisms for plans with `once`, by name."""

BUCKET_CHAINS: dict[str, type[Chain]] = {kind.name: kind for kind in (LinearHashingTwice,)}
"""Chains whose reports tell which device they come from, by name. `auto` never takes them, and browsers have none."""

SET_MECHANISMS: dict[str, type[SetMechanism]] = {kind.name: kind for kind in (PrivSet,)}
"""The mechanisms that only plans with `set_size` have, by name."""

ORDERED_MECHANISMS: dict[str, type[SquareWave]] = {SquareWave.name: SquareWave}
"""The mechanisms that only plans with ordered answers have, by name."""

_IMPURE = {
    "rappor": "Bloom-filter RAPPOR (basic RAPPOR, without the filter, is 'sue')",
    "bloom-rappor": "Bloom-filter RAPPOR (basic RAPPOR, without the filter, is 'sue')",
}

_Kind = TypeVar("_Kind", bound=type[Mechanism])
_REGISTRY: Registry[Mechanism] = Registry(
    Mechanism, {*MECHANISMS, *CHAINS, *BUCKET_CHAINS, *SET_MECHANISMS, *ORDERED_MECHANISMS, *_IMPURE, "auto"}
)


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
    for known in (MECHANISMS, CHAINS, BUCKET_CHAINS, SET_MECHANISMS, ORDERED_MECHANISMS, _REGISTRY):
        kind: type[Mechanism] | None = known.get(name)
        if kind is not None:
            return kind
    return None


def offered(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The names to compare in tables, of mechanisms with these options: `once`, `set_size`, `ordered`, or none.

    Without `dbit`, whose accuracy depends on the number of its answers, and those that `auto` never takes but `olh` and
    `blh`.
    """
    if "once" in options:
        return tuple(CHAINS)
    compared: tuple[type[Mechanism], ...] = (*_CHOSEN_FROM[:-1], BinaryLocalHashing, OptimizedLocalHashing)
    more = (*(SET_MECHANISMS if "set_size" in options else ()), *(ORDERED_MECHANISMS if "ordered" in options else ()))
    return (*(kind.name for kind in compared), *more)


def create(
    name: str,
    size: int,
    epsilon: float,
    *,
    once: float | None = None,
    answers: int | None = None,
    set_size: int | None = None,
    ordered: int | None = None,
) -> Choice:
    """The mechanism with this name; "auto" chooses the best one for the number of items and the epsilon.

    With `once`, the budget of one report alone, it is one of the `CHAINS`; `grr`, `sue` and `oue` then stand for the
    chains that use them twice. `answers` is for `dbit` only. With `set_size`, every user holds a set of items. With
    `ordered`, so many of the items have an order, and the others come after them.

    >>> create("oue", size=100, epsilon=1.0).mechanism
    <oue on 100 items, epsilon 1, 100-bit reports>
    >>> create("auto", size=100, epsilon=2.0, once=0.5).mechanism.name
    'oue+sue'
    """
    given: object = name
    if not isinstance(given, str):
        hint = f". Did you mean epsilon={name!r}?" if isinstance(given, Real) else ""
        if isinstance(given, type) and issubclass(given, Mechanism):
            hint = f": register the class with localdp.mechanisms.register, then give its name, {given.name!r:.60}"
        raise UnknownMechanismError(f"a mechanism is given by its name, such as 'auto' or 'llh', not by {name!r}{hint}")
    if answers is not None and name != "dbit":
        raise InvalidInputError(f"only dbit takes a number of answers, and {name!r:.60} does not: leave out answers")
    kind = kind_named(name)
    if set_size is not None and (once is not None or (kind is not None and not kind.takes_sets)):
        raise InvalidInputError(
            "set_size goes neither with once nor with dbit, cms and hcms: leave out one of them, or take auto"
        )
    if once is not None:
        return _chain(name, size, epsilon, once)
    if name == "auto":
        if ordered is not None:
            return choose_ordered(_CHOSEN_FROM, size, epsilon, ordered)
        if set_size is None:
            return choose(_CHOSEN_FROM, size, epsilon)
        sampling = (kind for kind in _CHOSEN_FROM if kind.takes_sets)
        whole = (kind for kind in SET_MECHANISMS.values() if _takes(kind, set_size))
        return choose(_for_sets((*sampling, *whole), set_size), size, epsilon)
    if name in _IMPURE:
        raise ImpureMechanismError.of(_IMPURE[name])
    if name in CHAINS or name in BUCKET_CHAINS:
        raise EpsilonError(
            f"{name} perturbs a permanent response once more for each report: give once, the budget of one report, "
            "besides epsilon, the budget of all reports together"
        )
    if name in SET_MECHANISMS and set_size is None:
        raise InvalidInputError(
            f"{name} is for users who hold sets: give set_size, the number of items that most users hold at most"
        )
    if name in ORDERED_MECHANISMS:
        if ordered is None:
            raise InvalidInputError(f"{name} is for answers that have an order: ask for a Scale, as in Scale(0, 100)")
        check_cells(size)
        mechanism: Mechanism = ORDERED_MECHANISMS[name](size, epsilon, ordered=ordered)
        return Choice(mechanism, (mechanism,), f"{name} was asked for by name")
    if kind is None:
        known = (MECHANISMS, CHAINS, SET_MECHANISMS, ORDERED_MECHANISMS, _REGISTRY)
        raise _unknown(name, [*(one for names in known for one in sorted(names)), "auto"])
    options = {} if answers is None else {"answers": answers}
    make = kind if set_size is None else _for_sets((kind,), set_size)[0]
    mechanism = make(size, epsilon, **options)
    return Choice(mechanism, (mechanism,), f"{name} was asked for by name")


def _for_sets(kinds: tuple[type[Mechanism], ...], set_size: int) -> tuple[Make, ...]:
    """What makes these mechanisms for users who hold sets."""
    return tuple(
        partial(kind, set_size=set_size)
        if issubclass(kind, SetMechanism)
        else partial(PaddingAndSampling, set_size=set_size, kind=kind)
        for kind in kinds
    )


def _takes(kind: type[SetMechanism], set_size: int) -> bool:
    """Whether a mechanism can be made for sets of this size. What is not a size at all is refused elsewhere."""
    return not isinstance(set_size, int) or set_size <= kind.most_elements


def _chain(name: str, size: int, epsilon: float, once: float) -> Choice:
    """The chain with this name, or the best one, for a plan with `once`."""
    checked_once(once, checked_epsilon(epsilon))
    if name == "auto":
        return choose(tuple(CHAINS.values()), size, epsilon, once)
    chains = CHAINS | BUCKET_CHAINS
    full = name if name in chains else f"{name}+{name}"
    if full not in chains or (full in BUCKET_CHAINS and name != full):  # its reports can be linked: by its full name
        if name in MECHANISMS or name in ORDERED_MECHANISMS:
            raise InvalidInputError(
                f"{name} has no second perturbation, which once needs: take auto or one of {', '.join(sorted(CHAINS))}"
            )
        raise _unknown(name, [*sorted(CHAINS), "auto"])
    mechanism = chains[full](size, epsilon, once=once)
    return Choice(mechanism, (mechanism,), f"{full} was asked for by name")


def _unknown(name: str, known: list[str]) -> UnknownMechanismError:
    """The error for a name that no mechanism has."""
    from difflib import get_close_matches  # a device never needs it

    close = get_close_matches(name[:20].lower(), known, n=1)  # a plan from elsewhere may have a name of megabytes
    hint = f"did you mean {close[0]!r}? " if close else ""
    return UnknownMechanismError(
        f"there is no mechanism {name!r:.60}; {hint}there are {', '.join(known)}. A mechanism of your own must be "
        "registered first: localdp.mechanisms.register(YourClass)"
    )
