"""Read what people type, as an option of a command or in a web address: numbers, shares, words from a list.

What cannot be read is an `InvalidInputError` of one plain sentence, which begins with the name of the option.

>>> number("1,000", "--threshold"), share("10%", "--fdr"), threshold("0.5%", "--threshold")
(1000.0, 0.1, '0.5%')
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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


def optional_number(text: str | None, option: str) -> float | None:
    """A number; None if the option was not given."""
    return None if text is None else number(text, option)


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


def share(text: str, option: str) -> float:
    """A share such as 0.1 or 10%."""
    percent = text.strip().endswith("%")
    return number(text.strip().removesuffix("%"), option, "a share such as 0.1 or 10%") / (100 if percent else 1)


def threshold(text: str | None, option: str) -> float | str:
    """A number of users such as 500 or 1,000 as a float; a share such as 0.5% stays text.

    Nothing stands for "significance".
    """
    from localdp.validation import checked_limit  # it loads NumPy, which `localdp --help` need not wait for

    if text is None or text.strip() == "significance" or text.strip().endswith("%"):
        return (text or "significance").strip()
    return checked_limit(number(text, option, "a number of users, a share of them such as 0.5%, or significance"))


def reports_range(text: str, option: str) -> tuple[float, float]:
    """The fewest and the most reports of a person: both are the same if one number is given.

    >>> reports_range("7", "--reports-per-person"), reports_range("1-7", "--reports-per-person")
    ((7.0, 7.0), (1.0, 7.0))
    """
    least, _, most = text.partition("-")
    expected = "how many reports each person sent, such as 7, or a range such as 1-7"
    return number(least, option, expected), number(most or least, option, expected)


def one_of(text: str, option: str, choices: Sequence[str]) -> str:
    """One of these words."""
    if text not in choices:
        listed = " or ".join([part for part in (", ".join(choices[:-1]), choices[-1]) if part])
        raise InvalidInputError(f"{option} is {listed}, not {text!r:.40}")
    return text
