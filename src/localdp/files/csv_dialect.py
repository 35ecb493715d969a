"""How a CSV file is written: its lines as text, and the sign that separates its cells."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from localdp.errors import DataFileError

SEPARATORS = (",", ";", "\t", "|")
"""The signs that may separate cells; of signs that fit equally well, the first."""

_MOST = 0.5  # a separator must give more than this share of the lines as many cells as the first line


def text_lines(blocks: Iterable[bytes], path: Path) -> Iterator[str]:
    """Yield the lines of a file in UTF-8, with their ends. If it is not UTF-8, the error names the line and the remedy.

    The blocks are whole lines (`localdp.formats.lines`).

    >>> list(text_lines([b"item\\r\\ntea\\n", b"milk"], Path("items.csv")))
    ['item\\r\\n', 'tea\\n', 'milk']
    """
    before, encoding = 0, "utf-8-sig"
    for block in blocks:
        if not before and block.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise DataFileError(f"{path} is in UTF-16: save it as UTF-8 (spreadsheets call that CSV UTF-8)")
        try:
            text = block.decode(encoding)
        except UnicodeDecodeError as error:
            line = before + block.count(b"\n", 0, error.start) + 1
            raise DataFileError(
                f"line {line} of {path} is not text in UTF-8. If the file is in Latin-1 or Windows-1252, save it as "
                f"UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8 {path}"
            ) from None
        yield from io.StringIO(text, newline="")
        before, encoding = before + block.count(b"\n"), "utf-8"


def find_separator(lines: Sequence[str], column: str | None = None) -> str:
    """The sign that separates the cells of these lines, the first lines of a file.

    It must split the first line, and most lines must have as many cells as the first. Among several such signs, one
    that gives a column of the wanted name wins, then the one that fits more lines, then the one with more cells.

    >>> find_separator(["id;price", "1;3,50", "2;4,25"])
    ';'
    >>> find_separator(["item", "tea", "coffee"])
    ','
    """
    best, separator = (False, 0.0, 1), SEPARATORS[0]
    for sign in SEPARATORS:
        try:
            rows = [row for row in csv.reader(lines, delimiter=sign) if row]
        except csv.Error:
            continue
        if not rows or len(rows[0]) < 2:
            continue
        alike = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        score = (column in rows[0], alike, len(rows[0]))
        if alike > _MOST and score > best:
            best, separator = score, sign
    return separator
