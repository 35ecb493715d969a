"""Read what people type as options: numbers, and words from a list. What cannot be read is one plain sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from localdp.errors import InvalidInputError

_GROUPED = re.compile(r"[+-]?\d{1,3}([,_ ]\d{3})+(\.\d+)?")  # 1,000 or 1_000 or 1 000


def whole_number(text: str | int | None, option: str, least: int = 1) -> int | None:
    """A whole number, such as 1000, 1,000 or 1e3; None if the option was not given."""
    if text is None:
        return None
    value = number(str(text), option, "a whole number")
    if value != int(value) or value < least:
        raise InvalidInputError(f"{option} is a whole number of at least {least}, not {text!r:.40}")
    plain = str(text).replace(",", "").replace("_", "").replace(" ", "")
    return int(plain) if plain.isdigit() else int(value)


def number(text: str, option: str, what: str = "a number") -> float:
    """A number, such as 0.5 or 1,000."""
    plain = re.sub("[,_ ]", "", text) if _GROUPED.fullmatch(text.strip()) else text
    try:
        value = float(plain)
        if abs(value) < float("inf"):
            return value
    except ValueError:
        pass
    raise InvalidInputError(f"{option} is {what}, not {text!r:.40}")


def budget_of(epsilon: str) -> float:
    """An epsilon; whether it is small enough is checked where it is used."""
    try:
        return number(epsilon, "--epsilon", "a number above 0 and at most 16, such as 1")
    except InvalidInputError as error:
        raise InvalidInputError(f"{error}; `localdp advise` helps to choose one") from None


def one_of(text: str, option: str, choices: Sequence[str]) -> str:
    """One of these words."""
    if text not in choices:
        raise InvalidInputError(f"{option} is {', '.join(choices[:-1])} or {choices[-1]}, not {text!r:.40}")
    return text


def completion(choices: Sequence[str]) -> Callable[[str], list[str]]:
    """A function that gives a shell the words that begin with what was typed."""

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete
