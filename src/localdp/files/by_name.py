"""The format of a file, by its extension."""

from __future__ import annotations

import os
from pathlib import Path

from localdp.errors import DataFileError
from localdp.files.arrow import ArrowFormat
from localdp.files.base import Format
from localdp.files.csv import STANDARD, CsvFormat
from localdp.files.parquet import ParquetFormat

FORMATS: dict[str, Format] = {
    ".csv": CsvFormat(),
    ".csv.gz": CsvFormat(zipped=True),
    ".tsv": CsvFormat(separator="\t"),
    ".parquet": ParquetFormat(),
    ".pq": ParquetFormat(),
    ".arrow": ArrowFormat(),
    ".feather": ArrowFormat(),
}
"""The format of a file, by its extension."""


def format_of(path: str | os.PathLike[str]) -> Format:
    """The format of a file, by its extension; `DataFileError` for any other extension."""
    name = Path(path).name.lower()
    if name == STANDARD:
        return CsvFormat()
    for extension, file_format in FORMATS.items():
        if name.endswith(extension):
            return file_format
    raise DataFileError(f"{path} is neither a .csv, .parquet nor .arrow file")
