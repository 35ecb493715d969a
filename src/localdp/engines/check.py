"""A public check of engines: they must count what plain NumPy counts, bit for bit, whatever the reports look like."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from localdp import files
from localdp.checks.failure import require
from localdp.engines.base import Engine, counted
from localdp.engines.file_parts import tasks_of
from localdp.errors import InvalidInputError, LocalDPError, PlanMismatchError, UnknownItemError, WireError
from localdp.files.base import load_pyarrow
from localdp.plan import Aggregate, Plan, Reports

if TYPE_CHECKING:
    import pyarrow as pa

MECHANISMS = ("grr", "oue", "llh", "hr")
"""One mechanism of each way to count: a histogram, bits, a folded histogram, a histogram that is transformed."""
_ITEMS, _USERS, _TINY_FILES = 20, 600, 20
_DAYS = ("mon", "tue", None)


@dataclass(frozen=True)
class Case:
    """An engine, a folder that all its workers see, and a seed."""

    engine: Engine
    folder: Path
    seed: int


def check_engine(engine: Engine, folder: str | Path | None = None, seed: int = 0) -> None:
    """Run all checks on an engine. Raises `CheckFailure` at the first one that fails.

    `folder` is where files for the checks are written. All workers must see it; by default it is a temporary folder of
    this machine.

    >>> from localdp.engines import connect
    >>> with connect("local") as engine:
    ...     check_engine(engine)
    """
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for check in ENGINE_CHECKS:
            inside = Path(place) / check.__name__
            inside.mkdir()
            check(Case(engine, inside, seed))


def check_columns_and_groups(case: Case) -> None:
    """A column gives the counts of NumPy, with and without groups, with empty partitions among the others.

    Catches partitions that are lost or counted twice, and groups that are mixed up.
    """
    for name in MECHANISMS:
        plan, reports = _example(name, case.seed)
        days = np.arange(_USERS) % len(_DAYS)
        whole = _as_table(reports, [_DAYS[day] for day in days])
        cuts = (0, 0, 1, 250, 250, _USERS, _USERS)
        frame = case.engine.frame([whole.slice(a, b - a) for a, b in pairwise(cuts)])
        by_day = case.engine.aggregate(frame, plan, by="day")
        assert isinstance(by_day, dict)  # noqa: S101 (for the type checker)
        require(
            list(by_day) == list(_DAYS),
            f"{case.engine.name}: grouping by a column that holds {_DAYS} gave groups for {list(by_day)}",
        )
        for place, day in enumerate(_DAYS):
            part = _counted(plan, Reports(plan, np.ascontiguousarray(reports.rows[days == place])))
            _require_same(case, by_day[day], part, f"the {name} reports of {day}")
    _require_same(case, case.engine.aggregate(frame, plan), _counted(plan, reports), "a column of reports")
    empty = case.engine.aggregate(case.engine.frame([whole.slice(0, 0)]), plan)
    _require_same(case, empty, Aggregate(plan), "a data frame without rows")


def check_bad_rows(case: Case) -> None:
    """Rows that are not reports fail, or are skipped and counted.

    Catches bad rows that are counted, good ones that are skipped with them, and errors that lose their kind on the way.
    """
    plan, reports = _example("grr", case.seed)  # 20 items in a byte: most bytes are not reports
    good = [bytes(row) for row in reports.rows]
    bad: list[bytes | None] = [None, b"", b"\x00\x00", b"\xff", bytes([_ITEMS]), b"\xfe" * 3]
    mixed = good[:300] + bad + good[300:] + bad
    pa = load_pyarrow()
    table = pa.table({"report": pa.array(mixed, pa.binary()), "day": pa.array(["mon"] * 300 + ["tue"] * 312)})
    frame = case.engine.frame([table.slice(0, 200), table.slice(200)])
    _require_error(case, WireError, "rows that are not reports", lambda: case.engine.aggregate(frame, plan))
    found = case.engine.aggregate(frame, plan, bad="skip")
    _require_same(case, found, _counted(plan, reports), "good rows among bad ones", skipped=2 * len(bad))
    by_day = case.engine.aggregate(frame, plan, by="day", bad="skip")
    assert isinstance(by_day, dict)  # noqa: S101 (for the type checker)
    skipped = {day: (each.n, each.skipped) for day, each in by_day.items()}
    require(
        skipped == {"mon": (300, 0), "tue": (300, 12)},
        f"{case.engine.name}: reports and skipped rows by day are {skipped}, not 300 and 0, 300 and 12",
    )
    path = case.folder / "bad.parquet"
    broken = np.array([[_ITEMS], [255]], np.uint8)
    _write(path, plan, [reports, Reports.of_checked_rows(plan, broken)])
    _require_error(case, WireError, "a file with bad rows", lambda: case.engine.aggregate_files([path], plan))
    found = case.engine.aggregate_files([path], plan, bad="skip")
    _require_same(case, found, _counted(plan, reports), "a file with two bad rows", skipped=2)
    _require_error(
        case, InvalidInputError, "an unknown policy", lambda: case.engine.aggregate(frame, plan, bad="ignore")
    )


def check_files(case: Case) -> None:
    """One file with many row groups and many tiny files, empty ones among them, give the same counts and identities.

    Catches files and row groups that are lost or counted twice.
    """
    for name in MECHANISMS:
        plan, reports = _example(name, case.seed)
        paths = [case.folder / f"huge-{name}.parquet"]
        _write(paths[0], plan, [reports[start : start + 50] for start in range(0, _USERS, 50)])
        step = -(-_USERS // _TINY_FILES)
        for number in range(_TINY_FILES + 2):
            paths.append(case.folder / f"tiny-{name}-{number}.{'arrow' if number % 3 else 'parquet'}")
            _write(paths[-1], plan, [reports[number * step : (number + 1) * step]])
        cut = paths[0].stat().st_size // 3
        tasks = tasks_of(paths, workers=2, cut_bytes=cut, least_bytes=cut)
        found = counted(plan, case.engine.count_tasks(plan, tasks, "fail"), len(paths))
        twice = _counted(plan, reports).merge(_counted(plan, reports))
        _require_same(case, found.aggregate, twice, f"one large and {len(paths) - 1} tiny files of {name} reports")
        sizes = [file.n for file in found.files]
        require(
            sizes == [_USERS] + [step] * _TINY_FILES + [0, 0],
            f"{case.engine.name}: a file of {_USERS} reports, {_TINY_FILES} of {step} and two empty ones gave {sizes}",
        )
        identities = {file.identity for file in found.files if file.n}
        require(
            len(identities) == _TINY_FILES + 1 and found.aggregate.sources == identities,
            f"{case.engine.name}: {_TINY_FILES + 1} different files have {len(identities)} identities",
        )
    _require_error(
        case,
        InvalidInputError,
        "the same file twice",
        lambda: case.engine.aggregate_files([paths[0], paths[0]], plan),
    )


def check_other_plans(case: Case) -> None:
    """Reports of another plan are refused, in files by their fingerprint and in columns by their length."""
    plan, reports = _example("oue", case.seed)
    path = case.folder / "reports.parquet"
    _write(path, plan, [reports])
    twin = Plan(_ITEMS, "oue", 2.5)  # its reports have the same length
    _require_error(case, PlanMismatchError, "a file of another plan", lambda: case.engine.aggregate_files([path], twin))
    frame = case.engine.frame([_as_table(reports, ["mon"] * _USERS)])
    other = Plan(9 * _ITEMS, "oue", 2.0)
    _require_error(case, WireError, "a column of another plan", lambda: case.engine.aggregate(frame, other))
    _require_error(case, InvalidInputError, "a missing column", lambda: case.engine.aggregate(frame, plan, "value"))


def check_release(case: Case) -> None:
    """Each value becomes one report, made with noise of its own, and reading the result again changes nothing.

    Catches a keystream that two tasks or two runs share, and a data frame that draws new noise whenever it is used.
    """
    plan = Plan(512, "oue", 1.0)  # two reports of one value agree with probability below 1e-100
    pa = load_pyarrow()
    part = pa.table({"value": pa.array(list(range(8)) * 5), "day": pa.array(["mon"] * 40)})
    frame = case.engine.frame([part, part, part.slice(0, 0), part])
    seen: list[bytes] = []
    for run in range(2):
        made = case.engine.privatize(frame, plan, out=str(case.folder / f"out-{run}"), keep=["day"])
        first, again = (sorted(case.engine.table(made).column("report").to_pylist()) for _ in range(2))
        require(first == again, f"{case.engine.name}: reading the reports again gave other reports")
        require(len(first) == 120, f"{case.engine.name}: 120 values became {len(first)} reports")
        counted = case.engine.aggregate(made, plan, by="day")
        require(
            isinstance(counted, dict) and counted["mon"].n == 120,
            f"{case.engine.name}: the reports that it made cannot be counted",
        )
        seen += first
    require(
        len(set(seen)) == 240,
        f"{case.engine.name}: of 240 reports only {len(set(seen))} differ, so noise was drawn twice from one keystream",
    )
    stranger = case.engine.frame([pa.table({"value": pa.array([3, 4_711])})])
    error = _require_error(
        case,
        UnknownItemError,
        "a value that is not in the plan",
        lambda: case.engine.privatize(stranger, plan, out=str(case.folder / "out-3")),
    )
    require(
        "4711" not in error and "4,711" not in error, f"{case.engine.name}: an error shows somebody's value: {error}"
    )


def check_other_answers(case: Case) -> None:
    """Sets of items, and values of people who are asked again, are made into reports and counted like single items.

    Catches an engine that takes every value for one item of a list.
    """
    pa = load_pyarrow()
    sets = pa.array([[3, 5], [], [5], [0, 1, 2]] * 25, pa.list_(pa.int64()))
    for plan, values in (
        (Plan(_ITEMS, epsilon=4.0, set_size=3), sets),
        (Plan(_ITEMS, epsilon=4.0, once=2.0), pa.array(list(range(_ITEMS)) * 5)),
    ):
        table = pa.table({"value": values})
        frame = case.engine.frame([table.slice(0, 30), table.slice(30)])
        made = case.engine.privatize(frame, plan, out=str(case.folder / f"out-{plan.fingerprint[:8]}"))
        found = case.engine.aggregate(made, plan)
        rows = np.array([list(report) for report in case.engine.table(made).column("report").to_pylist()], np.uint8)
        _require_same(case, found, _counted(plan, Reports(plan, rows)), f"the reports of {plan.question!r}")
        require(
            isinstance(found, Aggregate) and found.n == len(table),
            f"{case.engine.name}: {len(table)} answers to {plan.question!r} became {getattr(found, 'n', 0)} reports",
        )


ENGINE_CHECKS: tuple[Callable[[Case], None], ...] = (
    check_columns_and_groups,
    check_bad_rows,
    check_files,
    check_other_plans,
    check_release,
    check_other_answers,
)
"""Each takes a `Case`."""


def _example(mechanism: str, seed: int) -> tuple[Plan, Reports]:
    plan = Plan(_ITEMS, mechanism, 0.5 if mechanism == "hr" else 2.0)
    values = np.random.default_rng(seed).integers(0, _ITEMS, _USERS)
    return plan, plan.privatize(values, seed=seed)


def _counted(plan: Plan, reports: Reports) -> Aggregate:
    """The counts by the definition: one item after the other."""
    supported = [int(plan.mechanism.supports(reports.rows, item).sum()) for item in range(plan.mechanism.outcomes)]
    return Aggregate(plan, np.array(supported, np.int64), len(reports))


def _as_table(reports: Reports, days: list[str | None]) -> pa.Table:
    pa = load_pyarrow()
    return pa.table({"report": pa.array([bytes(row) for row in reports.rows], pa.binary()), "day": pa.array(days)})


def _write(path: Path, plan: Plan, pieces: list[Reports]) -> None:
    with files.reports_writer(path, plan) as write:
        for piece in pieces:
            if len(piece):
                write(piece)


def _require_same(case: Case, found: Any, expected: Aggregate, what: str, skipped: int = 0) -> None:
    require(
        found == expected and found.counts.dtype == np.int64,
        f"{case.engine.name}: {what} gave {found!r} with the counts {getattr(found, 'counts', None)}; expected "
        f"{expected!r} with {expected.counts}",
    )
    require(
        found.skipped == skipped, f"{case.engine.name}: {what}: {found.skipped} rows were skipped, expected {skipped}"
    )


def _require_error(case: Case, kind: type[LocalDPError], what: str, work: Callable[[], Any]) -> str:
    """The message of the error that the work raises, which must be of this kind."""
    try:
        work()
    except kind as error:
        return str(error)
    except Exception as error:
        require(False, f"{case.engine.name}: {what} raised {type(error).__name__} ({error}); expected {kind.__name__}")
    require(False, f"{case.engine.name}: {what} was accepted; expected {kind.__name__}")
    return ""
