"""The file of surveys, in TOML: a table for each, with the fields of a study as `POST /v1/studies` takes them.

    contact = "privacy@example.org"

    [surveys.theme]
    question = "Which theme do you use?"
    items = ["dark", "light", "system"]
    other = "something else"
    epsilon = 1.5

What is wrong is an error that names the file, the line and the survey. The fields are read by the code of the collector
itself, so what is accepted here is accepted there.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from localdp.collector.fields import TERMS
from localdp.collector.requests import requested
from localdp.collector.settings import Settings
from localdp.collector.terms import Terms
from localdp.errors import DataFileError, LocalDPError
from localdp.studies import Study
from localdp.validation import shown

STATES = ("open", "draft", "closed")
_ABOUT = ("product", "contact", "keep_days")
_NAME = re.compile(TERMS["survey"]["pattern"])


@dataclass(frozen=True)
class Survey:
    """One survey of a file: its study, its terms, the state that it is to have, and the request that makes it."""

    name: str
    study: Study
    terms: Terms
    state: str
    archived: bool
    body: dict[str, Any]


@dataclass(frozen=True)
class Surveys:
    """All surveys of a file, in its order, and what the file says about the product."""

    path: str
    surveys: tuple[Survey, ...]
    product: str = ""
    contact: str = ""
    keep_days: int | None = None


def read(path: Path) -> Surveys:
    """The surveys in a file. What cannot be used is a `DataFileError` that says where it is."""
    try:
        text = path.read_text("utf-8-sig")
        given = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataFileError(f"{path} is no file of surveys, because it is not TOML: {error}") from None
    unknown = [name for name in given if name not in (*_ABOUT, "surveys")]
    if unknown:
        raise _error(
            path, text, [unknown[0]], f"there is no {unknown[0]!r:.60}; there are {', '.join(_ABOUT)}, surveys"
        )
    tables = given.get("surveys")
    if not isinstance(tables, dict) or not tables:
        raise DataFileError(f"{path} has no surveys: each is a table such as [surveys.theme]")
    about = {name: given[name] for name in _ABOUT if name in given}
    for name, value in about.items():
        if isinstance(value, bool) or not isinstance(value, int if name == "keep_days" else str):
            kind = "a whole number" if name == "keep_days" else "text"
            raise _error(path, text, [name], f"{name} is {kind}, not {shown(value)}")
    found: dict[str, Survey] = {}
    for name, table in tables.items():
        try:
            survey = _survey(name, table)
        except LocalDPError as error:
            raise _error(path, text, _named_in(str(error), table), str(error), name) from None
        same = [one.name for one in found.values() if one.study.fingerprint == survey.study.fingerprint]
        if same:
            detail = f"it asks exactly what {same[0]} asks, so devices could not tell them apart: let something differ"
            raise _error(path, text, [], detail, name)
        found[name] = survey
    return Surveys(str(path), tuple(found.values()), **about)


def _survey(name: str, table: Any) -> Survey:
    if not name or not _NAME.fullmatch(name):
        raise DataFileError("the name of a survey has small letters, digits, dashes and underscores")
    if not isinstance(table, dict):
        raise DataFileError(f"a survey is a table, not {shown(table)}")
    body = {field: _as_json(value) for field, value in table.items() if field not in ("state", "archived")}
    state, archived = table.get("state", "open"), table.get("archived", False)
    if state not in STATES:
        raise DataFileError(f'"state" is one of {", ".join(STATES)}, not {shown(state)}')
    if not isinstance(archived, bool):
        raise DataFileError(f'"archived" is true or false, not {shown(archived)}')
    for field in ("draft", "survey"):
        if field in table:
            raise DataFileError(f'"{field}" follows from the file: give "state", and the name of the table')
    if "document" not in body:
        body.setdefault("kind", "plan")
    body |= {"survey": name, "draft": state == "draft"}
    study, terms = requested(body, Settings())
    return Survey(name, study, replace(terms, draft=False), state, archived, body)


def _as_json(value: Any) -> Any:
    """A value of TOML as JSON has it: dates become text."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, dict):
        return {name: _as_json(one) for name, one in value.items()}
    return [_as_json(one) for one in value] if isinstance(value, list) else value


def _named_in(sentence: str, table: Any) -> list[str]:
    """What an error may be about: the names that it quotes, and the fields of the table that it speaks of."""
    quoted = re.findall(r"['\"]([\w-]+)['\"]", sentence)
    fields = (
        [name for name in table if re.search(rf"\b{re.escape(name)}\b", sentence)] if isinstance(table, dict) else []
    )
    return [*quoted, *sorted(fields, key=sentence.index)]


def _error(path: Path, text: str, fields: list[str], sentence: str, survey: str | None = None) -> DataFileError:
    """An error with the line of the first of these fields that is there, or else of the table of the survey."""
    lines = text.splitlines()
    inside, where = range(len(lines)), ""
    if survey is not None:
        where, own = f", surveys.{survey}", re.compile(rf"\s*\[surveys\.\"?{re.escape(survey)}\"?[].]")
        heads = [number for number, line in enumerate(lines) if re.match(r"\s*\[", line)]
        start = next((number for number in heads if own.match(lines[number])), 0)
        end = next((number for number in heads if number > start and not own.match(lines[number])), len(lines))
        inside = range(start, end)
    for field in fields:
        assigned = re.compile(rf"(.*[{{,])?\s*\"?{re.escape(field)}\"?\s*=")
        found = [number for number in inside if assigned.match(lines[number])]
        if found:
            return DataFileError(f"{path}, line {found[0] + 1}{where}: {sentence}")
    return DataFileError(f"{path}, line {inside.start + 1}{where}: {sentence}")
