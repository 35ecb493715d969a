"""Exact checks of privacy: every tape at a small width, every stated number at 64 bits."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from localdp.checks.failure import require
from localdp.checks.instances import EPSILONS, SMALL_SIZES, Kind, instances
from localdp.checks.tapes import Law, bits_read
from localdp.errors import LocalDPError
from localdp.formats import bitstrings
from localdp.mechanisms import Mechanism
from localdp.randomness import thresholds

LONGEST_TAPE = 18
_WIDEST = 10


def check_exact_privacy(kind: Kind, seed: int = 0) -> None:  # noqa: ARG001 (nothing here is random)
    """Over all tapes: no ratio above e^epsilon, the stated one reached, and the stated channel, p* and q*."""
    rejects = redrawn = False
    for mechanism in _enumerable(kind):
        length = bits_read(mechanism)
        laws = [Law(mechanism, value, length) for value in range(mechanism.size)]
        probabilities = [law.probabilities for law in laws]
        _require_ratio(mechanism, probabilities)
        _require_channel(mechanism, probabilities)
        if mechanism.exactly_pure:
            _require_purity(mechanism, probabilities)
        require(
            all(np.array_equal(law.read, laws[0].read) for law in laws),
            f"{mechanism!r} reads a different number of bits for different values",
        )
        if (laws[0].read > length).any():
            rejects = True
            redrawn |= _require_same_law_when_redrawn(mechanism)
    require(redrawn or not rejects, f"{kind.name} rejects draws, and reads too many bits to try every redraw")


def check_stated_privacy(kind: Kind, seed: int = 0) -> None:  # noqa: ARG001 (nothing here is random)
    """At 64 bits, on small and large domains: the stated ratio is at most e^epsilon and next to it, p* above q*."""
    sizes = (*SMALL_SIZES, 16, 65, 130, 1000, 50_000)
    for mechanism in instances(kind, sizes, epsilons=(1e-3, 0.1, *EPSILONS, 16.0)):
        asked = mechanism.requested_epsilon
        require(mechanism.p > mechanism.q, f"{mechanism!r} supports the held item no more than others")
        require(
            mechanism.ratio <= thresholds.exp_below(asked),
            f"{mechanism!r} was asked for epsilon {asked} and states {mechanism.epsilon}",
        )
        require(
            mechanism.epsilon > 0.999 * asked,
            f"{mechanism!r} was asked for epsilon {asked} and spends only {mechanism.epsilon}",
        )


def _enumerable(kind: Kind) -> Iterator[Mechanism]:
    """Each instance at the largest width whose tapes can all be tried; every size must have one."""
    covered = set()
    for mechanism in instances(kind):
        narrow = next(_narrower(mechanism, _WIDEST, LONGEST_TAPE), None)
        if narrow:
            covered.add(mechanism.size)
            yield narrow
    missed = set(SMALL_SIZES) - covered
    require(not missed, f"{kind.name} reads too many bits to try every tape on {missed} items")


def _narrower(mechanism: Mechanism, widest: int, longest: int) -> Iterator[Mechanism]:
    """The mechanism at every width up to `widest` where it can be made and reads at most `longest` bits."""
    for width in range(widest, 0, -1):
        try:
            narrow = mechanism.at_width(width)
            if bits_read(narrow) <= longest:
                yield narrow
        except LocalDPError:
            continue


def _require_same_law_when_redrawn(mechanism: Mechanism) -> bool:
    """Where draws are rejected: tapes with room for one redraw give the same law. Whether there is such a width."""
    for narrow in _narrower(mechanism, mechanism.width, LONGEST_TAPE):
        length = bits_read(narrow)
        if length + narrow.width > LONGEST_TAPE:
            continue
        pairs = [[Law(narrow, value, length + room) for room in (0, narrow.width)] for value in range(narrow.size)]
        if (pairs[0][0].read > length).any():
            require(
                all(short.probabilities == longer.probabilities for short, longer in pairs),
                f"{narrow!r} has another law when a rejected draw is drawn again",
            )
            return True
    return False


def _require_ratio(mechanism: Mechanism, probabilities: list[dict[int, Fraction]]) -> None:
    reports = set().union(*probabilities)
    require(
        all(set(law) == reports for law in probabilities),
        f"{mechanism!r} sends a report under one value that it never sends under another: no epsilon at all",
    )
    columns = ([law[report] for law in probabilities] for report in reports)
    ratio = max(max(column) / min(column) for column in columns)
    require(
        ratio <= thresholds.exp_below(mechanism.requested_epsilon),
        f"{mechanism!r} was asked for epsilon {mechanism.requested_epsilon} and realises {thresholds.log(ratio)}",
    )
    require(
        ratio == mechanism.ratio,
        f"{mechanism!r} states epsilon {mechanism.epsilon} and realises {thresholds.log(ratio)}",
    )


def _require_channel(mechanism: Mechanism, probabilities: list[dict[int, Fraction]]) -> None:
    channel = mechanism.channel()
    reports = bitstrings.to_integers(channel.reports).tolist()
    for value, (stated, found) in enumerate(zip(channel.probabilities, probabilities, strict=True)):
        require(
            dict(zip(reports, stated, strict=True)) == found,
            f"the channel of {mechanism!r} is not what it does with value {value}",
        )
    require(channel.ratio == mechanism.ratio, f"the channel of {mechanism!r} has another ratio than it states")


def _require_purity(mechanism: Mechanism, probabilities: list[dict[int, Fraction]]) -> None:
    for item in range(mechanism.size):
        for value, law in enumerate(probabilities):
            rows = bitstrings.from_integers(np.array(list(law), np.uint64), mechanism.report_bits)
            supporting = mechanism.supports(rows, item)
            found = sum((p for p, held in zip(law.values(), supporting, strict=True) if held), Fraction(0))
            require(
                found == (mechanism.p if item == value else mechanism.q),
                f"{mechanism!r} is not pure with its p* and q*: a holder of {value} supports {item} with "
                f"probability {found}",
            )
