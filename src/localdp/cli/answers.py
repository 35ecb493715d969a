"""Answers that were collected before, without privacy: how frequent each of them is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localdp.datasets import Dataset


def read_answers(path: Path, column: str | None, header: bool | None) -> Dataset:
    """The frequencies of the values in a column, one value for each user."""
    import numpy as np

    from localdp import files
    from localdp.cli.output import check_inputs, is_standard
    from localdp.datasets import Dataset
    from localdp.errors import DataFileError

    files.format_of(path)
    check_inputs(path)
    counts = np.array(sorted(files.tally(path, column, header=header).values(), reverse=True), np.int64)
    if counts.size < 2:
        raise DataFileError(f"{path} has fewer than two different values in that column, so there is nothing to ask")
    name = "standard input" if is_standard(path) else path.name
    note = f"{name}: {counts.size:,} items, {int(counts.sum()):,} users."
    return Dataset(name, counts, note)
