"""A whole survey of sets on sets at hand, for simulations and for raw data that are to be released."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from localdp.domain import Domain
from localdp.errors import EmptyError
from localdp.held import Held
from localdp.item_sets import ItemSets
from localdp.items import Item
from localdp.sets.found import FoundSets
from localdp.sets.protocol import Survey
from localdp.sets.questions import Members
from localdp.sets.rounds import Round
from localdp.studies.run import run as run_series
from localdp.types import Indices, Progress


def survey(
    sets: Any,
    items: Domain | int | Iterable[Item],
    *,
    epsilon: float,
    top: int = 32,
    seed: int | None = None,
    progress: Progress | None = None,
) -> FoundSets:
    """Find the `top` items that the most users hold, and how many hold each, with epsilon-LDP for every user.

    `sets` has one list of items for each user, which may be empty. `items` lists all items, or is their number; what
    is not among them is refused, unless there is a catch-all (`ldp.Domain(items, other=...)`). Nobody needs to know how
    large the sets are. Every user is drawn into one of four groups, and makes one report.

    With a seed the result is reproducible but not private: use it for simulations only. `progress(done, total)` is
    called after every round.

    >>> baskets = [["tea", "milk"], ["milk"], ["bread", "milk", "tea"], []] * 3_000
    >>> survey(baskets, ["tea", "milk", "bread", "rice"], epsilon=4.0, top=2, seed=1).items
    ['milk', 'tea']
    """
    return itemsets(sets, items, epsilon=epsilon, top=top, largest=1, seed=seed, progress=progress)


def itemsets(
    sets: Any,
    items: Domain | int | Iterable[Item],
    *,
    epsilon: float,
    top: int = 16,
    largest: int = 4,
    seed: int | None = None,
    progress: Progress | None = None,
) -> FoundSets:
    """Find the `top` itemsets that the most users hold: single items, and combinations of up to `largest` items.

    Everything else is as in `survey`.

    >>> baskets = [["tea", "milk"], ["milk"], ["bread", "milk", "tea"], []] * 3_000
    >>> itemsets(baskets, ["tea", "milk", "bread", "rice"], epsilon=4.0, top=3, seed=1).items[0]
    ('milk',)
    """
    domain = items if isinstance(items, Domain) else Domain(items)
    held = Members(domain, None).sets(sets)
    if not held.users:
        raise EmptyError("no sets were given: give one list of items for each user")
    made = Survey(domain, epsilon=epsilon, users=held.users, top=top, largest=largest)
    return run(made, held, seed=seed, progress=progress)


def run(survey: Survey, sets: ItemSets, *, seed: int | None = None, progress: Progress | None = None) -> FoundSets:
    """All rounds of a new survey, with one user for each set."""

    def held(asked: Round, users: Indices) -> Held:
        return asked.question.read(sets.take(users))

    return run_series(survey, sets.users, held, seed=seed, progress=progress).result()
