"""A column of bytes as reports: which of its rows are reports of the plan, and what to do with those that are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from localdp.engines.partial import Sums
from localdp.errors import InvalidInputError, WireCode, WireError
from localdp.files.base import load_pyarrow
from localdp.plan import Plan
from localdp.types import Flags, Rows

if TYPE_CHECKING:
    import pyarrow as pa

BAD = ("fail", "skip")
"""What to do with rows that are not reports of the plan: fail, or skip and count them."""


def checked_bad(bad: str) -> str:
    """One of the two words."""
    if bad not in BAD:
        raise InvalidInputError(f"bad rows either fail or are skipped: bad is 'fail' or 'skip', not {bad!r:.40}")
    return bad


def add_column(tally: Sums, plan: Plan, reports: pa.Array, keys: pa.Array | None, bad: str) -> None:
    """Count a column of reports, each in the group that the column `keys` says; without keys, all in one group."""
    rows, kept = reports_in(reports, plan, bad)
    if keys is None:
        tally.add(rows, skipped=len(reports) - len(rows))
        return
    for key, places in _by_key(keys):
        good = places if kept is None else places[kept[places]]
        # `rows` has only the kept rows: the place of a row among them is the number of kept rows before it.
        picked = good if kept is None else np.cumsum(kept)[good] - 1
        tally.add(rows[picked], key, skipped=len(places) - len(good))


def reports_in(column: pa.Array, plan: Plan, bad: str) -> tuple[Rows, Flags | None]:
    """The rows of a column that are reports, and which ones they are; None if all are.

    With `bad` "fail", a row that is not a report of the plan is a `WireError`.
    """
    column = _plain_bytes(column)
    fits = _fitting(column, plan.mechanism.report_bytes)
    if not fits.all():
        if bad == "fail":
            first = int(np.argmin(fits))
            size = "has no report" if not column[first].is_valid else f"is of {len(column[first].as_py())} bytes"
            raise WireError(
                WireCode.WRONG_LENGTH, f"a row {size}, and reports of this plan are of {plan.mechanism.report_bytes}"
            )
        column = column.filter(load_pyarrow().array(fits))
    rows = _joined(column, plan.mechanism.report_bytes)
    try:
        plan.mechanism.validate(rows)
    except WireError:
        if bad == "fail":
            raise
        good = np.ones(len(rows), np.bool_)
        _mark_bad(rows, plan, good)
        rows = rows[good]
        fits[fits] = good
    return rows, None if fits.all() else fits


def _mark_bad(rows: Rows, plan: Plan, good: Flags) -> None:
    """Set the mark of every row that is not a report to False: halve the rows until the bad ones are alone."""
    try:
        plan.mechanism.validate(rows)
    except WireError:
        half = len(rows) // 2
        if not half:
            good[:] = False
            return
        _mark_bad(rows[:half], plan, good[:half])
        _mark_bad(rows[half:], plan, good[half:])


def _plain_bytes(column: Any) -> Any:
    """The column with a type whose rows follow each other in memory."""
    pyarrow = load_pyarrow()
    types = pyarrow.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_binary_view(column.type) or types.is_null(column.type):
        column = column.cast(pyarrow.large_binary())
    if not (
        types.is_binary(column.type) or types.is_large_binary(column.type) or types.is_fixed_size_binary(column.type)
    ):
        raise InvalidInputError(f"a column of reports holds bytes, not {column.type}")
    return column


def _fitting(column: Any, length: int) -> Flags:
    """Which rows are there and have this length."""
    pyarrow = load_pyarrow("compute")
    fits = pyarrow.compute.equal(pyarrow.compute.binary_length(column), length)
    return np.array(pyarrow.compute.fill_null(fits, False).to_numpy(zero_copy_only=False), np.bool_)


def _joined(column: Any, length: int) -> Rows:
    """The bytes of a column whose rows all have this length, without a copy."""
    if not len(column):
        return np.empty((0, length), np.uint8)
    if load_pyarrow().types.is_fixed_size_binary(column.type):
        data, first = column.buffers()[1], column.offset * length
    else:
        width = np.int64 if load_pyarrow().types.is_large_binary(column.type) else np.int32
        data = column.buffers()[2]
        first = int(np.frombuffer(column.buffers()[1], width)[column.offset])
    rows = np.frombuffer(data, np.uint8, len(column) * length, first)
    rows.setflags(write=False)
    return rows.reshape(-1, length)


def _by_key(keys: Any) -> Iterator[tuple[Any, Any]]:
    """Every value of a grouping column, with the places where it is."""
    types = load_pyarrow().types
    if types.is_floating(keys.type) or types.is_nested(keys.type):
        raise InvalidInputError(f"a grouping column holds text, whole numbers, dates or truth values, not {keys.type}")
    if not len(keys):
        return
    if not types.is_dictionary(keys.type):
        keys = keys.dictionary_encode(null_encoding="encode")
    codes = keys.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    found, starts = np.unique(codes[order], return_index=True)
    for code, places in zip(found.tolist(), np.split(order, starts[1:]), strict=True):
        yield (keys.dictionary[code].as_py() if code >= 0 else None), places
