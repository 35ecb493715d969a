"""What must be done at a collector so that it has the surveys of a file, and does not have them twice.

A survey is known by its fingerprint: what it asks, and how answers are protected. If that has changed in the file, it
is another study: the old one is closed, and the new one begins. Nothing is ever deleted, and studies that the file does
not name are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from localdp.collector.fields import TERMS
from localdp.errors import InvalidInputError
from localdp.surveys.file import Survey, Surveys
from localdp.surveys.remote import Collector

_WORDS = ("title", "question", "labels")
_FIXED = tuple(name for name in (*TERMS, "automatic") if name not in (*_WORDS, "draft", "survey"))


@dataclass(frozen=True)
class Change:
    """One request that makes a change, and the sentence that says what it is."""

    survey: str
    sentence: str
    method: str
    path: str
    body: Mapping[str, Any] | None = None

    def make(self, collector: Collector) -> None:
        """Make it so."""
        collector.ask(self.method, self.path, self.body)


def changes(wanted: Surveys, there: Sequence[Mapping[str, Any]]) -> list[Change]:
    """The changes that give a collector, which has these studies, the surveys of a file. None if it has them."""
    return [change for survey in wanted.surveys for change in _of(survey, there)]


def strangers(wanted: Surveys, there: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of surveys that files made at the collector, are not over, and are not in this file."""
    known = {survey.name for survey in wanted.surveys}
    return sorted({one["survey"] for one in there if _is_open(one) and one["survey"]} - known)


def _of(survey: Survey, there: Sequence[Mapping[str, Any]]) -> Iterator[Change]:
    found = next((one for one in there if one["fingerprint"] == survey.study.fingerprint), None)
    for old in there:
        if old["survey"] == survey.name and old is not found and _is_open(old) and old["trial_of"] is None:
            sentence = f"close {old['id']}, which asks something else under this name; devices pay for the new one anew"
            yield Change(survey.name, sentence, "POST", f"/v1/studies/{old['id']}/close")
    if found is None:
        if survey.state != "closed":
            sentence = (
                f"create a {survey.study.what} with epsilon {survey.study.epsilon:g}, {survey.study.fingerprint[:16]}"
            )
            yield Change(survey.name, sentence, "POST", "/v1/studies", survey.body)
            if survey.archived:
                path = f"/v1/studies/{survey.study.fingerprint}"
                yield Change(survey.name, "archive it", "PATCH", path, {"archived": True})
        return
    _check_fixed(survey, found)
    path = f"/v1/studies/{found['id']}"
    wanted = {**asdict(survey.terms), "archived": survey.archived}
    corrected = {name: wanted[name] for name in (*_WORDS, "archived") if wanted[name] != found[name]}
    if corrected:
        sentence = "; ".join(f"{name} {found[name]!r} becomes {value!r}" for name, value in corrected.items())
        yield Change(survey.name, sentence, "PATCH", path, corrected)
    yield from _states(survey, found, path)


def _states(survey: Survey, found: Mapping[str, Any], path: str) -> Iterator[Change]:
    closed = found["state"] == "done" or found["closed"] is not None
    if survey.state == "closed" and not closed:
        yield Change(survey.name, "close it", "POST", f"{path}/close")
    if survey.state != "closed" and closed and found["state"] != "done":
        yield Change(survey.name, "open it again", "POST", f"{path}/reopen")
    if survey.state == "open" and found["draft"]:
        yield Change(survey.name, "begin it, and delete its trials", "POST", f"{path}/begin")
    if survey.state == "draft" and not found["draft"]:
        raise InvalidInputError(f"{survey.name} has begun ({found['id']}), and cannot become a draft: close it instead")


def _check_fixed(survey: Survey, found: Mapping[str, Any]) -> None:
    terms = asdict(survey.terms)
    for name in _FIXED:
        wanted = list(terms[name]) if isinstance(terms.get(name), tuple) else terms.get(name)
        if name in found and wanted != found[name]:
            raise InvalidInputError(
                f"{survey.name} has begun with {name} {found[name]!r} ({found['id']}), and that is never changed: let "
                f"what it asks differ too, for example by a slightly different epsilon, if it must be {wanted!r}"
            )


def _is_open(study: Mapping[str, Any]) -> bool:
    return study["state"] != "done" and study["closed"] is None
