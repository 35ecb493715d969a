"""The engine on Dask: a graph of tasks, on whichever scheduler is in use.

With a `distributed.Client`, that is its cluster; without one, threads of this process. A worker that is lost in the
middle of the work does not matter: Dask gives its tasks to another one.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localdp.engines.base import Aggregates, Engine, Paths
from localdp.engines.failures import CARRIED, described, raised
from localdp.engines.file_parts import Task, attempt_parts
from localdp.engines.partial import Partial, Sums, merged
from localdp.engines.privatizing import write_part
from localdp.engines.rows import add_column
from localdp.errors import EngineError, InvalidInputError, MissingPackageError
from localdp.files.base import load_pyarrow
from localdp.kernels import threads
from localdp.plan import Aggregate, Plan
from localdp.studies import Part

if TYPE_CHECKING:
    import pyarrow as pa

_FAN_IN = 8  # results that one task of the merge tree adds up


class DaskEngine(Engine):
    """Counts on the scheduler that Dask uses at the moment. Its data frames are `dask.dataframe`s."""

    name = "dask"

    def __init__(self) -> None:
        self._dask = _load("dask")

    @cached_property
    def workers(self) -> int:
        client = _current_client()
        return max(1, sum(client.nthreads().values())) if client else threads.workers()

    def count_tasks(self, plan: Plan, tasks: Sequence[Task], bad: str) -> Partial:
        shared, count = self._shared(plan), self._dask.delayed(attempt_parts, pure=False)
        return self._added([count(shared, task, bad) for task in tasks])

    def columns(self, frame: Any) -> list[str]:
        if not hasattr(frame, "to_delayed") or not hasattr(frame, "columns"):
            raise InvalidInputError(f"expected a Dask data frame, not {type(frame).__name__}")
        return list(frame.columns)

    def count_column(self, frame: Any, part: Part, column: str, by: str | None, bad: str) -> Partial:
        _check_bytes(frame.dtypes[column], column)
        shared, count = self._shared(part.plan), self._dask.delayed(_count_frame, pure=False)
        pieces = frame[[column] if by is None else [column, by]].to_delayed()
        return self._added([count(shared, piece, column, by, bad) for piece in pieces])

    def write_reports(self, frame: Any, part: Part, column: str, out: str, keep: Sequence[str]) -> Any:
        folder = Path(out).absolute()
        folder.mkdir()
        shared, write = self._shared(part), self._dask.delayed(_write_frame, pure=False)
        pieces = frame[[column, *keep]].to_delayed()
        failures = [""]
        try:
            failures = self._compute(
                [
                    write(shared, piece, column, tuple(keep), str(folder / f"part-{number:05}.parquet"))
                    for number, piece in enumerate(pieces)
                ]
            )
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        for failure in filter(None, failures):
            shutil.rmtree(folder, ignore_errors=True)  # an incomplete release is of no use, and must not be repeated
            raise raised(failure)
        return _load("dask.dataframe").read_parquet(str(folder))

    def frame(self, tables: Sequence[pa.Table]) -> Any:
        parts = [self._dask.delayed(_to_pandas, pure=False)(table) for table in tables]
        empty = _to_pandas(tables[0].schema.empty_table())
        return _load("dask.dataframe").from_delayed(parts, meta=empty, verify_meta=False)

    def table(self, frame: Any) -> pa.Table:
        return load_pyarrow().Table.from_pandas(frame.compute(), preserve_index=False)

    def _shared(self, plan: Plan | Part) -> Any:
        """The plan as one node of the graph, so that it travels once for each worker and not for each task."""
        return self._dask.delayed(plan, pure=False, traverse=False)

    def _added(self, partials: list[Any]) -> Partial:
        """The sum of all partial results, added up in a tree so that no single task gets them all."""
        add = self._dask.delayed(merged, pure=False)
        while len(partials) > 1:
            partials = [add(partials[start : start + _FAN_IN]) for start in range(0, len(partials), _FAN_IN)]
        found: list[Partial] = self._compute(partials)
        return found[0] if found else Partial()

    def _compute(self, results: list[Any]) -> list[Any]:
        try:
            return list(self._dask.compute(*results))
        except Exception as error:
            distributed = sys.modules.get("distributed")
            if distributed is not None and isinstance(error, distributed.KilledWorker):
                raise EngineError(
                    f"workers of the Dask cluster died again and again ({error}); they may need more memory"
                ) from error
            raise


def aggregate(
    ddf: Any, plan: Plan | Part, column: str = "report", by: str | None = None, *, bad: str = "fail"
) -> Aggregates:
    """Count the reports in a column of a Dask data frame: an `Aggregate`, or with `by` one for each value of `by`.

    The work is done where Dask does it: on the cluster of the current `distributed.Client`, or in this process. A row
    that is not a report of the plan is a `WireError`; with `bad="skip"` such rows are left out and
    counted in `skipped`.
    """
    return DaskEngine().aggregate(ddf, plan, column, by, bad=bad)


def aggregate_files(paths: Paths, plan: Plan | Part, *, bad: str = "fail") -> Aggregate:
    """Count the reports in files. Every worker must see them under the same paths."""
    return DaskEngine().aggregate_files(paths, plan, bad=bad)


def privatize(ddf: Any, plan: Plan | Part, column: str = "value", *, out: str, keep: Sequence[str] = ()) -> Any:
    """Make a report of every value in a column, write the reports into the new folder `out`, and return them.

    Each partition becomes a Parquet file. Every worker must see the folder under the same path. The columns in `keep`
    are copied beside the reports: they are published as they are.
    """
    return DaskEngine().privatize(ddf, plan, column, out=out, keep=keep)


@contextmanager
def connect(address: str | None = None) -> Iterator[DaskEngine]:
    """This engine on the cluster of a scheduler such as tcp://10.0.0.1:8786; without an address, in this process."""
    if address is None:
        yield DaskEngine()
        return
    distributed = _load("distributed")
    try:
        client = distributed.Client(address, timeout="15s")
    except (OSError, ValueError) as error:
        raise EngineError(
            f"there is no Dask scheduler at {address}: {error}. An address looks like tcp://10.0.0.1:8786"
        ) from error
    with client:
        if not client.nthreads():
            raise EngineError(
                f"the Dask scheduler at {address} has no workers: start some with `dask worker {address}`"
            )
        yield DaskEngine()


def _count_frame(plan: Plan, frame: Any, column: str, by: str | None, bad: str) -> Partial:
    """Count one partition, inside a task."""
    tally = Sums(plan)
    try:
        add_column(tally, plan, _arrow(frame[column]), None if by is None else _arrow(frame[by]), bad)
    except CARRIED as error:
        return Partial(failure=described(error))
    return tally.partial()


def _write_frame(plan: Plan | Part, frame: Any, column: str, keep: tuple[str, ...], path: str) -> str:
    """Write the reports of one partition, inside a task; return what went wrong, or nothing."""
    pyarrow = load_pyarrow()
    try:
        table = pyarrow.table({name: _arrow(frame[name]) for name in (column, *keep)})
        write_part(plan, table, column, keep, Path(path))
    except CARRIED as error:
        return described(error)
    return ""


def _arrow(series: Any) -> Any:
    """A pandas series as one Arrow array."""
    pyarrow = load_pyarrow()
    try:
        column = pyarrow.Array.from_pandas(series)
    except (pyarrow.ArrowException, TypeError) as error:
        raise InvalidInputError(f"the column {series.name!r} has rows of different kinds: {error}") from None
    return column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column


def _to_pandas(table: Any) -> Any:
    """An Arrow table as pandas, with Arrow's own types: others have none for bytes."""
    return table.to_pandas(types_mapper=import_module("pandas").ArrowDtype)


def _check_bytes(kind: Any, column: str) -> None:
    """Refuse a column that Dask has made into text, as it does with bytes of pandas' type `object`."""
    if "str" in str(kind):
        raise InvalidInputError(
            f"the column {column!r} is text, and reports are bytes. Dask makes text of columns of type object: keep it "
            'from that with dask.config.set({"dataframe.convert-string": False}), or use the type '
            "pandas.ArrowDtype(pyarrow.binary())"
        )


def _current_client() -> Any:
    """The client of the cluster that Dask uses at the moment, or None. It exists only if `distributed` is loaded."""
    distributed = sys.modules.get("distributed")
    try:
        return distributed.get_client() if distributed else None
    except ValueError:
        return None


def _load(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingPackageError.of_extra("the Dask engine", "dask", "dask") from None
