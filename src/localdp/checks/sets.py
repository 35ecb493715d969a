"""Check what a device tells whose user holds a set of items: padding, drawing an element, and the report together.

All sets of a small domain are run on every possible random input, also the empty one and those beyond `set_size`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from localdp.checks.failure import require
from localdp.checks.instances import Kind
from localdp.checks.privacy import LONGEST_TAPE, narrower
from localdp.checks.tapes import Law, Path, laws_of
from localdp.errors import LocalDPError
from localdp.formats import bitstrings
from localdp.item_sets import ItemSets
from localdp.mechanisms import Mechanism, PaddingAndSampling, SetMechanism
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Indices, Rows

_WIDEST = 6  # bits of a probability
_CASES = ((2, 1), (2, 2), (3, 2), (3, 3))  # items, and the size that sets are padded to
_EPSILONS = (0.5, 2.0)

Held = tuple[int, ...]


def check_sets(kind: Kind, seed: int = 0) -> None:  # noqa: ARG001 (nothing here is random)
    """Reports of any two sets must stay within epsilon of each other, and support each item as p* and q* say.

    Catches an element that is drawn too often, padding that gives short sets away, randomness that depends on the set,
    and amplification where there is none. Mechanisms that perturb a permanent response, or that
    are not pure, do not take sets.
    """
    if kind.perturbs_again or kind.p is Mechanism.p or not kind.takes_sets:
        return
    tried = 0
    for mechanism in _instances(kind):
        sets = [held for size in range(mechanism.size + 1) for held in combinations(range(mechanism.size), size)]
        _require_private(mechanism, sets, laws_of(path_of(mechanism, sets), sets, mechanism, "the set"))
        tried += 1
    require(
        tried > 0,
        f"{kind.name} reads too many random bits to try every input for sets; expected at most {LONGEST_TAPE} bits for "
        f"one report, at some width up to {_WIDEST}",
    )


def path_of(mechanism: SetMechanism, sets: list[Held]) -> Path:
    """The whole path of a device: the place of a set in a list -> report."""

    def randomize(places: Indices, source: Entropy) -> Rows:
        return mechanism.randomize_sets(repeated(sets[places[0]], places.size), source)

    return Path(mechanism.width, randomize)


def repeated(held: Held, users: int) -> ItemSets:
    """Many users who hold the same set."""
    return ItemSets(np.tile(np.array(held, np.int64), users), np.full(users, len(held), np.int64))


def _instances(kind: Kind) -> Iterator[SetMechanism]:
    """The mechanism for sets on small domains, each at the largest width at which all random inputs can be tried."""
    for size, set_size in _CASES:
        for epsilon in _EPSILONS:
            try:
                mechanism = _made(kind, size, epsilon, set_size)
            except LocalDPError:
                continue  # it is not offered here
            narrow = next(narrower(mechanism, _WIDEST, LONGEST_TAPE), None)
            if isinstance(narrow, SetMechanism):
                yield narrow


def _made(kind: Kind, size: int, epsilon: float, set_size: int) -> SetMechanism:
    """A mechanism for sets: the one that is checked, or padding and sampling with it."""
    if issubclass(kind, SetMechanism):
        return kind(size, epsilon, set_size=set_size)
    return PaddingAndSampling(size, epsilon, set_size=set_size, kind=kind)


def _require_private(mechanism: SetMechanism, sets: list[Held], laws: list[Law]) -> None:
    """The probabilities are those that are stated, their ratios stay within epsilon, and every item is supported."""
    channel = mechanism.channel_of(sets)
    reports = bitstrings.to_integers(channel.reports).tolist()
    for held, law, stated in zip(sets, laws, channel.probabilities, strict=True):
        found = law.probabilities
        wrong = next((k for k, p in zip(reports, stated, strict=True) if found.get(k, 0) != p), None)
        require(
            wrong is None,
            f"{mechanism!r} sends the report {wrong} for the set {held} with another probability, over all random "
            f"inputs at {mechanism.width} bits, than channel_of() states",
        )
        for item in range(mechanism.size):
            supporting = mechanism.supports(channel.reports, item)
            chance = sum(p for p, yes in zip(stated, supporting, strict=True) if yes)
            expected = mechanism.p if item in held else mechanism.q
            require(
                chance == expected or not mechanism.exactly_pure or len(held) > mechanism.set_size,
                f"{mechanism!r}: reports of the set {held} support item {item} with probability {chance}; expected "
                f"{expected}",
            )
    require(
        channel.ratio <= mechanism.ratio <= thresholds.exp_below(mechanism.requested_epsilon),
        f"{mechanism!r} leaks: it was made for epsilon {mechanism.requested_epsilon} and states {mechanism.epsilon}, "
        f"and over all sets its reports have epsilon {thresholds.log(channel.ratio)}",
    )
