"""The instances of a mechanism that the checks run on."""

from __future__ import annotations

from collections.abc import Iterator

from localdp.checks.failure import require
from localdp.errors import ImpureMechanismError
from localdp.mechanisms import Mechanism

SMALL_SIZES = (2, 3, 4, 5)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
FALSE_ALARMS = 1e-6
"""How often a whole statistical check fails by chance on a correct mechanism."""

Kind = type[Mechanism]


def instances(
    kind: Kind, sizes: tuple[int, ...] = SMALL_SIZES, epsilons: tuple[float, ...] = EPSILONS
) -> Iterator[Mechanism]:
    """The mechanism on domains of these sizes, at every epsilon where it is offered; it must be offered somewhere."""
    offered = False
    for size in sizes:
        for epsilon in epsilons:
            try:
                mechanism = kind(size, epsilon)
            except ImpureMechanismError:
                continue
            offered = True
            yield mechanism
    require(offered, f"{kind.name} is offered at none of the epsilons {epsilons}")


def telling_values(mechanism: Mechanism) -> list[int]:
    """All values of a small domain; of a large one, those at the edges of bytes and words."""
    edges = range(mechanism.size) if mechanism.size <= 9 else (0, 1, 7, 8, 63, 64, mechanism.size - 1)
    return sorted({value for value in edges if value < mechanism.size})
