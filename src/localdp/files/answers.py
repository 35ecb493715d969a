"""What people answered, in the column of a file: values become what users hold, in pieces.

How answers stand in a file depends on the question: an item in each row, a list of items, or anything that the question
reads itself. `Question.layout` says which.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.domain import Domain
from localdp.errors import DataFileError, InvalidInputError, UnknownItemError
from localdp.files.base import UNKNOWN
from localdp.files.baskets import TRANSACTIONS, sets
from localdp.files.by_name import format_of
from localdp.held import Held, OneEach
from localdp.questions import Question
from localdp.types import Progress
from localdp.validation import checked_regular_file


def indices(
    path: str | os.PathLike[str],
    column: str | None,
    domain: Domain,
    *,
    header: bool | None = None,
    known_only: bool = False,
    progress: Progress | None = None,
) -> Iterator[NDArray[np.int64]]:
    """Yield the index of every value in a column, in pieces.

    A value that is not an item gets the index of the catch-all. If the domain has none, the index is `UNKNOWN`, or with
    `known_only` an `UnknownItemError` gives the number of the row. `column` may be None if the file has only one.
    `header` says whether a CSV file begins with the names of its columns. If it is None it does, and it is an error if
    these look like values.
    """
    file_format = format_of(path).with_header(header)
    rest = UNKNOWN if domain.other is None else domain.other_index
    row = 1
    for places, value_at in file_format.indices(checked_regular_file(path, DataFileError), column, domain, progress):
        unknown = places == UNKNOWN
        if unknown.any():
            if known_only and rest == UNKNOWN:
                first = int(unknown.argmax())
                why = _why_unknown(value_at(first), domain)
                raise UnknownItemError(f"row {row + first} {file_format.below}of {path} {why}")
            places[unknown] = rest
        row += places.size
        yield places


@dataclass(frozen=True)
class Answers:
    """What people answered in some rows of a file, and what was left out of it: people, and items of their sets."""

    held: Held
    people_left_out: int = 0
    items_left_out: int = 0


def answers(
    path: str | os.PathLike[str],
    column: str | None,
    question: Question,
    *,
    header: bool | None = None,
    separator: str = ";",
    known_only: bool = True,
    progress: Progress | None = None,
) -> Iterator[Answers]:
    """Yield the answers to a question in a column, in pieces; those to `Choices` also from a file of transactions.

    What the question does not take is left out, or with `known_only` an `UnknownItemError` gives the row.
    """
    transactions = Path(path).suffix.lower() == TRANSACTIONS
    if transactions and question.layout != "sets":
        raise InvalidInputError(f"{path} holds sets of items, and in this plan every user holds one item")
    if question.layout == "sets":
        listed = None if transactions else format_of(path).with_header(header)
        options: dict[str, Any] = {"separator": separator, "known_only": known_only, "progress": progress}
        for held, left_out in sets(path, column, question.cells, listed, **options):
            yield Answers(held, items_left_out=left_out)
    elif question.layout == "items":
        for found in indices(path, column, question.cells, header=header, known_only=known_only, progress=progress):
            known = found[found != UNKNOWN]
            yield Answers(OneEach(known), people_left_out=found.size - known.size)
    else:
        file_format = format_of(path).with_header(header)
        row = 1
        for values, _ in file_format.values(checked_regular_file(path, DataFileError), column, progress):
            refused = _refused(question, values)
            if refused and known_only:
                why = str(_refusal(question, values)).partition("; ")[0]
                raise UnknownItemError(f"{why}, the first in row {row + refused[0]} {file_format.below}of {path}")
            row += len(values)
            out = set(refused)
            kept = [value for place, value in enumerate(values) if place not in out] if out else values
            yield Answers(question.read(kept), people_left_out=len(refused))


def _refusal(question: Question, values: list[Any]) -> UnknownItemError | None:
    """Why the question does not take these values; None if it does."""
    try:
        question.read(values)
    except UnknownItemError as error:
        return error
    return None


def _refused(question: Question, values: list[Any]) -> list[int]:
    """The places of the values that the question does not take, found by halving."""
    if _refusal(question, values) is None:
        return []
    half = len(values) // 2
    if not half:
        return [0]
    return [*_refused(question, values[:half]), *(half + place for place in _refused(question, values[half:]))]


def _why_unknown(value: Any, domain: Domain) -> str:
    """What is wrong with a value that is not an item. The value is not shown: it is somebody's answer."""
    if value is None or value == "":
        return "is empty in that column"
    hint = domain.near_miss(value)
    return "is not an item of the plan" + (f" ({hint})" if hint else "")
