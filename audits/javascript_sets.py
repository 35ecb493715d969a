"""The statistical audit of the JavaScript client where users hold sets: Node makes the reports.

A full set, which needs no padding, is audited beside the empty one, which is nothing but padding. The reports that tell
them apart best support every item of the full set and not the padding: whichever item was drawn, they are e^epsilon
times as likely as under the empty set. (A report of `grr` supports one element only, so there it is any item. Under
`privset` it is any item too, because one common element counts as much as several.)

An empty set, a short one, a full one and a larger one are compared with the exact probabilities of all reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from pathlib import Path

import numpy as np

from audits.javascript import FALSE_ALARMS, FOLDER, NODE, Finding, Mutant, made_by_node, mutated
from localdp.checks import CheckFailure
from localdp.checks.audit import FLOOR, lower_bound
from localdp.checks.sampling import require_channel
from localdp.mechanisms import MECHANISMS, SET_MECHANISMS, Mechanism, SetMechanism
from localdp.plan import Plan
from localdp.types import Rows

NAMES = tuple(name for name, kind in (MECHANISMS | SET_MECHANISMS).items() if kind.takes_sets)
SIZE, SET_SIZE = 16, 2  # items
_LISTED_SIZE = 5  # items of the domain on which all reports are listed
_LISTED: list[tuple[int, ...]] = [(), (1,), (0, 3), (0, 2, 4)]

MUTANTS = (
    Mutant(
        "one padding for all",
        "The padding of grr is always the same element, which short sets then draw too often.",
        "mechanisms/set_sampling.js",
        "size + different * place)",
        "size)",
        "grr",
    ),
    Mutant(
        "no padding",
        "A short set draws among its own items only.",
        "mechanisms/set_sampling.js",
        "words.below(setSize)",
        "words.below(Math.min(setSize, held.length || 1))",
        "grr",
    ),
    Mutant(
        "rest of a large set",
        "A set that is too large reports one of its first items.",
        "mechanisms/set_sampling.js",
        "place += +(held.length > setSize) * (ofMany - place);",
        "void ofMany;",
        "oue",
    ),
    Mutant(
        "first item only",
        "The first item of a set is reported wherever an item is drawn.",
        "item_sets.js",
        "(held[place] ^ padding)",
        "(held[0] ^ padding)",
        "llh",
    ),
    Mutant(
        "padding not renamed",
        "PrivSet lights its first places for the padding, instead of the padding.",
        "mechanisms/privset.js",
        "size + places[t] - count)",
        "t)",
        "privset",
    ),
    Mutant(
        "always in common",
        "A subset that PrivSet draws without looking at the set often has an element too many in common with it.",
        "mechanisms/privset.js",
        "let common = 0;",
        "let common = 1;",
        "privset",
    ),
)


Job = tuple[Plan, int | list[int], int]
"""A plan, what everybody holds, and how many reports are made."""


def made_here(jobs: list[Job]) -> list[bytes]:
    """The batches of jobs, made by the Python library with secure randomness."""
    return [plan.privatize([held] * count).to_bytes() for plan, held, count in jobs]


def findings(
    names: Iterable[str], trials: int, folder: Path = FOLDER, make: Callable[[list[Job]], list[bytes]] | None = None
) -> Iterator[Finding]:
    """Audit two sets under each mechanism with `trials` reports, and compare four sets with the channel.

    The reports are made by Node, with the client in `folder`, or by `make`.
    """
    alpha = FALSE_ALARMS / ((1 + len(_LISTED)) * len(NAMES))
    for name in names:
        plan = Plan(SIZE, name, 0.5 if name == "hr" else 2.0, set_size=SET_SIZE)
        listed = Plan(_LISTED_SIZE, name, 0.5, set_size=SET_SIZE)
        mechanism = plan.mechanism
        full: list[int] = list(range(SET_SIZE))
        jobs: list[Job] = [(plan, full, trials), (plan, [], trials)]
        if name not in ("olh", "blh"):  # their seeds of 32 bits cannot be listed
            jobs += [(listed, list(held), trials // 4) for held in _LISTED]
        made = made_by_node(jobs, folder) if make is None else make(jobs)
        likely, unlikely = (_hits(mechanism, plan.read(batch).rows) for batch in made[:2])
        bound = lower_bound(likely, unlikely, trials, alpha)
        epsilon = mechanism.requested_epsilon
        wrong = "it leaks" if bound > epsilon else _differs(listed, made[2:], alpha)
        yield Finding(mechanism, bound, wrong or ("it is over-noised" if bound < FLOOR * epsilon else ""))


def caught(mutant: Mutant, trials: int) -> str:
    """What the audit says about the mutant; "" if it survives."""
    with mutated(mutant) as folder:
        return next(findings([mutant.mechanism], trials, folder)).wrong


def run(trials: int, mutant_trials: int) -> bool:
    """Print a line for every mechanism and every mutant; return whether all is as it should be."""
    if NODE is None:
        return True  # the other audit has said so
    print(f"\nThe same for users who hold sets, {trials:,} reports of {SET_SIZE} items and of no item:\n")
    passed = True
    for found in findings(NAMES, trials):
        passed &= not found.wrong
        print(f"{found.mechanism.name:<10}{found.mechanism.epsilon:>20.15f}{found.bound:>10.4f}  {found.wrong or 'ok'}")
    print(f"\n{len(MUTANTS)} faults put into it on purpose:\n")
    for mutant in MUTANTS:
        message = caught(mutant, 4 * mutant_trials)  # with fewer, every bound is below the floor
        passed &= bool(message)
        print(f"{'caught' if message else 'SURVIVED':<9} {mutant.name:<26}{mutant.mechanism:<9} {message}", flush=True)
    return passed


def _hits(mechanism: Mechanism, rows: Rows) -> int:
    """How many reports support the items of the full set, all or any of them, and not the padding."""
    own = [mechanism.supports(rows, item) for item in range(SET_SIZE)]
    supported = reduce(np.logical_or if mechanism.name in ("grr", "privset") else np.logical_and, own)
    padding = SET_SIZE if mechanism.name == "privset" else 1
    padded = reduce(np.logical_or, (mechanism.supports(rows, SIZE + place) for place in range(padding)))
    return int((supported & ~padded).sum())


def _differs(plan: Plan, batches: list[bytes], alpha: float) -> str:
    """What is wrong with the reports of the listed sets; "" if they follow the channel, or if there are none."""
    mechanism, rows = plan.mechanism, [plan.read(batch).rows for batch in batches]
    assert isinstance(mechanism, SetMechanism)
    try:
        if rows:
            require_channel(mechanism, range(len(_LISTED)), rows.__getitem__, alpha, mechanism.channel_of(_LISTED))
    except CheckFailure as failure:
        return str(failure)
    return ""
