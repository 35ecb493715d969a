"""Check what a user tells in a survey of sets, by running every random input of every round for every set.

The candidates of a round come from other users' reports, so for one user they are fixed. The user answers one round,
whose number is drawn without the set, so a survey tells what one of its rounds tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from localdp.checks.failure import require
from localdp.checks.privacy import LONGEST_TAPE, narrower
from localdp.checks.sets import repeated
from localdp.checks.tapes import Law, bits_read
from localdp.mechanisms import Mechanism
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.sets.candidates import Itemset
from localdp.sets.rounds import Round
from localdp.types import Indices, Rows

_ITEMS = 3
_EPSILONS = (2.0,)
_WIDEST = 6  # bits of a probability
_CANDIDATES: tuple[tuple[Itemset, ...] | None, ...] = (None, ((1,), (0, 1)), ((0, 1, 2), (1, 2), (2,)))
_SET_SIZES = (1, 2)


def check_survey(kind: type[Round] = Round) -> None:
    """Reports of any two sets must stay within epsilon of each other, in every kind of round.

    Catches a round that tells more of some sets than its plan does, and randomness that depends on the set.
    """
    for epsilon in _EPSILONS:
        for candidates in _CANDIDATES:
            survey, first = "00" * 32, 0 if candidates is None else 2
            rounds = [kind.of_sizes(survey, first, candidates, _ITEMS, epsilon)]
            rounds += [kind.of_sets(survey, first + 1, candidates, _ITEMS, epsilon, size) for size in _SET_SIZES]
            for asked in rounds:
                _require_private(asked, epsilon)


@dataclass(frozen=True)
class _Path:
    """The whole path of a device: the place of a set in a list -> report."""

    asked: Round
    mechanism: Mechanism
    sets: list[tuple[int, ...]]

    @property
    def width(self) -> int:
        return self.mechanism.width

    def randomize(self, places: Indices, source: Entropy, /) -> Rows:
        return self.asked.rows(repeated(self.sets[places[0]], places.size), source, self.mechanism)


def _require_private(asked: Round, epsilon: float) -> None:
    sets = [held for size in range(_ITEMS + 1) for held in combinations(range(_ITEMS), size)]
    narrow = next(narrower(asked.plan.mechanism, _WIDEST, LONGEST_TAPE), None)
    require(narrow is not None, f"{asked!r} reads too many random bits to try every input")
    assert narrow is not None  # noqa: S101 (for the type checker)
    path = _Path(asked, narrow, sets)
    laws = [Law(path, place, bits_read(path)) for place in range(len(sets))]
    for held, law in zip(sets, laws, strict=True):
        require(
            np.array_equal(law.read, laws[0].read),
            f"{asked!r} does not read as many random bits for the set {held} as for the empty set",
        )
    probabilities = [law.probabilities for law in laws]
    reports = set().union(*probabilities)
    missing = [(held, report) for held, p in zip(sets, probabilities, strict=True) for report in reports - set(p)]
    require(
        not missing, f"{asked!r}: some sets send reports that the set {missing[0][0] if missing else ()} never sends"
    )
    worst = max(max(p[report] for p in probabilities) / min(p[report] for p in probabilities) for report in reports)
    require(
        worst <= thresholds.exp_below(epsilon),
        f"{asked!r} leaks: over all sets its reports have epsilon {thresholds.log(worst)}, and {epsilon} was asked for",
    )
