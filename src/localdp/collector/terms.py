"""The terms of a collection: what is agreed beside the plan, such as its title, its dates and its segments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any, Self

from localdp.collector.fields import MINIMUM, TERMS
from localdp.collector.problems import invalid
from localdp.validation import LARGEST_EXACT_INTEGER, shown

DAY = 86_400


@dataclass(frozen=True)
class Terms:
    """What was asked for beside the plan. Moments are written as in ISO 8601; None means that there is no limit."""

    title: str = ""
    question: str = ""
    minimum: int = MINIMUM
    opens: str | None = None
    closes: str | None = None
    write_token: bool = False
    segments: tuple[str, ...] = ()
    """Labels that devices may send in the clear, in the header `Segment`. Reports are counted apart by them."""

    draft: bool = False
    """Whether it waits for somebody to begin it."""

    labels: Mapping[str, str] = field(default_factory=dict)
    """What people read instead of items, and of the names of questions. They are no part of what is measured."""

    survey: str = ""
    """The name that it has in a file of surveys: `localdp apply` knows it by that when what it asks has changed."""

    wording: int = 1
    """The version of what people read: the title, the question and the labels."""

    trial_of: str | None = None
    """The id of the collection that this is a trial of. A trial can be deleted while it is open."""

    clone_of: str | None = None
    """The id of the collection that this is a copy of."""

    archived: bool = False
    """Whether lists leave it out, unless they are asked for what is archived."""

    @classmethod
    def stored(cls, settings: dict[str, Any]) -> Self:
        """The terms with these settings, as JSON has them."""
        return cls(**{**settings, "segments": tuple(settings.get("segments", ()))})

    def state(self, now: float) -> str:
        """`planned`, `open` or `closed`, if nobody closes it."""
        begins, ends = self.moments()
        return "closed" if now >= ends else "planned" if now < begins else "open"

    def moments(self) -> tuple[float, float]:
        """When the collection begins and ends, in seconds since 1970. A date alone means the whole day, in UTC."""
        begins = -1e18 if self.opens is None else moment_in(self.opens, "opens", 0)
        if self.draft:
            begins = 1e17
        ends = 1e18 if self.closes is None else moment_in(self.closes, "closes", 1)
        return begins, ends


def terms_in(body: dict[str, Any]) -> Terms:
    """The terms that a request asks for; a `Problem` that says what cannot be used."""
    unset = {name for name in ("opens", "closes") if body.get(name) is None}
    given = {name: body[name] for name in TERMS if name in body and name not in unset}
    for name in ("title", "question"):
        text, longest = given.get(name, ""), TERMS[name]["maxLength"]
        if not isinstance(text, str) or len(text) > longest or not _is_clean(text):
            limits = f"at most {longest:,} characters, without control characters other than line breaks"
            raise invalid(f'"{name}" is text of {limits}, not {shown(text)}')
    minimum = given.get("minimum", MINIMUM)
    if isinstance(minimum, bool) or not isinstance(minimum, int) or not 0 <= minimum <= LARGEST_EXACT_INTEGER:
        largest = f"from 0 to {LARGEST_EXACT_INTEGER:,}"
        raise invalid(f'"minimum" is a number of reports, a whole number {largest}, not {shown(minimum)}')
    for name in ("write_token", "draft"):
        if not isinstance(given.get(name, False), bool):
            raise invalid(f'"{name}" is true or false, not {shown(given[name])}')
    survey = given.get("survey", "")
    if not isinstance(survey, str) or not re.fullmatch(TERMS["survey"]["pattern"], survey):
        raise invalid(f'"survey" is a name of small letters, digits, dashes and underscores, not {shown(survey)}')
    _check_labels(given.get("labels", {}))
    terms = Terms(**{**given, "segments": _segments(given.get("segments", []))})
    begins, ends = replace(terms, draft=False).moments()
    if begins >= ends:
        raise invalid('"closes" must be later than "opens"')
    return terms


def check_labelled(labels: Mapping[str, str], read: Iterable[Any]) -> None:
    """A `Problem` if a label is for something that people do not read: a misspelt one would be ignored."""
    if not labels:
        return
    known = {one if isinstance(one, str) else json.dumps(one) for one in read}
    for one in labels:
        if one not in known:
            raise invalid(f'"labels" has {shown(one)}, which is neither an item nor the name of a question here')


def _check_labels(given: Any) -> None:
    limits = TERMS["labels"]
    longest = limits["additionalProperties"]["maxLength"]
    if not isinstance(given, dict) or len(given) > limits["maxProperties"]:
        raise invalid(f'"labels" has a label for each item that is to be shown otherwise, not {shown(given)}')
    for one in given.values():
        if not isinstance(one, str) or not 0 < len(one) <= longest or not one.isprintable():
            raise invalid(f"a label is one line of 1 to {longest} characters, not {shown(one)}")


def _segments(given: Any) -> tuple[str, ...]:
    """The segments that a request lists. Labels must fit into a header as they are."""
    limits = TERMS["segments"]
    label = re.compile(limits["items"]["pattern"])
    if not isinstance(given, list) or len(given) > limits["maxItems"] or len(given) != len(set(map(str, given))):
        raise invalid(f'"segments" is a list of at most {limits["maxItems"]} different labels, not {shown(given)}')
    for one in given:
        if not isinstance(one, str) or not label.fullmatch(one):
            raise invalid(
                "a segment is a label of up to 40 letters, digits, spaces, dots, dashes, plus signs or underscores, "
                f'such as "Android 15", not {shown(one)}'
            )
    return tuple(given)


def moment_in(text: Any, name: str, more_days: int) -> float:
    """A moment that a request gives, in seconds since 1970; a date means its beginning, and so many days more."""
    try:
        if len(text) == len("2026-01-31"):
            day = date.fromisoformat(text)
            return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() + more_days * DAY
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        raise invalid(
            f'"{name}" is a date such as "2026-01-31" or a moment such as "2026-01-31T18:00:00Z", not {shown(text)}'
        ) from None


def _is_clean(text: str) -> bool:
    return all(character.isprintable() or character == "\n" for character in text)
