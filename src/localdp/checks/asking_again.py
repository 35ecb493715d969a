"""Check what a device tells that is asked again: its permanent response, one report, and several reports together.

The two perturbations are run on every possible random input, one after the other. This gives the exact probabilities
Pr(s | x) of each permanent response and Pr(r | s) of each report from it, and so those of k reports together,
which are the sum over s of Pr(s | x) Pr(r_1 | s) .. Pr(r_k | s).
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.checks.failure import require
from localdp.checks.instances import SMALL_SIZES, Kind, instances
from localdp.checks.privacy import LONGEST_TAPE, narrower, require_channel, require_purity, require_ratio
from localdp.checks.tapes import Path, bits_read, laws_of
from localdp.errors import WireError
from localdp.formats import bitstrings
from localdp.mechanisms import Mechanism
from localdp.randomness import thresholds
from localdp.randomness.keystream import secure, seeded
from localdp.types import Rows

_WIDEST = 6  # bits of a probability
_MOST_REPORTS = 3  # of one device, together
_LARGEST_JOINT = 1 << 12  # lists of reports, for each value
_USERS = 500

Probabilities = list[dict[int, Fraction]]
"""For each input, the probability of each row, given as an integer."""


def check_asking_again(kind: Kind, seed: int = 0) -> None:
    """The permanent response and all reports made from it must stay within epsilon, and one report within `once`.

    Catches a second perturbation that is too weak or depends on the value, wrong `ratio` and `ratio_once`, a permanent
    response that changes although its stream is the same, and a mechanism that reports something else than what it
    keeps.
    """
    for mechanism in instances(kind, sizes=(*SMALL_SIZES, 130)):
        _require_kept(mechanism, seed)
    if not kind.perturbs_again:
        return
    covered = set()
    for mechanism in instances(kind):
        narrow = next(narrower(mechanism, _WIDEST, LONGEST_TAPE, _bits_of_both), None)
        if narrow:
            covered.add(mechanism.size)
            _require_private(narrow)
    missed = set(SMALL_SIZES) - covered
    require(
        not missed,
        f"{kind.name} reads too many random bits on domains of {sorted(missed)} items to try every input of its two "
        f"perturbations; expected at most {LONGEST_TAPE} bits for each, at some width up to {_WIDEST}",
    )


def _require_kept(mechanism: Mechanism, seed: int) -> None:
    """The same stream gives the same permanent response, and reports from it are new only where they should be."""
    values = np.arange(_USERS) % mechanism.size
    one, other = (mechanism.permanent(values, seeded(seed)) for _ in range(2))
    require(
        np.array_equal(one, other),
        f"{mechanism!r} gives other permanent responses from the same stream; expected the same ones",
    )
    first, second = (mechanism.again(one, secure()) for _ in range(2))
    if mechanism.perturbs_again:
        require(
            not np.array_equal(first, second),
            f"{mechanism!r} makes the same {_USERS} reports twice from its permanent responses; expected a fresh "
            "perturbation for each report",
        )
    else:
        require(
            np.array_equal(first, one),
            f"{mechanism!r} changes its permanent response in a report, although it does not say `perturbs_again`; "
            "expected the report to be the response",
        )
    try:
        mechanism.again(one[:, 1:], secure())
    except WireError:
        return
    require(False, f"{mechanism!r} makes reports from responses that lack a byte; expected a WireError")


def _first(mechanism: Mechanism) -> Path:
    """The first perturbation: value -> permanent response."""
    return Path(mechanism.width, mechanism.randomize_permanent)


def _second(mechanism: Mechanism, responses: Rows) -> Path:
    """The second perturbation: the place of a permanent response in a list -> report."""
    return Path(mechanism.width, lambda places, source: mechanism.randomize_again(responses[places], source))


def _bits_of_both(mechanism: Mechanism) -> int:
    """The random bits that the longer one of the two perturbations reads."""
    some = mechanism.randomize_permanent(np.zeros(1, np.int64), seeded(0))
    return max(bits_read(_first(mechanism)), bits_read(_second(mechanism, some)))


def _require_private(mechanism: Mechanism) -> None:
    """Over all random inputs, the permanent response, one report and several reports are as private as stated."""
    first = [law.probabilities for law in laws_of(_first(mechanism), range(mechanism.size), mechanism, "value")]
    responses = sorted(set().union(*first))
    rows = bitstrings.from_integers(np.array(responses, np.uint64), mechanism.report_bits)
    again = laws_of(_second(mechanism, rows), range(len(responses)), mechanism, "permanent response")
    second = [law.probabilities for law in again]
    reports = sorted(set().union(*second))
    kept, sent = _matrix(first, responses), _matrix(second, reports)
    ratio = _require_within_epsilon(mechanism, kept, "permanent responses")
    require(
        ratio == mechanism.ratio,
        f"{mechanism!r} states epsilon {mechanism.epsilon}, but over all random inputs at {mechanism.width} bits its "
        f"permanent responses have epsilon {thresholds.log(ratio)}; expected them to be equal",
    )
    one = _composed(first, second, responses)
    require_ratio(mechanism, one)
    require_channel(mechanism, one)
    if mechanism.exactly_pure:
        require_purity(mechanism, one)
    together = sent
    for number in range(2, _MOST_REPORTS + 1):
        together = (together[:, :, None] * sent[:, None, :]).reshape(len(responses), -1)
        if together.shape[1] <= _LARGEST_JOINT:
            _require_within_epsilon(mechanism, kept @ together, f"lists of {number} reports from one response")


def _matrix(laws: Probabilities, outcomes: list[int]) -> NDArray[Any]:
    """The probabilities as whole numbers with one common denominator: one row for each input."""
    whole = lcm(*(chance.denominator for law in laws for chance in law.values()))
    return np.array([[int(law.get(outcome, 0) * whole) for outcome in outcomes] for law in laws], object)


def _composed(first: Probabilities, second: Probabilities, responses: list[int]) -> Probabilities:
    """The law of one report for each value."""
    laws: Probabilities = []
    for law in first:
        found: dict[int, Fraction] = {}
        for place, response in enumerate(responses):
            for report, chance in second[place].items():
                found[report] = found.get(report, Fraction(0)) + law.get(response, 0) * chance
        laws.append({report: chance for report, chance in found.items() if chance})
    return laws


def _require_within_epsilon(mechanism: Mechanism, chances: NDArray[Any], what: str) -> Fraction:
    """No outcome is more than e^epsilon times as likely under one value as under another; the largest ratio."""
    possible = chances[:, chances.max(axis=0) > 0]  # reports of one device may have to share a hash function
    least, most = possible.min(axis=0), possible.max(axis=0)
    require(
        least.all(),
        f"{mechanism!r} leaks: over all random inputs at {mechanism.width} bits, some {what} are possible under one "
        "value and impossible under another, so epsilon is infinite",
    )
    ratio = max(Fraction(high, low) for high, low in zip(most.tolist(), least.tolist(), strict=True))
    require(
        ratio <= thresholds.exp_below(mechanism.requested_epsilon),
        f"{mechanism!r} leaks: it was made for epsilon {mechanism.requested_epsilon}, and over all random inputs at "
        f"{mechanism.width} bits its {what} have epsilon {thresholds.log(ratio)}",
    )
    return ratio
