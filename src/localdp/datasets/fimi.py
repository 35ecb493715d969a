"""Frequencies from files: transactions of numbers or names, or a spectrum; plain or compressed with gzip.

A FIMI file (named after the FIMI repository) has one transaction on each line, whole numbers separated by spaces. A CSV
file of transactions has the names of the items, separated by commas, semicolons or tabs. As in the paper, every
occurrence of an item counts as one user who holds it. A spectrum is a CSV file with the header `frequency,items` and
the number of items with each frequency. Large files are read piece by piece. If a line has another form, the error
gives its number.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections import Counter
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from localdp.datasets.dataset import Dataset
from localdp.errors import DataFileError
from localdp.formats.lines import whole_lines

_HEADER = b"frequency,items"
_TABLES = {".csv", ".tsv"}  # extensions of files with names of items
_SEPARATORS = (",", ";", "\t")
_MOST_DIGITS = 18  # all such numbers fit into 64 bits
_ALLOWED = np.zeros(256, bool)
_ALLOWED[list(b"0123456789 \r\n")] = True
_MOST_ITEMS = 10**8  # a spectrum of a few bytes could otherwise ask for all the memory


def read(path: str | Path) -> Dataset:
    """The frequencies of the items in a file, most frequent first.

    The file has one transaction on each line: numbers separated by spaces (FIMI), or, if the file is named .csv or
    .tsv, names of items separated by commas, semicolons or tabs. Or it is a spectrum: a CSV file with the header
    `frequency,items` that gives the number of items with each frequency. All may be compressed with gzip.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "baskets.dat")
    >>> _ = path.write_text("7 9\\n9\\n")
    >>> read(path).frequencies
    array([2, 1])
    >>> named = path.with_name("baskets.csv")
    >>> _ = named.write_text("milk,dark bread\\nmilk\\n")
    >>> read(named).frequencies
    array([2, 1])
    """
    source = Path(path)
    try:
        with source.open("rb") as plain:
            zipped = plain.read(2) == b"\x1f\x8b"
            plain.seek(0)
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=plain)) if zipped else plain
            first = stream.readline(len(_HEADER) + 2)
            if first.rstrip() == _HEADER:
                frequencies = _spectrum(stream, source.name)
            elif _TABLES & set(source.suffixes) and not _ALLOWED[np.frombuffer(first, np.uint8)].all():
                frequencies = _named_transactions(stream, first, source.name)
            else:
                frequencies = _transactions(stream, first, source.name)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise DataFileError(f"{source.name} is not a whole gzip file: it was cut short or altered") from None
    except OSError as error:
        raise DataFileError(f"{source} cannot be read: {error.strerror or error}") from None
    if frequencies.size < 2:
        raise DataFileError(f"{source.name} has only {frequencies.size} item; at least two are needed")
    note = f"{source.name}: {frequencies.size:,} items, {int(frequencies.sum()):,} occurrences, each taken as one user."
    return Dataset(source.name, np.sort(frequencies)[::-1].copy(), note)


def _transactions(stream: BinaryIO, first: bytes, name: str) -> NDArray[np.int64]:
    """The number of occurrences of each item in a FIMI file; `first` is what was read of it already."""
    items, counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    line = 1
    for block in whole_lines(stream, first):
        numbers = _numbers(block, line, name)
        line += block.count(b"\n")
        found, place = np.unique(np.concatenate([items, numbers]), return_inverse=True)
        weights = np.concatenate([counts, np.ones(numbers.size, np.int64)])
        items, counts = found, np.zeros(found.size, np.int64)
        np.add.at(counts, place, weights)
    if not items.size:
        raise DataFileError(
            f"{name} is empty: a FIMI file has one transaction on each line, numbers separated by spaces"
        )
    return counts


def _named_transactions(stream: BinaryIO, first: bytes, name: str) -> NDArray[np.int64]:
    """The number of occurrences of each item in a CSV file of transactions; every cell is an item."""
    counts: Counter[str] = Counter()
    line, encoding, separator = 1, "utf-8-sig", ""
    for block in whole_lines(stream, first):
        try:
            text = block.decode(encoding)
        except UnicodeDecodeError as error:
            where = line + block.count(b"\n", 0, error.start)
            raise DataFileError(f"line {where} of {name} is not text in UTF-8: save the file as UTF-8") from None
        separator = separator or max(_SEPARATORS, key=text.partition("\n")[0].count)
        try:
            for cells in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
                counts.update(cell.strip() for cell in cells)
        except csv.Error:
            raise DataFileError(f"{name} is not a CSV file: is a quotation mark not closed?") from None
        line, encoding = line + block.count(b"\n"), "utf-8"
    del counts[""]
    if not counts:
        raise DataFileError(f"{name} is empty: a CSV file of transactions has one on each line, its items in cells")
    return np.array(list(counts.values()), np.int64)


def _numbers(block: bytes, line: int, name: str) -> NDArray[np.int64]:
    """All numbers in a block of lines; `line` is the number of its first line, for errors."""
    strange = np.flatnonzero(~_ALLOWED[np.frombuffer(block, np.uint8)])
    if strange.size:
        place = int(strange[0])
        where = line + block.count(b"\n", 0, place)
        raise DataFileError(
            f"line {where} of {name} has {chr(block[place])!r}: each line of a FIMI file has whole numbers separated "
            "by spaces (names of items belong into a .csv file, separated by commas)"
        )
    is_digit = np.frombuffer(block, np.uint8) >= ord("0")
    edges = np.flatnonzero(np.diff(is_digit.astype(np.int8), prepend=0, append=0))
    too_long = np.flatnonzero(edges[1::2] - edges[::2] > _MOST_DIGITS)
    if too_long.size:
        where = line + block.count(b"\n", 0, int(edges[::2][too_long[0]]))
        raise DataFileError(
            f"line {where} of {name} has a number of more than {_MOST_DIGITS} digits, which cannot be an item"
        )
    return np.fromstring(block.decode("ascii"), np.int64, sep=" ") if edges.size else np.zeros(0, np.int64)


def _spectrum(stream: BinaryIO, name: str) -> NDArray[np.int64]:
    """The frequency of each item, from the lines of a spectrum after its header."""
    rows = []
    for line, text in enumerate(stream, 2):
        cells = text.strip().split(b",")
        if len(cells) != 2 or not all(cell.isdigit() and len(cell) <= _MOST_DIGITS for cell in cells):
            raise DataFileError(
                f"line {line} of {name} is {text.strip()[:40].decode('utf-8', 'replace')!r}: each line of a spectrum "
                "has two whole numbers separated by a comma, a frequency and the number of items that have it"
            )
        rows.append([int(cell) for cell in cells])
    spectrum = np.array(rows, np.int64).reshape(-1, 2)
    items, users = sum(count for _, count in rows), sum(frequency * count for frequency, count in rows)
    if not items or items > _MOST_ITEMS or users > 2**53:
        raise DataFileError(f"{name} has no items, or more than can be counted")
    return np.repeat(spectrum[:, 0], spectrum[:, 1])
