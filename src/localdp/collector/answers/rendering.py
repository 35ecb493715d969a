"""Tables as columns of plain numbers, and answers as the bytes that are sent.

JSON carries a table as one list for each column, which is smaller and quicker to write and to read than an object for
each item. Frequencies are rounded to a thousandth of a user, and shares of the users alike: far below any noise, and
half the bytes.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from localdp.files.base import load_pyarrow
from localdp.files.csv import CsvFormat
from localdp.table import Table
from localdp.types import Vector

MEDIA_TYPES = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.file",
}
"""The media type of each format."""

_DECIMALS = 3
_AT_ONCE = 4_096  # values of JSON that are written at once
_FORMULAS = frozenset("=+-@\t\r\n")


@dataclass(frozen=True)
class Rendered:
    """An answer ready to be sent."""

    media_type: str
    body: bytes


class Answer(ABC):
    """An answer that can be sent as JSON, and as a table in CSV or as an Arrow file."""

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """The answer as a JSON value, in which arrays stand for lists."""

    @abstractmethod
    def table(self) -> Table:
        """The answer as one table."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of the table must know: warnings first, then notes."""
        return ()

    @property
    def plainly(self) -> tuple[str, ...]:
        """What a reader of a spreadsheet must know, in plain words."""
        return self.remarks

    def rendered(self, kind: str) -> Rendered:
        """The answer in this format. Arrow needs the package pyarrow.

        Remarks are in the column `note` of CSV, in its first row, and in the metadata of Arrow.
        """
        if kind == "json":
            return Rendered(MEDIA_TYPES[kind], json_bytes(self.content()))
        if kind == "csv":
            return Rendered(MEDIA_TYPES[kind], CsvFormat().table_bytes(for_spreadsheets(self.table(), self.plainly)))
        return Rendered(MEDIA_TYPES[kind], _arrow(self.table(), self.remarks))


def for_spreadsheets(table: Table, remarks: tuple[str, ...]) -> Table:
    """A table for CSV, with remarks in a column, and with no text that a spreadsheet takes for a formula.

    Text that begins with `=`, `+`, `-`, `@`, a tab or a line break gets an apostrophe, which spreadsheets hide.

    >>> for_spreadsheets(Table({"item": ["=1+1", "tea"]}), ("a remark",)).columns
    {'item': ["'=1+1", 'tea'], 'note': ['a remark', '']}
    """
    rows = len(table)
    if remarks and not rows:  # so that the remarks have a row to stand in
        columns: dict[str, Any] = {name: [""] for name in table.columns}
        rows = 1
    else:
        columns = {name: _escaped(values) for name, values in table.columns.items()}
    columns["note"] = _escaped(["; ".join(remarks), *[""] * (rows - 1)][:rows])
    return Table(columns, table.title, table.formats)


def without_apostrophe(text: str) -> str:
    """The text of an item as it was before `for_spreadsheets`."""
    return text[1:] if text[:1] == "'" and text[1:2] in _FORMULAS else text


def _escaped(values: Any) -> Any:
    if isinstance(values, np.ndarray) or not any(isinstance(value, str) and value[:1] in _FORMULAS for value in values):
        return values
    return [f"'{value}" if isinstance(value, str) and value[:1] in _FORMULAS else value for value in values]


def _arrow(table: Table, remarks: tuple[str, ...]) -> bytes:
    """The content of an Arrow file, with remarks in its metadata."""
    pyarrow = load_pyarrow("ipc")
    written = table.to_arrow().replace_schema_metadata({"localdp-notes": json.dumps(remarks, ensure_ascii=False)})
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_file(sink, written.schema) as writer:
        writer.write_table(written)
    return bytes(sink.getvalue())


def rounded(values: Any) -> Any:
    """A column with numbers rounded to nine digits, if it has numbers that are not whole."""
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return values
    return np.round(values, 9) + 0.0  # + 0.0 turns -0.0 into 0.0


def users(frequencies: Vector) -> Vector:
    """Numbers of users, rounded to a thousandth."""
    return np.round(frequencies, _DECIMALS) + 0.0


def shares(frequencies: Vector, n: int) -> Vector:
    """The same as shares of n users, rounded to a thousandth of a user or better."""
    return np.round(frequencies / n, _DECIMALS + math.ceil(math.log10(max(n, 1)))) + 0.0


def json_bytes(value: Any) -> bytes:
    """A JSON value as bytes, with arrays as lists: written some thousand numbers at a time.

    `json.dumps` writes a million numbers without letting any other thread run, for seconds, and needs an object for
    each of them.

    >>> json_bytes({"a": np.arange(3), "b": ["x", None], "c": {}})
    b'{"a":[0,1,2],"b":["x",null],"c":{}}'
    """
    return b"".join(_written(value))


def _written(value: Any) -> Iterator[bytes]:
    if isinstance(value, dict):
        yield b"{"
        for place, (name, inner) in enumerate(value.items()):
            yield (b"," if place else b"") + _dumped(name) + b":"
            yield from _written(inner)
        yield b"}"
    elif isinstance(value, np.ndarray) or (isinstance(value, list) and len(value) > _AT_ONCE):
        yield b"["
        for start in range(0, len(value), _AT_ONCE):
            piece = value[start : start + _AT_ONCE]
            written = _dumped(piece.tolist() if isinstance(piece, np.ndarray) else piece)
            yield (b"," if start else b"") + written[1:-1]
        yield b"]"
    else:
        yield _dumped(value)


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def plain(table: Table) -> dict[str, Any]:
    """The columns of a table, as arrays or as lists; what is not a number (nan), which JSON has not, is None."""

    def column(values: Any) -> Any:
        if not isinstance(values, np.ndarray):
            return list(values)
        return (
            [one(value) for value in values.tolist()] if values.dtype.kind == "f" and np.isnan(values).any() else values
        )

    return {name: column(values) for name, values in table.columns.items()}


def one(value: float, decimals: int = 9) -> float | None:
    """A number rounded for JSON, which has no infinite ones: they are None."""
    return round(value, decimals) if math.isfinite(value) else None
