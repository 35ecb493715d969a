"""Which mechanism to use for a domain and a budget, and why."""

from __future__ import annotations

from dataclasses import dataclass

from localdp.errors import EpsilonError, ImpureMechanismError, LocalDPError
from localdp.mechanisms.base import Mechanism
from localdp.validation import checked_epsilon

PRICE_OF_A_BYTE = 0.001  # of the variance: nobody sees that, everybody sees a report of five thousand bytes


@dataclass(frozen=True)
class Choice:
    """The mechanism chosen, the candidates it was chosen from (least variance first), and the reason in words."""

    mechanism: Mechanism
    candidates: tuple[Mechanism, ...]
    why: str


def choose(kinds: tuple[type[Mechanism], ...], size: int, epsilon: float) -> Choice:
    """The least variance, where every byte of the report counts as 0.1% more of it.

    Where two tie, the earlier in the list wins: the list is ordered by the cost of counting.
    """
    checked_epsilon(epsilon)
    candidates: list[Mechanism] = []
    refused: LocalDPError | None = None
    for kind in kinds:
        try:
            candidates.append(kind(size, epsilon))
        except (ImpureMechanismError, EpsilonError) as error:
            refused = error
    if refused and not candidates:
        raise EpsilonError(f"no mechanism can be made at epsilon {epsilon:g}: {refused}") from refused
    chosen = min(candidates, key=_price)
    candidates.sort(key=lambda mechanism: mechanism.variance(1))
    return Choice(chosen, tuple(candidates), _reason(chosen, candidates))


def _price(mechanism: Mechanism) -> float:
    return mechanism.variance(1) * (1 + PRICE_OF_A_BYTE * mechanism.report_bytes)


def _reason(chosen: Mechanism, candidates: list[Mechanism]) -> str:
    best = candidates[0]
    accuracy, length = "the least variance", _bytes(chosen)
    if chosen is not best:
        more = chosen.variance(1) / best.variance(1)
        accuracy = f"{more:.3f} times the least variance, that of {best.name}"
        length += f" instead of {best.report_bytes:,}"
    on = f"on {chosen.size:,} items at epsilon {chosen.requested_epsilon:g}"
    return f"{chosen.name} has {accuracy}, and a report of {length}, {on}"


def _bytes(mechanism: Mechanism) -> str:
    return "1 byte" if mechanism.report_bytes == 1 else f"{mechanism.report_bytes:,} bytes"
