"""The sizes, epsilons and values that the checks try a mechanism on."""

from __future__ import annotations

from collections.abc import Iterator

from localdp.checks.failure import CheckFailure, require
from localdp.errors import EpsilonError, ImpureMechanismError
from localdp.mechanisms import Mechanism

SMALL_SIZES = (2, 3, 4, 5)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
FALSE_ALARMS = 1e-6
"""The probability that a statistical check, over all its instances, fails on a correct mechanism."""

Kind = type[Mechanism]
"""The class that is checked."""


def instances(
    kind: Kind, sizes: tuple[int, ...] = SMALL_SIZES, epsilons: tuple[float, ...] = EPSILONS
) -> Iterator[Mechanism]:
    """The mechanism at these sizes and epsilons, without those where it says that it is not pure; at least one."""
    offered = False
    for size in sizes:
        for epsilon in epsilons:
            try:
                made = list(kind.examples(size, epsilon))
            except ImpureMechanismError:
                continue
            except EpsilonError as error:
                raise CheckFailure(
                    f"{kind.name} cannot be made for {size} items at epsilon {epsilon}: {error}. Expected p* above q*"
                ) from error
            offered = True
            yield from made
    require(
        offered,
        f"{kind.name} cannot be checked: it raises ImpureMechanismError at all of the epsilons {epsilons} with all of "
        f"the sizes {sizes}; expected at least one of them to work",
    )


def telling_values(mechanism: Mechanism) -> list[int]:
    """All values of a small domain; in a large one, values at the edges of bytes and words, where bugs hide."""
    edges = range(mechanism.size) if mechanism.size <= 9 else (0, 1, 7, 8, 63, 64, mechanism.size - 1)
    return sorted({value for value in edges if value < mechanism.size})
