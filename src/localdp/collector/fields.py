"""Fields of requests: each is stated once, with its limits, and both the OpenAPI document and the reading go by that.

A `Parameter` is a field of the query or of the headers. What its schema says is what `read` accepts: words from a list,
whole numbers and shares within their limits, days. The fields of bodies (`TERMS`, `OF_PLAN`) are schemas by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from localdp.errors import InvalidInputError
from localdp.reading import number, one_of, share, whole_number
from localdp.validation import LARGEST_EXACT_INTEGER, checked_level

Schema = Mapping[str, Any]
Parameters = Mapping[str, str] | Iterable[tuple[str, str]]
"""The parameters of an address: a mapping, or pairs of names and values in which a name may be repeated."""

MINIMUM = 100
"""Reports that a release has at least, unless a collection says otherwise. Decision record 0028 says why."""
_WRITTEN = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True)
class Parameter:
    """A value in the query or in the headers. `reader` reads what the schema alone does not tell how to read."""

    name: str
    description: str
    schema: Schema = field(default_factory=lambda: {"type": "string"})
    where: str = "query"
    required: bool = False
    repeatable: bool = False
    reader: Callable[[str, str], Any] | None = None

    def read(self, text: str) -> Any:
        """The value that a text stands for; an `InvalidInputError` if it is not one that the schema allows."""
        schema, name = self.schema, self.name
        if self.reader is not None:
            return self.reader(text, name)
        if "enum" in schema:
            return one_of(text, name, schema["enum"])
        if schema.get("format") == "date":
            return _day(text, name)
        if schema["type"] == "integer":
            return _whole(text, name, schema)
        if schema["type"] == "number":
            value = share(text, name) if "exclusiveMaximum" in schema else number(text, name)
            return checked_level(value, name) if "exclusiveMaximum" in schema else value
        return text


def read_query(known: Sequence[Parameter], given: Parameters) -> dict[str, Any]:
    """The values of a query by name, with the defaults of those that are not given; repeatable ones are tuples.

    >>> read_query([Parameter("top", "So many.", {"type": "integer", "minimum": 1})], {"top": "5"})
    {'top': 5}
    >>> read_query([Parameter("top", "So many.", {"type": "integer", "minimum": 1})], {"topp": "5"})
    Traceback (most recent call last):
    ...
    localdp.errors.InvalidInputError: there is no parameter 'topp': there are top
    """
    by_name = {one.name: one for one in known if one.where == "query"}
    found: dict[str, Any] = {name: () for name, one in by_name.items() if one.repeatable}
    for name, text in given.items() if isinstance(given, Mapping) else given:
        if name not in by_name:
            there = f"there are {', '.join(by_name)}" if by_name else "there is none here"
            raise InvalidInputError(f"there is no parameter {name!r:.40}: {there}")
        if by_name[name].repeatable:
            found[name] = (*found[name], by_name[name].read(text))
        elif name in found:
            raise InvalidInputError(f"{name} was given twice: give it once")
        else:
            found[name] = by_name[name].read(text)
    for name, one in by_name.items():
        if one.required and name not in found:
            raise InvalidInputError(f"{name} is missing: {one.description[0].lower()}{one.description[1:]}")
        if "default" in one.schema:
            found.setdefault(name, one.schema["default"])
    return found


def check_days(first: date | None, last: date | None) -> None:
    """An `InvalidInputError` if the first day of a range comes after the last one."""
    if first is not None and last is not None and first > last:
        raise InvalidInputError(f"from is a day after to: {first} and {last}. Both days belong to the range")


def _whole(text: str, name: str, schema: Schema) -> int:
    least = schema.get("minimum", 1)
    if not text.isascii() or not text.isdigit():  # other programs read neither 1e3 nor digits of other scripts
        raise InvalidInputError(f"{name} is a whole number of at least {least}, not {text!r:.40}")
    value = whole_number(text, name, least) or 0
    most = schema["exclusiveMaximum"] - 1 if "exclusiveMaximum" in schema else schema.get("maximum", value)
    if value > most:
        raise InvalidInputError(f"{name} is at most {most:,}, not {value:,}")
    return value


def _day(text: str, name: str) -> date:
    try:
        if _WRITTEN.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise InvalidInputError(f"{name} is a day in UTC, written as 2026-11-16, not {text!r:.40}")


def record(required: Sequence[str], properties: Schema) -> dict[str, Any]:
    """The schema of an object with these properties."""
    return {"type": "object", "required": list(required), "properties": properties}


TEXT, TEXT_OR_NOT, WHOLE = {"type": "string"}, {"type": ["string", "null"]}, {"type": "integer"}
DAY = {"type": "string", "format": "date"}
FROM = Parameter("from", "The first day, in UTC; all days by default.", DAY)
TO = Parameter("to", "The last day, in UTC; not before the first one.", DAY)
BETWEEN_0_AND_1 = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
EPSILON = {"type": "number", "exclusiveMinimum": 0, "maximum": 16}
SET_SIZE = {"type": "integer", "minimum": 1, "maximum": 65536, "description": "Every user holds a set."}
FLAT_COLUMNS = ("frequency", "low", "high", "share", "share_low", "share_high")
"""The numbers of a result in a table of one shape for all kinds; what a kind does not have is empty."""
FORMATS = ("json", "csv", "arrow")
TABLES: dict[str, Schema] = {
    "application/json": {"type": "object"},
    "text/csv": TEXT,
    "application/vnd.apache.arrow.file": {"type": "string", "format": "binary"},
}
"""What an answer in one of these formats is, by its media type."""
FORMAT = Parameter("format", "How the answer is written.", {"enum": FORMATS, "default": "json"})

_MOMENT = {"type": ["string", "null"], "description": "A date, or a moment, as in ISO 8601."}
TERMS: dict[str, Any] = {
    "title": {"type": "string", "maxLength": 200},
    "question": {"type": "string", "maxLength": 2_000},
    "minimum": {"type": "integer", "minimum": 0, "maximum": LARGEST_EXACT_INTEGER, "default": MINIMUM},
    "opens": _MOMENT,
    "closes": _MOMENT,
    "write_token": {"type": "boolean", "default": False, "description": "Whether uploads need a write token."},
    "segments": {
        "type": "array",
        "maxItems": 100,
        "items": {"type": "string", "pattern": r"^[A-Za-z0-9_]([A-Za-z0-9 ._+-]{0,38}[A-Za-z0-9._+-])?$"},
        "description": "Labels that devices may send in the clear, in the header Segment. Reports are counted apart.",
    },
    "draft": {
        "type": "boolean",
        "default": False,
        "description": "Whether it waits for somebody to begin it, and takes no uploads until then.",
    },
    "labels": {
        "type": "object",
        "maxProperties": 10_000,
        "additionalProperties": {"type": "string", "minLength": 1, "maxLength": 200},
        "description": "What people read instead of an item, or of the name of a question, by what it stands for.",
    },
    "survey": {
        "type": "string",
        "pattern": r"^([a-z0-9][a-z0-9_-]{0,59})?$",
        "description": "The name that it has in a file of surveys.",
    },
}
"""What a request for a collection can say beside the plan."""
ORIGIN: dict[str, Any] = {
    "wording": {"type": "integer", "description": "The version of the title, the question and the labels."},
    "trial_of": {"type": ["string", "null"], "description": "The id of the study that it tries, if it is a trial."},
    "clone_of": {"type": ["string", "null"], "description": "The id of the study that it was copied from."},
    "archived": {"type": "boolean", "description": "Whether lists may leave it out."},
}
"""What answers say of a collection beside that."""
OF_PLAN: dict[str, Any] = {
    "items": {"type": "array", "items": {"type": ["string", "integer", "number", "boolean"]}, "minItems": 2},
    "size": {"type": "integer", "minimum": 2, "description": "The number of items, instead of a list."},
    "scale": {
        "type": "object",
        "required": ["low", "high"],
        "additionalProperties": False,
        "properties": {"low": {"type": "number"}, "high": {"type": "number"}, "step": {"type": "number", "default": 1}},
        "description": "Numbers from low to high, instead of items.",
    },
    "mechanism": {"type": "string", "default": "auto"},
    "epsilon": EPSILON,
    "once": EPSILON,
    "other": {"description": "The catch-all item."},
    "answers": {"type": "integer", "minimum": 1},
    "set_size": SET_SIZE,
}
"""What it can say of the plan."""
OF_DISCOVERY: dict[str, Any] = {
    "epsilon": EPSILON,
    "users": {"type": "integer", "minimum": 100, "description": "About how many people will take part."},
    "top": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 20},
    "bits": {"type": "integer", "minimum": 1, "maximum": 64, "description": "Values are keys of so many bits."},
    "most_bytes": {"type": "integer", "minimum": 1, "description": "Values are texts of at most so many bytes."},
    "alphabet": {"type": "string", "description": "All characters that texts have."},
    "examples": {"type": "array", "items": TEXT, "description": "Public texts that the code of texts is shaped by."},
    "known": {
        "type": "array",
        "items": {"type": ["string", "integer"]},
        "description": "Public values, such as a dictionary, that need not be found bit by bit.",
    },
    "rounds": {"type": "integer", "minimum": 1, "maximum": 24},
    "name": {"type": "string", "description": "Tells discoveries apart that are otherwise alike."},
}
"""What it can say of a discovery."""
