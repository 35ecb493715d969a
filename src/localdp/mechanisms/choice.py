"""Which mechanism "auto" takes for a domain and a budget, and why.

It takes the one with the least noise, unless another is almost as accurate and has much shorter reports. Noise is
compared by the variance of an estimate, and each byte of a report counts as 0.1% more variance. Where users hold sets,
a byte counts as 0.01%, because the mechanisms then differ by whole factors and not by a few per cent. Where one report
has a budget of its own (`once`), it takes the least variance, whatever the length of a report is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from localdp.errors import EpsilonError, ImpureMechanismError, LocalDPError
from localdp.mechanisms.base import Mechanism
from localdp.validation import checked_epsilon

Make = Callable[..., Mechanism]
"""What makes a mechanism from a number of items, an epsilon and options: a class, or one with some options set."""

LONGEST_REPORT = 4_096
"""Bytes of a report that devices send, unless they allow more."""
PRICE_OF_A_BYTE = 0.001  # 0.1% more variance goes unnoticed; 5,000 bytes for each report do not
PRICE_FOR_SETS = 0.0001  # 3,000 bytes for each report are worth it if otherwise three times as many users are needed


@dataclass(frozen=True)
class Choice:
    """The chosen mechanism, the candidates it was chosen from (least variance first), and the reason in words."""

    mechanism: Mechanism
    candidates: tuple[Mechanism, ...]
    why: str


def choose(kinds: tuple[Make, ...], size: int, epsilon: float, once: float | None = None) -> Choice:
    """The best of these mechanisms, as described above. The first of the list wins a tie: its counting is cheaper."""
    checked_epsilon(epsilon)
    options: dict[str, Any] = {} if once is None else {"once": once}
    candidates, refused = offered_by(kinds, size, epsilon, options)
    if refused and not candidates:
        raise EpsilonError(f"no mechanism can be made at epsilon {epsilon:g}: {refused}") from refused
    chosen = min(candidates, key=_price if once is None else _variance)
    candidates.sort(key=_variance)
    return Choice(chosen, tuple(candidates), _reason(chosen, candidates) + _too_long(chosen))


def offered_by(
    kinds: tuple[Make, ...], size: int, epsilon: float, options: dict[str, Any]
) -> tuple[list[Mechanism], LocalDPError | None]:
    """Those of these mechanisms that can be made, and why the last one of the others cannot."""
    found: list[Mechanism] = []
    refused: LocalDPError | None = None
    for kind in kinds:
        try:
            found.append(kind(size, epsilon, **options))
        except (ImpureMechanismError, EpsilonError) as error:
            refused = error
    return found, refused


def _variance(mechanism: Mechanism) -> float:
    """The variance for each user."""
    return mechanism.variance(1)


def _price(mechanism: Mechanism) -> float:
    """variance * (1 + price of a byte * bytes of a report)."""
    price = PRICE_FOR_SETS if mechanism.holds_sets else PRICE_OF_A_BYTE
    return mechanism.variance(1) * (1 + price * mechanism.report_bytes)


def _reason(chosen: Mechanism, candidates: list[Mechanism]) -> str:
    """Why it was chosen, as "llh: ..." without a full stop, so that it can stand alone or after "Take"."""
    best, length = candidates[0], _bytes(chosen)
    where = f"for {chosen.size:,} items at epsilon {chosen.requested_epsilon:g}"
    if "once" in chosen.options():
        where += f" and {chosen.requested_once:g} for one report"
    if chosen.holds_sets:
        where += f" and sets of up to {chosen.options()['set_size']}"
    if chosen is best:
        return f"{chosen.name}: the least noisy mechanism {where}, with reports of {length}"
    more = chosen.variance(1) / best.variance(1) - 1
    accuracy = f"{more:.1%} noisier than the best" if more >= 0.0005 else "as accurate as the best"
    smaller = best.report_bytes / chosen.report_bytes
    times = f"{smaller:,.0f}" if smaller >= 10 else f"{smaller:.2g}"
    return (
        f"{chosen.name}: {accuracy} ({best.name}) {where}, and its reports are {times} times smaller "
        f"({length}, not {best.report_bytes:,})"
    )


def _too_long(mechanism: Mechanism) -> str:
    """What to say of reports that devices refuse unless they are told otherwise."""
    if mechanism.report_bytes <= LONGEST_REPORT:
        return ""
    return (
        f"; devices refuse reports of more than {LONGEST_REPORT:,} bytes unless they are made with "
        f"most_report_bytes={mechanism.report_bytes}"
    )


def _bytes(mechanism: Mechanism) -> str:
    return "1 byte" if mechanism.report_bytes == 1 else f"{mechanism.report_bytes:,} bytes"
