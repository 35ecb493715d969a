"""Options as people type them: an epsilon, and what shells complete. `localdp.reading` reads everything else."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from localdp.errors import InvalidInputError
from localdp.reading import number


def budget_of(epsilon: str) -> float:
    """An epsilon; whether it is small enough is checked where it is used."""
    try:
        return number(epsilon, "--epsilon", "a number above 0 and at most 16, such as 1")
    except InvalidInputError as error:
        raise InvalidInputError(f"{error}; `localdp advise` helps to choose one") from None


def completion(choices: Sequence[str]) -> Callable[[str], list[str]]:
    """A function that gives a shell the words that begin with what was typed."""

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete
