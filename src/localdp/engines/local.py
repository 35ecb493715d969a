"""The engine of one machine: threads in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localdp.engines.base import Aggregates, CountedFiles, Engine, Paths, counted
from localdp.engines.file_parts import FilePart, Task, count_part, count_parts
from localdp.engines.partial import Partial, Sums, merged
from localdp.engines.privatizing import write_part
from localdp.engines.rows import add_column, checked_bad
from localdp.errors import InvalidInputError
from localdp.files.base import load_pyarrow
from localdp.kernels import threads
from localdp.plan import Aggregate, Plan
from localdp.studies import Part, part_of
from localdp.types import Progress

if TYPE_CHECKING:
    import pyarrow as pa

Watch = Callable[[str], AbstractContextManager[Progress]]
"""Shows the progress with one file: gets its name, gives a function `progress(done, total)` for the `with` block."""


class LocalEngine(Engine):
    """Counts with threads. Its data frames are Arrow tables, or anything that Arrow can read as one."""

    name = "local"

    def __init__(self, watch: Watch | None = None) -> None:
        self._watch = watch or (lambda _name: nullcontext(lambda _done, _total: None))

    @property
    def workers(self) -> int:
        return threads.workers()

    def count_tasks(self, plan: Plan, tasks: Sequence[Task], bad: str) -> Partial:
        """Several tasks at a time, each in a thread of its own."""
        total, lock = Partial(), threading.Lock()
        together = max(1, min(self.workers, len(tasks)))

        def count(task: Task) -> int:
            nonlocal total
            found = count_parts(plan, task, bad, threads=self.workers // together)
            with lock:
                total = merged([total, found])
            return len(task)

        with self._watch("files") as progress:
            threads.each(count, tasks, sum(map(len, tasks)), progress, together)
        return total

    def count_files(self, paths: Paths, plan: Plan | Part, *, bad: str = "fail") -> CountedFiles:
        """Several files at a time. A single one is counted by all threads, and may be `-`, standard input."""
        if len(paths) > 1 and "-" not in map(str, paths):
            return super().count_files(paths, plan, bad=bad)
        asked = part_of(plan).plan
        tally, found = Sums(asked, threads=None), {}
        for number, path in enumerate(paths):
            with self._watch(Path(path).name) as progress:
                found[number] = count_part(tally, asked, FilePart(number, str(path), 0), checked_bad(bad), progress)
        return counted(asked, Partial(tally.partial().groups, found), len(paths))

    def columns(self, frame: Any) -> list[str]:
        return list(_table(frame).column_names)

    def count_column(self, frame: Any, part: Part, column: str, by: str | None, bad: str) -> Partial:
        tally = Sums(part.plan, threads=None)
        for batch in _table(frame).select([column] if by is None else [column, by]).to_batches():
            add_column(tally, part.plan, batch.column(0), None if by is None else batch.column(1), bad)
        return tally.partial()

    def write_reports(self, frame: Any, part: Part, column: str, out: str, keep: Sequence[str]) -> Any:
        folder = Path(out)
        folder.mkdir()
        path = folder / "part-00000.parquet"
        try:
            write_part(part, _table(frame), column, keep, path)
        except BaseException:
            folder.rmdir()  # nothing is in it, because the file appears when it is complete
            raise
        return load_pyarrow("parquet").parquet.read_table(path)

    def frame(self, tables: Sequence[pa.Table]) -> Any:
        return load_pyarrow().concat_tables(tables)

    def table(self, frame: Any) -> pa.Table:
        return _table(frame)


def aggregate(
    table: Any, plan: Plan | Part, column: str = "report", by: str | None = None, *, bad: str = "fail"
) -> Aggregates:
    """Count the reports in a column of a table: an `Aggregate`, or with `by` one for each value of that column.

    `table` is an Arrow table, or a data frame of pandas or Polars. A row that is not a report of the plan is a
    `WireError`; with `bad="skip"` such rows are left out, and `skipped` of the aggregate says how many there were.

    >>> import pyarrow as pa
    >>> plan = Plan(3, mechanism="grr", epsilon=1.0)
    >>> aggregate(pa.table({"report": [b"\\0", b"\\2", None, b"\\7"]}), plan, bad="skip").skipped
    2
    """
    return LocalEngine().aggregate(table, plan, column, by, bad=bad)


def aggregate_files(paths: Paths, plan: Plan | Part, *, bad: str = "fail") -> Aggregate:
    """Count the reports in files, on all processors of this machine."""
    return LocalEngine().aggregate_files(paths, plan, bad=bad)


def privatize(table: Any, plan: Plan | Part, column: str = "value", *, out: str, keep: Sequence[str] = ()) -> Any:
    """Make a report of every value in a column, write the reports into the new folder `out`, and return them.

    The columns in `keep` are copied beside the reports: they are published as they are.
    """
    return LocalEngine().privatize(table, plan, column, out=out, keep=keep)


@contextmanager
def connect(address: str | None = None) -> Iterator[LocalEngine]:
    """This engine; it has no cluster, so an address is an error."""
    if address is not None:
        raise InvalidInputError(
            f"the local engine has no cluster, so {address!r:.60} is of no use: choose dask or spark"
        )
    yield LocalEngine()


def _table(frame: Any) -> Any:
    pyarrow = load_pyarrow()
    if isinstance(frame, pyarrow.Table):
        return frame
    if hasattr(frame, "__arrow_c_stream__"):
        return pyarrow.table(frame)
    raise InvalidInputError(f"expected an Arrow table or a data frame of pandas or Polars, not {type(frame).__name__}")
