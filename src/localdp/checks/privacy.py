"""Exact checks of privacy: every possible random input at a small width, and the stated epsilon at 64 bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from localdp.checks.failure import CheckFailure, require
from localdp.checks.instances import EPSILONS, SMALL_SIZES, Kind, instances
from localdp.checks.tapes import Law, Path, bits_read, laws_of
from localdp.errors import LocalDPError
from localdp.formats import bitstrings
from localdp.mechanisms import Mechanism
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Indices, Rows

LONGEST_TAPE = 18  # bits: 2^18 runs for each value take well under a second
_WIDEST = 10  # bits of a probability
_WIDEST_PATH = 6  # the same, for whole devices, of which more inputs are tried


def check_exact_privacy(kind: Kind, seed: int = 0) -> None:  # noqa: ARG001 (nothing here is random)
    """Run every possible random input: the probabilities must be private and equal to the stated ones, as fractions.

    Catches errors in the sampling code however small they are: a bias, a wrong rounding, swapped probabilities, a wrong
    `ratio`, `channel`, `p` or `q`.
    """
    rejects = redrawn = False
    # Two perturbations read too many bits on larger domains; `check_asking_again` tries them one after the other.
    sizes = SMALL_SIZES[:2] if kind.perturbs_again else SMALL_SIZES
    for mechanism in _enumerable(kind, sizes):
        laws = laws_of(mechanism, range(mechanism.size), mechanism, "value")
        probabilities = [law.probabilities for law in laws]
        require_ratio(mechanism, probabilities)
        require_channel(mechanism, probabilities)
        if mechanism.exactly_pure:
            require_purity(mechanism, probabilities)
        if (laws[0].read > bits_read(mechanism)).any():
            rejects = True
            redrawn |= _require_same_law_when_redrawn(mechanism)
    require(
        redrawn or not rejects,
        f"{kind.name} rejects some draws and draws again, but reads too many random bits to try every second draw; "
        f"expected at most {LONGEST_TAPE} bits with one draw repeated, at some width",
    )


def check_stated_privacy(kind: Kind, seed: int = 0) -> None:  # noqa: ARG001 (nothing here is random)
    """At 64 bits, on small and large domains: the stated epsilon must be at most the requested one, and close to it.

    Catches thresholds that are rounded the wrong way, overflow at large sizes, and a budget that is not used up.
    """
    sizes = (*SMALL_SIZES, 16, 65, 130, 1000, 50_000)
    for mechanism in instances(kind, sizes, epsilons=(1e-3, 0.1, *EPSILONS, 16.0)):
        for what, asked, ratio, stated in (
            ("epsilon", mechanism.requested_epsilon, mechanism.ratio, mechanism.epsilon),
            ("once", mechanism.requested_once, mechanism.ratio_once, mechanism.epsilon_once),
        ):
            require(
                ratio <= thresholds.exp_below(asked),
                f"{mechanism!r} was made for {what} {asked} and states {what} {stated}; expected at most {asked}: "
                "round thresholds toward more noise",
            )
            require(
                stated > 0.999 * asked,
                f"{mechanism!r} was made for {what} {asked} and states {what} {stated}; expected at least 99.9% of it, "
                "since the rest is accuracy lost for nothing",
            )


def _enumerable(kind: Kind, sizes: tuple[int, ...]) -> Iterator[Mechanism]:
    """Each instance at the largest width at which all random inputs can be tried; at least one for every size."""
    covered = set()
    for mechanism in instances(kind, sizes):
        narrow = next(narrower(mechanism, _WIDEST, LONGEST_TAPE), None)
        if narrow:
            covered.add(mechanism.size)
            yield narrow
    missed = set(sizes) - covered
    require(
        not missed,
        f"{kind.name} reads too many random bits on domains of {sorted(missed)} items to try every input; expected at "
        f"most {LONGEST_TAPE} bits for one report, at some width up to {_WIDEST}: draw fewer bits where self.width is "
        "small",
    )


def narrower(
    mechanism: Mechanism, widest: int, longest: int, bits: Callable[[Mechanism], int] = bits_read
) -> Iterator[Mechanism]:
    """The mechanism at every width, from `widest` down, at which it can be made and reads at most `longest` bits."""
    for width in range(widest, 0, -1):
        try:
            narrow = mechanism.at_width(width)
            if bits(narrow) <= longest:
                yield narrow
        except LocalDPError:
            continue


def _require_same_law_when_redrawn(mechanism: Mechanism) -> bool:
    """Check that rejected draws are repeated without bias: tapes with room for one more draw give the same law.

    Returns whether there is a width at which such tapes can all be tried.
    """
    for narrow in narrower(mechanism, mechanism.width, LONGEST_TAPE):
        length = bits_read(narrow)
        if length + narrow.width > LONGEST_TAPE:
            continue
        pairs = [[Law(narrow, value, length + room) for room in (0, narrow.width)] for value in range(narrow.size)]
        if (pairs[0][0].read > length).any():
            for value, (short, longer) in enumerate(pairs):
                require(
                    short.probabilities == longer.probabilities,
                    f"{narrow!r} at {narrow.width} bits: after a rejected draw is drawn again, the reports for value "
                    f"{value} have other probabilities than at the first draw; expected the same",
                )
            return True
    return False


def require_ratio(mechanism: Mechanism, probabilities: list[dict[int, Fraction]]) -> None:
    """The largest ratio of two probabilities of one report is the stated one, and at most e^epsilon."""
    reports = set().union(*probabilities)
    for value, law in enumerate(probabilities):
        missing = reports - set(law)
        require(
            not missing,
            f"{mechanism!r} never sends the report {min(missing, default=0):#x} for value {value}, but does for "
            "another value; expected every report to be possible for every value, otherwise epsilon is infinite",
        )
    columns = ([law[report] for law in probabilities] for report in reports)
    ratio = max(max(column) / min(column) for column in columns)
    require(
        ratio <= thresholds.exp_below(mechanism.requested_once),
        f"{mechanism!r} leaks: it was made for epsilon {mechanism.requested_once}, and over all random inputs at "
        f"{mechanism.width} bits its reports have epsilon {thresholds.log(ratio)}",
    )
    require(
        ratio == mechanism.ratio_once,
        f"{mechanism!r} states epsilon {mechanism.epsilon_once}, but over all random inputs at {mechanism.width} bits "
        f"its reports have epsilon {thresholds.log(ratio)}; expected them to be equal",
    )


def require_channel(mechanism: Mechanism, probabilities: list[dict[int, Fraction]]) -> None:
    """The stated channel is what the code does."""
    channel = mechanism.channel()
    reports = bitstrings.to_integers(channel.reports).tolist()
    for value, (stated, found) in enumerate(zip(channel.probabilities, probabilities, strict=True)):
        listed = dict(zip(reports, stated, strict=True))
        wrong = next((report for report in found if listed.get(report) != found[report]), None)
        if wrong is not None:
            require(
                False,
                f"{mechanism!r} sends report {wrong:#x} for value {value} with probability {found[wrong]} over all "
                f"random inputs at {mechanism.width} bits; its channel() states {listed.get(wrong, 'no such report')}",
            )
        never = set(listed) - set(found)
        require(
            not never,
            f"{mechanism!r} lists the report {min(never, default=0):#x} in channel(), but over all random inputs at "
            f"{mechanism.width} bits never sends it for value {value}",
        )
    require(
        channel.ratio == mechanism.ratio_once,
        f"{mechanism!r} states a ratio of {float(mechanism.ratio_once)}, but its channel() has {float(channel.ratio)}; "
        "expected them to be equal",
    )


def require_purity(mechanism: Mechanism, probabilities: list[dict[int, Fraction]]) -> None:
    """Every item is supported with exactly the stated p* or q*, or every outcome has exactly its stated chance."""
    for item in range(mechanism.outcomes):
        for value, law in enumerate(probabilities):
            rows = bitstrings.from_integers(np.array(list(law), np.uint64), mechanism.report_bits)
            supporting = mechanism.supports(rows, item)
            found = sum((p for p, held in zip(law.values(), supporting, strict=True) if held), Fraction(0))
            stated = mechanism.chance(value, item)
            name = ("p" if item == value else "q") if mechanism.pure else "chance()"
            require(
                found == stated,
                f"{mechanism!r} is not pure as stated: the reports of value {value} support item {item} with "
                f"probability {found} over all random inputs at {mechanism.width} bits; {name} states {stated}",
            )


def require_private_path(
    subject: object,
    mechanism: Mechanism,
    inputs: Sequence[object],
    randomize: Callable[[Mechanism, Indices, Entropy], Rows],
    epsilon: float,
    what: str,
) -> None:
    """Run every random input of a whole device for each of these inputs: its reports must stay within epsilon.

    `randomize` makes reports of the input at a place of the list, with a narrower mechanism than the device has.
    """
    narrow = next(narrower(mechanism, _WIDEST_PATH, LONGEST_TAPE), None)
    if narrow is None:
        raise CheckFailure(f"{subject!r} reads too many random bits to try every input")
    path = Path(narrow.width, partial(randomize, narrow))
    probabilities = [law.probabilities for law in laws_of(path, inputs, subject, what)]
    reports = set().union(*probabilities)
    missing = [given for given, law in zip(inputs, probabilities, strict=True) if reports - set(law)]
    require(not missing, f"{subject!r}: it sends reports that it never sends for {what} {missing[:1]}")
    columns = [[law[report] for law in probabilities] for report in reports]
    worst = max(max(column) / min(column) for column in columns)
    require(
        worst <= thresholds.exp_below(epsilon),
        f"{subject!r} leaks: its reports have epsilon {thresholds.log(worst)}, and {epsilon} was asked for",
    )
