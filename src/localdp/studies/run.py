"""All rounds of a series on values at hand, for simulations and for raw data that are to be released."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from localdp.errors import TooFewReportsError
from localdp.held import Held
from localdp.plan import Aggregate
from localdp.randomness import keystream
from localdp.studies.series import Series
from localdp.studies.tally import Tally
from localdp.types import Indices, Progress

Kind = TypeVar("Kind", bound=Series)


def run(
    study: Kind,
    users: int,
    held: Callable[[Any, Indices], Held],
    *,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Kind:
    """The study when all its rounds are over; `held(round, users)` says what these users hold of what is asked.

    With a seed the result is reproducible but not private. `progress(done, total)` is called after every round.
    """
    source = keystream.secure() if seed is None else keystream.seeded(seed)
    drawn = study.places.draw(users, source)
    while not study.done:
        current = study.round
        asked = np.flatnonzero(current.span.holds(drawn))
        if not asked.size:
            raise TooFewReportsError(f"no user was drawn into round {study.number}: there are too few users")
        mechanism = current.plan.mechanism
        rows = mechanism.answer(held(current, asked), source.branch())
        aggregate = Aggregate(current.plan, mechanism.tally(rows), asked.size)
        study = study.advance(Tally().counting(current, aggregate))
        if progress is not None:
            progress(study.number, study.expected_rounds)
    return study
