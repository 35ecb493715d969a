"""Files of reports, cut into parts that tasks count on their own.

A Parquet file of more than 128 MiB is cut between its row groups, everything else is one part. Small parts are put
together, so that the number of tasks depends on the bytes and not on the number of files. What identifies a file is a
hash over all of its reports in their order, so for a file that was cut, one more part reads all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from localdp import files
from localdp.engines.failures import CARRIED, described
from localdp.engines.partial import FileCount, Partial, Sums
from localdp.engines.rows import reports_in
from localdp.errors import DataFileError, InvalidInputError
from localdp.files.parquet import ParquetFormat
from localdp.files.typed import TypedFormat
from localdp.plan import Plan, Reports
from localdp.plan.identity import Identity
from localdp.types import Progress
from localdp.validation import checked_regular_file

_CUT_BYTES = 1 << 27  # larger Parquet files are cut
_LEAST_TASK_BYTES = 1 << 22  # less is not worth a task of its own
_MOST_TASK_BYTES = 1 << 28  # more would be a long way back if a worker is lost
_TASKS_A_WORKER = 2  # so that a worker that is done early takes over from the others


@dataclass(frozen=True)
class FilePart:
    """Some row groups of a file, or (`groups` is None) all of it, and what to do: count, identify, or both."""

    number: int
    path: str
    weight: int
    groups: range | None = None
    counts: bool = True
    identifies: bool = True


Task = tuple[FilePart, ...]
"""The parts that one task counts."""


def tasks_of(
    paths: Sequence[Path], workers: int, cut_bytes: int = _CUT_BYTES, least_bytes: int = _LEAST_TASK_BYTES
) -> list[Task]:
    """The tasks that count these files on this number of workers."""
    parts = [part for number, path in enumerate(paths) for part in _parts(number, path, cut_bytes)]
    share = sum(part.weight for part in parts) // (_TASKS_A_WORKER * workers) + 1
    most = min(max(share, least_bytes), _MOST_TASK_BYTES)
    tasks: list[Task] = []
    waiting: list[FilePart] = []
    for part in parts:
        if waiting and sum(each.weight for each in waiting) + part.weight > most:
            tasks.append(tuple(waiting))
            waiting = []
        waiting.append(part)
    return [*tasks, tuple(waiting)] if waiting else tasks


def _parts(number: int, path: Path, cut_bytes: int) -> Iterator[FilePart]:
    size = path.stat().st_size
    whole = FilePart(number, str(path.absolute()), size)
    file_format = files.format_of(path)
    groups = file_format.row_groups(path) if isinstance(file_format, ParquetFormat) and size > cut_bytes else 1
    if groups <= 1:
        yield whole
        return
    together = max(1, groups * cut_bytes // size)
    for start in range(0, groups, together):
        chosen = range(start, min(start + together, groups))
        yield replace(whole, groups=chosen, weight=size * len(chosen) // groups, identifies=False)
    yield replace(whole, counts=False)


def count_parts(plan: Plan, parts: Task, bad: str = "fail", threads: int | None = 1) -> Partial:
    """Count the parts of a task."""
    tally, found = Sums(plan, threads), dict[int, FileCount]()
    for part in parts:
        known, more = found.get(part.number, FileCount()), count_part(tally, plan, part, bad)
        found[part.number] = FileCount(known.n + more.n, known.identity or more.identity)
    return replace(tally.partial(), files=found)


def attempt_parts(plan: Plan, parts: Task, bad: str) -> Partial:
    """As `count_parts`, on another machine: an error that another attempt would meet again is part of the result."""
    try:
        return count_parts(plan, parts, bad)
    except CARRIED as error:
        return Partial(failure=described(error))


def count_part(tally: Sums, plan: Plan, part: FilePart, bad: str, progress: Progress | None = None) -> FileCount:
    """Count one part of a file, and find out what identifies it."""
    n, identity = 0, Identity(plan)
    with ThreadPoolExecutor(1) as pool:
        for reports, skipped in _pieces(part, plan, bad, progress):
            # The hash is computed while the reports are counted.
            identified = pool.submit(identity.add, reports) if part.identifies else None
            if part.counts:
                tally.add(reports.rows, skipped=skipped)
                n += len(reports)
            if identified is not None:
                identified.result()
    return FileCount(n, str(identity) if part.identifies else "")


def _pieces(part: FilePart, plan: Plan, bad: str, progress: Progress | None) -> Iterator[tuple[Reports, int]]:
    """Yield the reports in pieces, each with the number of rows that were skipped."""
    file_format = files.format_of(part.path)
    if bad == "fail":
        if part.groups is None:
            pieces = files.read_reports(part.path, plan, progress=progress)
        else:
            assert isinstance(file_format, ParquetFormat)  # noqa: S101 (no other format is cut)
            pieces = file_format.reports(checked_regular_file(part.path, DataFileError), plan, progress, part.groups)
        for reports in pieces:
            yield reports, 0
        return
    if not isinstance(file_format, TypedFormat):
        raise InvalidInputError(
            f"bad rows can be skipped in Parquet and Arrow files, and {part.path} is neither: its reports are text"
        )
    path = checked_regular_file(part.path, DataFileError)
    if isinstance(file_format, ParquetFormat):
        columns = file_format.report_column(path, plan, part.groups)
    else:
        columns = file_format.report_column(path, plan)
    for column in columns:
        rows, _ = reports_in(column, plan, bad)
        yield Reports.of_checked_rows(plan, rows), len(column) - len(rows)
