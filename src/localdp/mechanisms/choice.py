"""Which mechanism to use for a domain and a budget, and why."""

from __future__ import annotations

from dataclasses import dataclass

from localdp.errors import EpsilonError, ImpureMechanismError, LocalDPError
from localdp.mechanisms.base import Mechanism

TOLERATED_VARIANCE = 1.1  # nobody sees 5% more standard error; everybody sees a thousandfold report


@dataclass(frozen=True)
class Choice:
    """The mechanism chosen, the candidates it was chosen from (least variance first), and the reason in words."""

    mechanism: Mechanism
    candidates: tuple[Mechanism, ...]
    why: str


def choose(kinds: tuple[type[Mechanism], ...], size: int, epsilon: float) -> Choice:
    """Of the mechanisms within 10% of the least variance, the one with the shortest report.

    Where two tie, the earlier in the list wins: the list is ordered by the cost of counting.
    """
    candidates: list[Mechanism] = []
    refused: LocalDPError | None = None
    for kind in kinds:
        try:
            candidates.append(kind(size, epsilon))
        except (ImpureMechanismError, EpsilonError) as error:
            refused = error
    if refused and not candidates:
        raise refused
    candidates.sort(key=lambda mechanism: mechanism.variance(1))
    least = candidates[0].variance(1)
    close = [mechanism for mechanism in candidates if mechanism.variance(1) <= TOLERATED_VARIANCE * least]
    chosen = min(close, key=lambda mechanism: (mechanism.report_bits, kinds.index(type(mechanism))))
    return Choice(chosen, tuple(candidates), _reason(chosen, candidates, close))


def _reason(chosen: Mechanism, candidates: list[Mechanism], close: list[Mechanism]) -> str:
    best = candidates[0]
    relative = chosen.variance(1) / best.variance(1)
    accuracy = "the least variance" if chosen is best else f"{relative:.3f} times the least variance ({best.name}'s)"
    others = [f"{other.name} {other.report_bits}" for other in close if other is not chosen]
    beaten = f"; as accurate within 10%, but longer or costlier to count: {', '.join(others)} bits" if others else ""
    return (
        f"{chosen.name} has {accuracy} on {chosen.size} items at epsilon {chosen.requested_epsilon:g}, "
        f"with a report of {chosen.report_bits} bits{beaten}"
    )
