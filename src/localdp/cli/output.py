"""Read, check, print and write for all commands. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from localdp.datasets import Dataset
    from localdp.plan import Plan
    from localdp.table import Table

PICTURES = (".png", ".svg", ".pdf")
ROWS_ON_TERMINAL = 40  # of a table that may be long
WIDTH = 79  # columns of text, so that lines fit a terminal of 80


_said: set[str] = set()


def fail(sentence: str, code: int = 2) -> NoReturn:
    """Print one line on standard error and end the process with this exit code."""
    from localdp.table import printable

    start = "\r" if sys.stderr.isatty() else ""  # overwrites the ^C that a terminal shows
    print(f"{start}localdp: {printable(' '.join(sentence.split()), 1_000)}", file=sys.stderr)
    sys.exit(code)


def note(sentence: str) -> None:
    """Print a remark on standard error, in lines that fit a terminal; the same remark only once."""
    if sentence not in _said:
        _said.add(sentence)
        print(fill(sentence, WIDTH), file=sys.stderr)


def say(text: str, out: Path | None) -> None:
    """Print a line about what was done: on standard error if the result itself went to standard output."""
    print(text, file=sys.stderr if out is not None and is_standard(out) else sys.stdout)


def shown(path: Path) -> str:
    """The path as a sentence names it."""
    return "standard output" if is_standard(path) else str(path)


def is_standard(path: Path) -> bool:
    """Whether the path is `-`, which stands for standard input and standard output."""
    return str(path) == "-"


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on standard error, if that is a terminal. Yields the function `update(done, total)`."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)

        def update(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield update


def read_plan(path: Path) -> Plan:
    """Read a plan file; an error names the file."""
    from localdp.errors import PlanError
    from localdp.plan import Plan

    try:
        return Plan.from_json(path.read_bytes())
    except PlanError as error:
        raise PlanError(f"{path}: {error}; `localdp plan` writes a plan file") from error


def read_answers(path: Path, column: str | None, header: bool | None) -> Dataset:
    """The frequencies of answers that were collected before, without privacy: a column, one value for each user."""
    import numpy as np

    from localdp import files
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


def check_inputs(*paths: Path) -> None:
    """Raise an error for the first file that does not exist or cannot be read here, before any work is done."""
    from localdp.errors import DataFileError
    from localdp.files import format_of

    if sum(map(is_standard, paths)) > 1:
        raise DataFileError("standard input (-) can be read only once: name the other files")
    for path in paths:
        if is_standard(path):
            if sys.stdin.isatty():
                note("Reading CSV from standard input; end it with Ctrl-D.")
            continue
        path.stat()
        if path.suffix.lower() not in (".agg", ".dat", ".txt"):
            format_of(path).check_installed()


def check_kind(path: Path, other: str) -> None:
    """Raise an error unless the extension is that of a table (.csv, .parquet, .arrow) or the other one given."""
    from localdp.errors import DataFileError
    from localdp.files import format_of

    if path.suffix.lower() != other:
        try:
            format_of(path)
        except DataFileError:
            raise DataFileError(
                f"{path} is neither a .csv, .parquet, .arrow nor {other} file; the extension decides the format"
            ) from None


def check_outputs(force: bool, table: Path | None, picture: Path | None = None) -> None:
    """Raise an error for outputs that could not be written, before any work is done."""
    from localdp.errors import InvalidInputError
    from localdp.files import format_of
    from localdp.formats.atomic_write import check_writable

    if table is not None:
        check_kind(table, ".json")
        if table.suffix.lower() != ".json":
            format_of(table).check_installed()
    if picture is not None:
        if picture.suffix.lower() not in PICTURES:
            raise InvalidInputError(f"a picture is written to a .png, .svg or .pdf file, not to {picture}")
        from localdp.plots import figure

        figure()  # raises an error if matplotlib is not installed
    for path, option in ((table, "-o"), (picture, "--plot")):
        if path is not None and not is_standard(path):
            check_writable(path, force, option)


def give(table: Table, json_only: bool, notes: Sequence[str] = (), out: Path | None = None) -> None:
    """Write a table to the file that was asked for, if any, and show it."""
    if out is not None:
        write(table, out)
    show(table, json_only, notes, out)


def write(table: Table, path: Path, as_text: str | None = None) -> None:
    """Write a table in the format of the file extension; a .json file gets the text instead, if there is one."""
    from localdp.files import write_table

    if path.suffix.lower() == ".json":
        write_text(as_json(table) if as_text is None else as_text, path)
    else:
        write_table(table, path, replace=True)


def write_text(text: str, path: Path, *, replace: bool = True) -> None:
    """Write a line of text to a file, or print it if the path is `-`."""
    from localdp.formats.atomic_write import atomic_write

    if is_standard(path):
        print(text)
        return
    with atomic_write(path, replace=replace) as unfinished:
        unfinished.write_text(text + "\n", "utf-8")


def check_no_columns(path: Path, column: str | None, header: bool | None) -> bool:
    """Whether a file has the items of one user on each line, and no columns that could be named."""
    from localdp.errors import InvalidInputError
    from localdp.files import TRANSACTIONS

    without = path.suffix.lower() == TRANSACTIONS
    if without and (column is not None or header is not None):
        raise InvalidInputError(
            "a .dat file has the items of one user on each line, and no columns: leave out --column"
        )
    check_kind(path, TRANSACTIONS)
    return without


def save_plot(axes: Any, path: Path) -> None:
    """Save a picture in the format of the file extension."""
    from localdp.formats.atomic_write import atomic_write
    from localdp.plots import figure_of

    with atomic_write(path) as unfinished:
        figure_of(axes).savefig(unfinished, format=path.suffix[1:].lower())


def show(table: Table, json_only: bool, notes: Sequence[str] = (), out: Path | None = None) -> None:
    """Print a table for people, with notes on standard error, or as JSON without them.

    On a terminal, long tables are cut. If the rows went to standard output already, only the notes are printed.
    """
    if out is not None and is_standard(out):
        pass
    elif json_only:
        print(as_json(table))
        return
    else:
        print(_for_people(table))
    for sentence in notes:
        note(sentence)


def _for_people(table: Table) -> str:
    if not sys.stdout.isatty() or len(table) <= ROWS_ON_TERMINAL:
        return table.text(len(table))
    return f"{table.text(ROWS_ON_TERMINAL)} (all of them with -o FILE, or through a pipe)"


def as_json(table: Table) -> str:
    """The rows of a table as a JSON list of objects."""
    rows = [
        {name: None if value != value else value for name, value in zip(table.columns, row, strict=True)}
        for row in table
    ]
    return json.dumps(rows, ensure_ascii=False, indent=1)
