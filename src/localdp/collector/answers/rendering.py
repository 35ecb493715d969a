"""Tables as columns of plain numbers, and answers as the bytes that are sent.

JSON carries a table as one list for each column, which is smaller and quicker to write and to read than an object for
each item. Frequencies are rounded to a thousandth of a user, and shares of the users alike: far below any noise, and
half the bytes.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from localdp import files
from localdp.table import Table
from localdp.types import Vector

MEDIA_TYPES = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.file",
}
"""The media type of each format."""

_DECIMALS = 3


@dataclass(frozen=True)
class Rendered:
    """An answer ready to be sent."""

    media_type: str
    body: bytes


class Answer(ABC):
    """An answer that can be sent as JSON, and as a table in CSV or as an Arrow file."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """The answer as a JSON value."""

    @abstractmethod
    def table(self) -> Table:
        """The answer as one table."""

    def rendered(self, kind: str) -> Rendered:
        """The answer in this format. Arrow needs the package pyarrow."""
        if kind == "json":
            text = json.dumps(self.document(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            return Rendered(MEDIA_TYPES[kind], text.encode())
        return Rendered(MEDIA_TYPES[kind], files.table_bytes(self.table(), f".{kind}"))


def users(frequencies: Vector) -> Vector:
    """Numbers of users, rounded to a thousandth."""
    return np.round(frequencies, _DECIMALS) + 0.0  # + 0.0 turns -0.0 into 0.0


def shares(frequencies: Vector, n: int) -> Vector:
    """The same as shares of n users, rounded to a thousandth of a user or better."""
    return np.round(frequencies / n, _DECIMALS + math.ceil(math.log10(max(n, 1)))) + 0.0


def plain(table: Table) -> dict[str, list[Any]]:
    """The columns of a table as lists that JSON can hold."""
    return {
        name: values.tolist() if isinstance(values, np.ndarray) else list(values)
        for name, values in table.columns.items()
    }


def one(value: float, decimals: int = 9) -> float | None:
    """A number rounded for JSON, which has no infinite ones: they are None."""
    return round(value, decimals) if math.isfinite(value) else None
