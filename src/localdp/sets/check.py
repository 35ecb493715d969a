"""Check what a user tells in a survey of sets, by running every random input of every round for every set.

The candidates of a round come from other users' reports, so for one user they are fixed. The user answers one round,
whose number is drawn without the set, so a survey tells what one of its rounds tells.
"""

from __future__ import annotations

from itertools import combinations

from localdp.checks.privacy import require_private_path
from localdp.checks.sets import repeated
from localdp.mechanisms import Mechanism
from localdp.randomness.keystream import Entropy
from localdp.sets.candidates import Itemset
from localdp.sets.rounds import Round
from localdp.types import Indices, Rows

_ITEMS = 3
_EPSILONS = (2.0,)
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


def _require_private(asked: Round, epsilon: float) -> None:
    sets = [held for size in range(_ITEMS + 1) for held in combinations(range(_ITEMS), size)]

    def randomize(mechanism: Mechanism, places: Indices, source: Entropy) -> Rows:
        return asked.rows(repeated(sets[places[0]], places.size), source, mechanism)

    require_private_path(asked, asked.plan.mechanism, sets, randomize, epsilon, "the set")
