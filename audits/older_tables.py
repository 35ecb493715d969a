"""Databases whose tables have version 2, from the rows that a collector wrote (`tests/collector/version2.json`)."""

from __future__ import annotations

import base64
import json
import secrets
from pathlib import Path
from typing import Any

from localdp.collector.storage import Database, open_database, parts, schema

WRITTEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[1] / "tests" / "collector" / "version2.json").read_text("utf-8")
)
_SERIAL = (("plans", "id"), ("uploads", "seq"), ("tokens", "id"), ("discoveries", "id"))


def decoded(row: list[Any]) -> list[Any]:
    """A row with its bytes."""
    return [base64.b64decode(value["bytes"]) if isinstance(value, dict) else value for value in row]


def as_written(url: str, written: dict[str, Any], copies: int = 0) -> None:
    """Write the rows into a new database, with the tables of version 2; and so many copies of each upload."""
    newest = schema.STEPS
    schema.STEPS = newest[:2]
    try:
        database = open_database(url)
    finally:
        schema.STEPS = newest
    own = "" if url.startswith("sqlite") else "OVERRIDING SYSTEM VALUE "
    with database.writing() as session:
        for table, rows in written["tables"].items():
            for row in () if table == "schema_version" else rows:
                marks = ", ".join("?" * len(row))
                session.change(f"INSERT INTO {table} {own}VALUES ({marks})", decoded(row))
        if own:
            for table, column in _SERIAL:
                sql = f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), MAX({column})) FROM {table}"  # noqa: S608
                session.execute(sql)
        for row in written["tables"]["uploads"] if copies else ():
            _, _, *rest = decoded(row)
            for _ in range(copies):
                session.change(
                    "INSERT INTO uploads (key, plan, day, kind, count, folded, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (secrets.token_bytes(16), *rest),
                )
    database.close()


def differences_from(database: Database, written: dict[str, Any]) -> list[str]:
    """One sentence for each row that has no place in the newest tables."""
    wrong: list[str] = []
    tables = written["tables"]
    with database.reading() as session:
        by_plan = {row[0]: row[1] for row in tables["plans"]}
        columns = "key, collection, part, segment, day, kind, count, folded, verdict, standing, body"
        for row in tables["uploads"]:
            seq, key, plan, day, kind, count, folded, body = decoded(row)
            part = parts.find(session, by_plan[plan])
            found = session.execute(f"SELECT {columns} FROM uploads WHERE seq = ?", (seq,))  # noqa: S608
            now = [
                None if value is None else bytes(value) if place in (0, 10) else value
                for one in found
                for place, value in enumerate(one)
            ]
            if part is None or now != [key, part.collection, part.key, "", day, kind, count, folded, 0, 0, body]:
                wrong.append(f"upload {seq} is not as it was")
        for row in tables["aggregates"]:
            plan, day, n, suspect, version, counts = decoded(row)
            found = session.execute(
                "SELECT n, suspect, changes, version, counts FROM aggregates "
                "WHERE collection = ? AND part = '' AND segment = '' AND day = ?",
                (plan, day),
            )
            if [(*one[:4], bytes(one[4])) for one in found] != [(n, suspect, n, version, counts)]:
                wrong.append(f"the aggregate of day {day} is not as it was")
        tokens = session.execute("SELECT id, digest, name, scope, collection, created, revoked FROM tokens ORDER BY id")
        if [(one[0], bytes(one[1]), *one[2:]) for one in tokens] != sorted(
            tuple(decoded(row)) for row in tables["tokens"]
        ):
            wrong.append("the tokens are not as they were")
        kept = session.execute("SELECT COUNT(*) FROM parts")[0][0]
        if kept != len(tables["plans"]):
            wrong.append(f"there are {kept} parts, and should be {len(tables['plans'])}")
    return wrong
