"""Make reports of the values in a column, inside a task.

**Every attempt draws its own noise.** A keystream with a new key from the operating system is made in the task, for
each batch of values. No key ever travels, so no two tasks, and no two attempts at one task, can share a keystream,
whether they run in one process, in forked processes or on several machines. A keystream that an attempt used for some
values is therefore never used for others, even if the second attempt sees the rows in another order.

**Every person's report is made visible once.** Two attempts at one task make two different reports for each person, and
whoever sees both has lost twice epsilon. A data frame that is computed anew whenever it is used would do that silently.
So reports are written to files as they are made, the first complete attempt at a part counts, and what is returned
reads the files.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localdp.errors import InvalidInputError, UnknownItemError
from localdp.files.base import load_pyarrow
from localdp.files.columns import report_array, report_schema
from localdp.held import Held
from localdp.plan import Plan, Reports
from localdp.questions import Question
from localdp.studies import Part, part_of

if TYPE_CHECKING:
    import pyarrow as pa


def reports_of(values: pa.Array, asked: Plan | Part, column: str) -> Reports:
    """One report for each value, with a secure keystream that is used for nothing else."""
    part = part_of(asked)
    return part.plan.privatize_held(_held(values, part.question, column))


def _held(values: Any, question: Question, column: str) -> Held:
    types = load_pyarrow().types
    if types.is_dictionary(values.type):
        values = values.dictionary_decode()
    plain = types.is_integer(values.type) and not values.null_count
    try:
        return question.read(values.to_numpy() if plain else values.to_pylist())
    except UnknownItemError:
        # The value is not shown: it is somebody's answer, and errors end up in the logs of a cluster.
        raise UnknownItemError(
            f"the column {column!r} has a value that is not an item of the plan: make the plan with a catch-all, as in "
            "Plan(items, other='something else')"
        ) from None
    except InvalidInputError:
        words = question.words
        raise InvalidInputError(
            f"the column {column!r} has a value that cannot be read: everybody answers with {words.answer}, such as "
            f"{words.example}"
        ) from None


def check_out(column: str, keep: Sequence[str]) -> None:
    """Refuse to publish the values themselves beside their reports."""
    if column in keep or "report" in keep:
        raise InvalidInputError(
            f"columns that are kept are published as they are: keep neither the values ({column!r}) nor a column "
            "named 'report'"
        )


def write_part(asked: Plan | Part, table: pa.Table, column: str, keep: Sequence[str], path: Path) -> int:
    """Write the reports of one part into a new Parquet file; return how many there are.

    If another attempt has written the file already, that file is kept and this attempt's reports are thrown away.
    """
    pyarrow = load_pyarrow("parquet")
    table = table.combine_chunks()
    schema = report_schema(part_of(asked).plan)
    for name in keep:
        schema = schema.append(table.schema.field(name))
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with pyarrow.parquet.ParquetWriter(temporary, schema, compression="none", use_dictionary=False) as writer:
            for batch in table.select([column, *keep]).to_batches():
                if batch.num_rows:
                    reports = report_array(reports_of(batch.column(0), asked, column).rows)
                    kept = [batch.column(place + 1) for place in range(len(keep))]
                    writer.write_batch(pyarrow.RecordBatch.from_arrays([reports, *kept], schema=schema))
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        _publish(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return int(table.num_rows)


def _publish(temporary: Path, path: Path) -> None:
    """Give the file its name, unless there is one of that name: a hard link is made only where there is none."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without hard links
        if not path.exists():
            temporary.replace(path)
