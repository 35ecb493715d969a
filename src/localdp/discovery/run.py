"""A whole discovery on values at hand, for simulations and for raw data that are to be released."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from localdp.discovery.discovery import Discovery
from localdp.discovery.found import Found
from localdp.discovery.rounds import Round
from localdp.errors import EmptyError, InvalidInputError, TooFewReportsError
from localdp.held import Held, OneEach
from localdp.studies.run import run as run_series
from localdp.studies.series import LEAST_REPORTS
from localdp.types import Indices, Progress
from localdp.validation import shown


def discover(
    values: Any,
    *,
    epsilon: float,
    top: int = 20,
    bits: int | None = None,
    most_bytes: int | None = None,
    alphabet: str | None = None,
    examples: Any = None,
    known: Any = (),
    rounds: int | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Found:
    """Find the `top` most frequent values and how many users hold each, with epsilon-LDP for every user.

    `values` has one value for each user: texts of at most `most_bytes` bytes (128 unless given), or whole numbers below
    2^bits (64 bits unless given). Longer texts, text that is not Unicode, missing values and numbers out of range take
    part, but cannot be found. Every user is drawn into one group and answers one round. `alphabet`, `examples` and
    `known` say what is known of the values beforehand, as for `Discovery`.

    With a seed the result is reproducible but not private: use it for simulations only. `progress(done, total)` is
    called after every round.

    >>> words = ["tea"] * 6_000 + ["coffee"] * 3_000 + ["milk"] * 1_000
    >>> discover(words, epsilon=4.0, top=2, seed=1).items
    ['tea', 'coffee']
    """
    if all(option is None for option in (bits, most_bytes, alphabet, examples)) and _are_numbers(values):
        bits = 64
    if not isinstance(values, Iterable):
        raise InvalidInputError(f"values must be a flat list with one value for each user, not {shown(values, 60)}")
    listed: Any = values if hasattr(values, "__len__") else list(values)
    if not len(listed):
        raise EmptyError("no values were given: give one value for each user")
    if len(listed) < LEAST_REPORTS:
        raise TooFewReportsError(f"{len(listed)} users are too few to find anything: give at least {LEAST_REPORTS}")
    texts = {"most_bytes": most_bytes, "alphabet": alphabet, "examples": examples}
    discovery = Discovery(epsilon=epsilon, users=len(listed), top=top, bits=bits, known=known, rounds=rounds, **texts)
    return run(discovery, listed, seed=seed, progress=progress)


def run(discovery: Discovery, values: Any, *, seed: int | None = None, progress: Progress | None = None) -> Found:
    """All rounds of a new discovery, with one user for each value."""
    encoded = discovery.code.encode(values)

    def held(asked: Round, users: Indices) -> Held:
        return OneEach(asked.candidates.indices(encoded[users]))

    n = len(encoded)
    found = run_series(discovery, n, held, seed=seed, progress=progress).result()
    # If rounds were left out because nothing was left to ask, fewer than all users were counted.
    return found if found.n == n else replace(found, frequencies=found.frequencies * (n / found.n), n=n)


def _are_numbers(values: Any) -> bool:
    """Whether the first value that is there is a whole number."""
    if isinstance(values, str | bytes):
        raise InvalidInputError("values must be a flat list with one value for each user, not one text")
    if isinstance(values, np.ndarray):
        return values.dtype.kind in "iu"
    try:
        first = next((value for value in values if value is not None), None)
    except TypeError:
        return False
    return isinstance(first, int | np.integer) and not isinstance(first, bool)
