"""What every engine does, so that commands and checks need not know which one it is."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from localdp.engines.file_parts import Task, tasks_of
from localdp.engines.partial import FileCount, Partial, result
from localdp.engines.privatizing import check_out
from localdp.engines.rows import checked_bad
from localdp.errors import InvalidInputError
from localdp.plan import Aggregate, Plan
from localdp.studies import Part, part_of

if TYPE_CHECKING:
    import pyarrow as pa

Paths = Sequence[str | os.PathLike[str]]
Aggregates = Aggregate | dict[Any, Aggregate]


@dataclass(frozen=True)
class CountedFiles:
    """The reports of several files together, and for each file how many there were and what identifies them."""

    aggregate: Aggregate
    files: tuple[FileCount, ...]


class Engine(ABC):
    """Counts the reports in files and in the columns of its own data frames, and makes reports of values.

    What is asked is a plan, or a part of a study; then the values are those of the people whom the part asks.

    An author of an engine writes `workers`, `count_tasks`, `columns`, `count_column`, `write_reports`, and, for
    `check_engine`, `frame` and `table`. One whose data frames need other checks replaces `aggregate` and `privatize`.
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many tasks can run at the same time."""

    @abstractmethod
    def count_tasks(self, plan: Plan, tasks: Sequence[Task], bad: str) -> Partial:
        """Run `attempt_parts` on every task and add up what it returns."""

    def columns(self, frame: Any) -> list[str]:
        """The names of the columns of a data frame; an `InvalidInputError` if it is none of this engine."""
        raise NotImplementedError

    def count_column(self, frame: Any, part: Part, column: str, by: str | None, bad: str) -> Partial:
        """The sums of the reports in a column that is there; with `by`, for each value of that column."""
        raise NotImplementedError

    def write_reports(self, frame: Any, part: Part, column: str, out: str, keep: Sequence[str]) -> Any:
        """Write one report for each value of a column into the new folder `out`, beside the columns to keep.

        Returns what was written as a data frame. The columns are there, and are none that must not be kept.
        """
        raise NotImplementedError

    @abstractmethod
    def frame(self, tables: Sequence[pa.Table]) -> Any:
        """A data frame of this engine, with a partition for each table. The check makes its examples with it."""

    @abstractmethod
    def table(self, frame: Any) -> pa.Table:
        """All rows of a data frame of this engine."""

    def aggregate(
        self, frame: Any, plan: Plan | Part, column: str = "report", by: str | None = None, *, bad: str = "fail"
    ) -> Aggregates:
        """Count the reports in a column of a data frame; with `by`, for each value of that column."""
        checked_bad(bad)
        check_columns(self.columns(frame), [column] if by is None else [column, by])
        part = part_of(plan)
        return result(part.plan, self.count_column(frame, part, column, by, bad), by)

    def privatize(
        self, frame: Any, plan: Plan | Part, column: str = "value", *, out: str, keep: Sequence[str] = ()
    ) -> Any:
        """Write one report for each value of a column into the new folder `out`, and return it as a data frame."""
        check_columns(self.columns(frame), [column, *keep])
        check_out(column, keep)
        return self.write_reports(frame, part_of(plan), column, out, keep)

    def count_files(self, paths: Paths, plan: Plan | Part, *, bad: str = "fail") -> CountedFiles:
        """Count the reports in files, which every worker must see under the same paths."""
        asked = part_of(plan).plan
        partial = self.count_tasks(asked, tasks_of([Path(path) for path in paths], self.workers), checked_bad(bad))
        return counted(asked, partial, len(paths))

    def aggregate_files(self, paths: Paths, plan: Plan | Part, *, bad: str = "fail") -> Aggregate:
        """Count the reports in files. Files that hold the same reports are an error: people would count twice."""
        found = self.count_files(paths, plan, bad=bad)
        seen: dict[str, Any] = {}
        for path, file in zip(paths, found.files, strict=True):
            if file.n and file.identity in seen:
                raise InvalidInputError(
                    f"{seen[file.identity]} and {path} hold the same reports: the same people would count twice"
                )
            seen[file.identity] = path
        return found.aggregate


def counted(plan: Plan, partial: Partial, number: int) -> CountedFiles:
    """The aggregate of all files, with what identifies those that are not empty."""
    aggregate = result(plan, partial, by=None)
    assert isinstance(aggregate, Aggregate)  # noqa: S101 (for the type checker: nothing is grouped)
    files = tuple(partial.files.get(place, FileCount()) for place in range(number))
    aggregate.sources = frozenset(file.identity for file in files if file.n)
    return CountedFiles(aggregate, files)


def check_columns(names: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise an error unless a data frame with these columns has the wanted ones."""
    for column in wanted:
        if list(names).count(column) != 1:
            known = ", ".join(map(repr, list(names)[:8]))
            raise InvalidInputError(f"the data frame has no column {column!r}, or several: it has {known}")
