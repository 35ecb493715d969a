"""Read what people type as options: what `localdp.reading` reads, an epsilon, and what shells complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from localdp.errors import InvalidInputError
from localdp.reading import number as number
from localdp.reading import one_of as one_of
from localdp.reading import optional_number as optional_number
from localdp.reading import share as share
from localdp.reading import threshold as threshold
from localdp.reading import whole_number as whole_number


def budget_of(epsilon: str) -> float:
    """An epsilon; whether it is small enough is checked where it is used."""
    try:
        return number(epsilon, "--epsilon", "a number above 0 and at most 16, such as 1")
    except InvalidInputError as error:
        raise InvalidInputError(f"{error}; `localdp advise` helps to choose one") from None


def reports_range(text: str, option: str) -> tuple[float, float]:
    """The fewest and the most reports of a person: both are the same if one number is given.

    >>> reports_range("7", "--reports-per-person"), reports_range("1-7", "--reports-per-person")
    ((7.0, 7.0), (1.0, 7.0))
    """
    least, _, most = text.partition("-")
    expected = "how many reports each person sent, such as 7, or a range such as 1-7"
    return number(least, option, expected), number(most or least, option, expected)


def completion(choices: Sequence[str]) -> Callable[[str], list[str]]:
    """A function that gives a shell the words that begin with what was typed."""

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete
