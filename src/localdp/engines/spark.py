"""The engine on Spark: Arrow batches in Python workers, and one exchange that adds up the sums.

Every task turns its reports into sums and cuts them into slices. Spark sends all slices of one number to the same task,
which adds them up, so the adding is shared and nobody gets the sums of all tasks; the driver collects the total only. A
lost worker does not matter: Spark computes again what it had.

Files are not read by Spark but by the tasks themselves, each its share of them: the reports in our files are counted
where they lie, and Spark would turn each of them into a row first.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from localdp.engines.base import Aggregates, Engine, Paths
from localdp.engines.failures import CARRIED, TaskError, described, found_in
from localdp.engines.file_parts import Task, attempt_parts
from localdp.engines.partial import FileCount, Group, Partial, Sums
from localdp.engines.privatizing import reports_of
from localdp.engines.rows import add_column
from localdp.errors import EngineError, InvalidInputError, LocalDPError, MissingPackageError, PlanMismatchError
from localdp.files.base import load_pyarrow
from localdp.plan import Aggregate, Plan
from localdp.studies import Part

if TYPE_CHECKING:
    import pyarrow as pa

_SLICE = 1 << 17  # numbers in a slice of the sums: 1 MiB
_FEW_NUMBERS = 1 << 23  # sums of all tasks together, 64 MiB: the driver adds them up sooner than an exchange begins
_PLAN_KEY = "localdp-plan"
_ON_THIS_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}


class SparkEngine(Engine):
    """Counts on a Spark session. Its data frames are those of `pyspark.sql`."""

    name = "spark"

    def __init__(self, session: Any) -> None:
        self._session = session

    @cached_property
    def workers(self) -> int:
        try:
            return max(1, int(self._session.sparkContext.defaultParallelism))
        except AttributeError:  # Spark Connect does not tell
            return int(self._session.conf.get("spark.sql.shuffle.partitions", "8"))

    def count_tasks(self, plan: Plan, tasks: Sequence[Task], bad: str) -> Partial:
        if not tasks:
            return Partial()
        numbers = self._session.range(0, len(tasks), 1, len(tasks))  # one number for each partition
        few = len(tasks) * plan.mechanism.partial_size <= _FEW_NUMBERS
        return self._added(numbers, _CountTasks(plan, tuple(tasks), bad), None, exchange=not few)

    def columns(self, frame: Any) -> list[str]:
        return _columns(frame)

    def count_column(self, frame: Any, part: Part, column: str, by: str | None, bad: str) -> Partial:
        _check_part(frame.schema[column], part)
        wanted, key_type = ([column], None) if by is None else ([column, by], frame.schema[by].dataType)
        return self._added(frame.select(*wanted), _CountColumn(part.plan, by is not None, bad), key_type)

    def write_reports(self, frame: Any, part: Part, column: str, out: str, keep: Sequence[str]) -> Any:
        types, mark = _load("pyspark.sql.types"), {_PLAN_KEY: part.fingerprint}
        fields = [types.StructField("report", types.BinaryType(), False, mark)]
        schema = types.StructType([*fields, *(frame.schema[name] for name in keep)])
        with _failures():
            reports = _mapped(frame.select(column, *keep), _Privatize(part, column), schema)
            # Spark forgets the column's metadata on the way through Python.
            marked = reports.withMetadata("report", mark)
            marked.write.mode("errorifexists").parquet(out)
        return self._session.read.parquet(out)

    def frame(self, tables: Sequence[pa.Table]) -> Any:
        whole = load_pyarrow().concat_tables(tables)
        schema = self._session.createDataFrame(whole.slice(0, 1)).schema
        numbers = self._session.range(0, len(tables), 1, len(tables))
        return _mapped(numbers, _Tables(tuple(tables)), schema)

    def table(self, frame: Any) -> pa.Table:
        return frame.toArrow()

    def _added(self, frame: Any, count: Any, key_type: Any, exchange: bool = True) -> Partial:
        """The sum of what `count` yields for all partitions of the frame, added up by an exchange or by the driver."""
        schema = _schema(key_type)
        with _failures():
            sums = _mapped(frame, count, schema)
            if exchange:
                sums = _mapped(sums.repartition(self.workers, "key", "slice"), _add_slices, schema)
            return _assembled(row.asDict() for row in sums.collect())


def aggregate(
    df: Any, plan: Plan | Part, column: str = "report", by: str | None = None, *, bad: str = "fail"
) -> Aggregates:
    """Count the reports in a column of a Spark data frame: an `Aggregate`, or with `by` one for each value of `by`.

    The work is done on the cluster of the data frame's session. A row that is not a report of the plan is a
    `WireError`; with `bad="skip"` such rows are left out and counted in `skipped`. If the column says under which plan
    its reports were made, as those of `privatize` do, another plan is a `PlanMismatchError`.
    """
    return _engine_of(df).aggregate(df, plan, column, by, bad=bad)


def aggregate_files(paths: Paths, plan: Plan | Part, *, session: Any, bad: str = "fail") -> Aggregate:
    """Count the reports in files on the cluster of a session. Every worker must see them under the same paths."""
    return SparkEngine(session).aggregate_files(paths, plan, bad=bad)


def privatize(df: Any, plan: Plan | Part, column: str = "value", *, out: str, keep: Sequence[str] = ()) -> Any:
    """Make a report of every value in a column, write the reports to `out` as Parquet, and return them.

    The columns in `keep` are copied beside the reports: they are published as they are.
    """
    return _engine_of(df).privatize(df, plan, column, out=out, keep=keep)


@contextmanager
def connect(address: str | None = None) -> Iterator[SparkEngine]:
    """This engine on a cluster such as spark://10.0.0.1:7077; without an address, on the processors of this machine."""
    sql = _load("pyspark.sql")
    _check_java()
    with _any_pandas():
        builder = sql.SparkSession.builder.appName("localdp")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    if address is None:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= _ON_THIS_MACHINE
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        with _any_pandas():
            session = builder.master(address or "local[*]").getOrCreate()
    except Exception as error:
        raise EngineError(f"Spark cannot start on {address or 'this machine'}: {_cause(error)}") from error
    try:
        yield SparkEngine(session)
    finally:
        session.stop()


# What runs inside the tasks.


@dataclass(frozen=True)
class _CountTasks:
    """Counts the files of those tasks whose numbers are in the batches."""

    plan: Plan
    tasks: tuple[Task, ...]
    bad: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _slices(attempt_parts(self.plan, self.tasks[number], self.bad), None)


@dataclass(frozen=True)
class _CountColumn:
    """Counts the reports in the first column of the batches, by the values of the second one if there is one."""

    plan: Plan
    grouped: bool
    bad: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tally, key_type = Sums(self.plan), None
        try:
            for batch in batches:
                keys = batch.column(1) if self.grouped else None
                key_type = None if keys is None else keys.type
                add_column(tally, self.plan, batch.column(0), keys, self.bad)
            found = tally.partial()
        except CARRIED as error:
            found = Partial(failure=described(error))
        yield from _slices(found, key_type)


@dataclass(frozen=True)
class _Privatize:
    """Makes reports of the first column of the batches; the other columns stay as they are."""

    part: Part
    column: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pyarrow = load_pyarrow()
        for batch in batches:
            if not batch.num_rows:
                continue
            try:
                rows = reports_of(batch.column(0), self.part, self.column).rows
            except CARRIED as error:
                raise TaskError(described(error)) from None
            offsets = pyarrow.py_buffer(np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32))
            reports = pyarrow.Array.from_buffers(
                pyarrow.binary(), len(rows), [None, offsets, pyarrow.py_buffer(np.ascontiguousarray(rows))]
            )
            kept, names = batch.columns[1:], batch.schema.names[1:]
            yield pyarrow.RecordBatch.from_arrays([reports, *kept], names=["report", *names])


@dataclass(frozen=True)
class _Tables:
    """Yields the tables whose numbers are in the batches."""

    tables: tuple[pa.Table, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.tables[number].to_batches()


def _add_slices(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add up the slices that have the same group and number."""
    key_types: list[Any] = []

    def rows() -> Iterator[dict[str, Any]]:
        for batch in batches:
            key_types[:] = [batch.schema.field("key").type]
            yield from batch.to_pylist()

    for row in _added_rows(rows()):
        yield _batch({**row, "files": json.dumps(row["files"]), "sums": row["sums"].tobytes()}, key_types[0])


def _added_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each slice of each group, with `files` and `sums` decoded."""
    found: dict[tuple[Any, int], dict[str, Any]] = {}
    for row in rows:
        sums = np.frombuffer(row["sums"], np.int64)
        empty = {**row, "n": 0, "skipped": 0, "files": {}, "failure": "", "sums": np.zeros_like(sums)}
        total = found.setdefault((row["key"], row["slice"]), empty)
        total["n"] += row["n"]
        total["skipped"] += row["skipped"]
        total["failure"] = total["failure"] or row["failure"]
        np.add(total["sums"], sums, out=total["sums"])
        for number, (n, identity) in json.loads(row["files"]).items():
            known = total["files"].get(number, [0, ""])
            total["files"][number] = [known[0] + n, known[1] or identity]
    return list(found.values())


def _slices(partial: Partial, key_type: Any) -> Iterator[pa.RecordBatch]:
    """A partial result as rows: a row for each slice of the sums of each group, and one for everything else."""
    files = {number: [file.n, file.identity] for number, file in partial.files.items()}
    rest = {"key": None, "slice": -1, "n": 0, "skipped": 0, "sums": b""}
    yield _batch({**rest, "files": json.dumps(files), "failure": partial.failure}, key_type)
    for key, group in partial.groups.items():
        for start in range(0, len(group.sums), _SLICE):
            first = start == 0  # the numbers of the whole group travel with its first slice
            row = {"key": key, "slice": start // _SLICE, "files": "{}", "failure": ""}
            row |= {"n": group.n if first else 0, "skipped": group.skipped if first else 0}
            yield _batch({**row, "sums": group.sums[start : start + _SLICE].tobytes()}, key_type)


def _batch(row: dict[str, Any], key_type: Any) -> pa.RecordBatch:
    """A batch of one row."""
    pa = load_pyarrow()
    kinds = {"key": key_type or pa.string(), "slice": pa.int64(), "n": pa.int64(), "skipped": pa.int64()}
    kinds |= {"files": pa.string(), "failure": pa.string(), "sums": pa.binary()}
    return pa.RecordBatch.from_arrays([pa.array([row[name]], kind) for name, kind in kinds.items()], names=list(kinds))


def _schema(key_type: Any) -> Any:
    """The columns of `_batch`, as Spark names their types."""
    types = _load("pyspark.sql.types")
    kinds = {"key": key_type or types.StringType()} | dict.fromkeys(("slice", "n", "skipped"), types.LongType())
    kinds |= {"files": types.StringType(), "failure": types.StringType(), "sums": types.BinaryType()}
    return types.StructType([types.StructField(name, kind, True) for name, kind in kinds.items()])


# What runs where the session is.


def _assembled(rows: Iterable[dict[str, Any]]) -> Partial:
    """The total, from rows that were added up before or not."""
    slices: dict[Any, dict[int, Any]] = {}
    files: dict[int, FileCount] = {}
    failure = ""
    for row in _added_rows(rows):
        failure = failure or row["failure"]
        files |= {int(number): FileCount(*found) for number, found in row["files"].items()}
        if row["slice"] >= 0:
            slices.setdefault(row["key"], {})[row["slice"]] = row
    groups = {}
    for key, parts in slices.items():
        sums = np.concatenate([parts[number]["sums"] for number in range(len(parts))])
        groups[key] = Group(parts[0]["n"], parts[0]["skipped"], sums)
    return Partial(groups, files, failure)


def _mapped(frame: Any, function: Any, schema: Any) -> Any:
    with _any_pandas():
        return frame.mapInArrow(function, schema)


@contextmanager
def _any_pandas() -> Iterator[None]:
    """Silence Spark's warning of pandas 3: none of this uses pandas, and the tests run with that version."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def _columns(frame: Any) -> list[str]:
    if not hasattr(frame, "mapInArrow"):
        raise InvalidInputError(f"expected a Spark data frame, not {type(frame).__name__}")
    return list(frame.columns)


def _check_part(field: Any, part: Part) -> None:
    marked = (field.metadata or {}).get(_PLAN_KEY, part.fingerprint)
    if marked != part.fingerprint:
        raise PlanMismatchError(
            f"the column {field.name!r} holds reports made under plan {marked[:12]}..., not {part.fingerprint[:12]}..."
        )


def _engine_of(frame: Any) -> SparkEngine:
    _columns(frame)
    return SparkEngine(frame.sparkSession)


@contextmanager
def _failures() -> Iterator[None]:
    """Turn what Spark raises into errors of this library."""
    try:
        yield
    except LocalDPError:
        raise
    except Exception as error:
        carried = found_in(str(error))
        if carried is not None:
            raise carried from None
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        raise EngineError(f"the Spark job failed: {_cause(error)}") from error


def _cause(error: Exception) -> str:
    """The line of a long message of Spark that says most."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "Error: " in line or "Exception: " in line]
    return (telling or lines or [type(error).__name__])[-1][:300]


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not (shutil.which("java") or (home and os.access(os.path.join(home, "bin", "java"), os.X_OK))):  # noqa: PTH118
        raise EngineError(
            "Spark needs Java 17, and there is no program java on this machine: install it (for example: apt install "
            "openjdk-17-jre-headless), or set JAVA_HOME to where it is"
        )


def _load(module: str) -> Any:
    try:
        with _any_pandas():
            return import_module(module)
    except ImportError:
        raise MissingPackageError.of_extra("the Spark engine, beside Java 17,", "pyspark", "spark") from None
