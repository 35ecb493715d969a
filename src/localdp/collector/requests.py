"""The study that a request asks for: by its kind and the fields of that kind, or as a whole document.

Kinds of studies that are not listed here are asked for by their documents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from localdp.collector.collections import check_visible, domain_in
from localdp.collector.collections import requested as requested_plan
from localdp.collector.fields import OF_PLAN
from localdp.collector.fields import TERMS as OF_TERMS
from localdp.collector.problems import Problem, invalid
from localdp.collector.settings import Settings
from localdp.collector.studies import StudyTerms
from localdp.collector.terms import Terms, check_labelled, terms_in
from localdp.discovery import Discovery
from localdp.domain import Domain
from localdp.errors import LocalDPError
from localdp.plan.limits import Limits
from localdp.questionnaires.description import FIELDS, described
from localdp.sets import Survey
from localdp.studies import Single, Study, study_in
from localdp.validation import shown

TERMS = (*OF_TERMS, "automatic")
"""What can be said of every study beside what it asks."""


@dataclass(frozen=True)
class Asked:
    """The fields of a kind of study, and what makes the study of them; `needs` must be given."""

    fields: tuple[str, ...]
    needs: tuple[str, ...]
    make: Callable[[dict[str, Any], Settings], Study]


def _plan(given: dict[str, Any], settings: Settings) -> Study:
    return Single(requested_plan(given, settings.most_items, settings.most_pairs)[0])


def _discovery(given: dict[str, Any], settings: Settings) -> Study:  # noqa: ARG001 (it lists no items)
    return Discovery(**given)


def _sets(given: dict[str, Any], settings: Settings) -> Study:
    domain, other = domain_in(given, settings.most_items), given.pop("other", None)
    return Survey(Domain(domain, other=other), **given)


def _questionnaire(given: dict[str, Any], settings: Settings) -> Study:  # noqa: ARG001 (limits are checked after)
    return described(given)


KINDS: Mapping[str, Asked] = {
    "plan": Asked((*OF_PLAN, "plan"), (), _plan),
    "discovery": Asked(
        ("epsilon", "users", "top", "bits", "most_bytes", "alphabet", "examples", "known", "rounds", "name"),
        ("epsilon", "users"),
        _discovery,
    ),
    "questionnaire": Asked(FIELDS, ("questions", "epsilon"), _questionnaire),
    "sets": Asked(
        ("items", "size", "other", "epsilon", "users", "top", "largest", "name"), ("epsilon", "users"), _sets
    ),
}
"""The kinds that can be asked for by their fields."""


def requested(body: Any, settings: Settings) -> tuple[Study, Terms]:
    """The study and the terms that a request asks for; a `Problem` that says what cannot be used."""
    if not isinstance(body, dict) or (body.get("document") is None) == (body.get("kind") is None):
        example = '{"kind": "sets", "items": ["tea", "milk"], "epsilon": 2, "users": 10000}'
        raise invalid(f'a study is asked for by a JSON object with a "kind" or a "document", such as {example}')
    if body.get("document") is not None:
        check_fields(body, ("document", *TERMS), "study that is given by its document")
        study = _in_document(body["document"], settings)
    else:
        kind = body["kind"]
        if not isinstance(kind, str) or kind not in KINDS:
            raise invalid(f'"kind" is one of {", ".join(KINDS)}, not {shown(kind)}: give a "document" for others')
        study = made(kind, {name: value for name, value in body.items() if name != "kind"}, settings)
    return study, terms_of(study, body)


def made(kind: str, body: dict[str, Any], settings: Settings) -> Study:
    """The study of this kind that a request asks for, beside terms."""
    asked = KINDS[kind]
    check_fields(body, (*asked.fields, *TERMS), f"study of the kind {kind}")
    given = {name: body[name] for name in asked.fields if body.get(name) is not None}
    missing = [name for name in asked.needs if name not in given]
    if missing:
        raise invalid(f'a study of the kind {kind} needs "{missing[0]}"')
    return _checked(lambda: asked.make(given, settings), settings, f"invalid-{kind}")


def check_fields(body: dict[str, Any], known: tuple[str, ...], what: str) -> None:
    """A `Problem` if a request has a field that does not exist: a misspelt one would be ignored without a word."""
    unknown = sorted(set(body) - set(known))
    if unknown:
        raise invalid(f"{shown(unknown[0])} is not a field of a {what}; there are {', '.join(known)}")


def terms_of(study: Study, body: dict[str, Any], *, automatic: bool = True) -> Terms:
    """The terms that a request asks for; `automatic` is what is meant if it does not say."""
    terms, given = terms_in(body), body.get("automatic")
    check_labelled(terms.labels, study.read_by_people())
    if given is not None and not isinstance(given, bool):
        raise invalid(f'"automatic" is true or false, not {shown(given)}')
    if study.goes_on:
        return StudyTerms(**asdict(terms), automatic=automatic if given is None else given)
    if given is not None:
        raise invalid(f'"automatic" is for studies whose parts end, and nothing ends the {study.what} but closing it')
    return terms


def _in_document(document: Any, settings: Settings) -> Study:
    if not isinstance(document, dict):
        raise invalid(f'"document" is a JSON object, not {shown(document)}')
    study = _checked(lambda: study_in(json.dumps(document), _limits(settings)), settings, "invalid-study")
    return _plan({"plan": document}, settings) if study.asks_again else study


def _checked(make: Callable[[], Study], settings: Settings, code: str) -> Study:
    """A study that this collector takes; a `Problem` if there is none."""
    try:
        study = make()
        study.check_limits(_limits(settings))
    except Problem:
        raise
    except (LocalDPError, TypeError) as error:
        raise invalid(str(error), code) from error
    check_visible(_texts(study.document()))
    return study


def _limits(settings: Settings) -> Limits:
    return Limits(None, None, settings.most_items, False)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
