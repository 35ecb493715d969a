"""The study that a request asks for: by its kind and the fields of that kind, or as a whole document.

Kinds of studies that are not listed here are asked for by their documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from localdp.collector.fields import OF_DISCOVERY, OF_PLAN, TERMS
from localdp.collector.problems import Problem, invalid
from localdp.collector.settings import Settings
from localdp.collector.studies import StudyTerms
from localdp.collector.terms import Terms, check_labelled, terms_in
from localdp.discovery import Discovery
from localdp.domain import Domain
from localdp.errors import LocalDPError
from localdp.plan import Plan
from localdp.plan.limits import Limits
from localdp.questionnaires.description import FIELDS, described
from localdp.questions import Scale
from localdp.sets import Survey
from localdp.studies import Single, Study, study_in
from localdp.validation import shown

OF_STUDY = (*TERMS, "automatic")
"""What can be said of every study beside what it asks."""


_UNSEEN = re.compile(
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\xad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]"
)
"""Control characters, those that change the direction of text, and those without a width.

Joiners (U+200C, U+200D) stay: Persian words and some emoji need them.
"""


@dataclass(frozen=True)
class Asked:
    """The fields of a kind of study, and what makes the study of them; `needs` must be given."""

    fields: tuple[str, ...]
    needs: tuple[str, ...]
    make: Callable[[dict[str, Any], Settings], Study]


def _plan(given: dict[str, Any], settings: Settings) -> Study:
    """A plan. With a name it is another one for devices than the same plan without."""
    name = given.pop("name", None)
    plan = Single(_plan_in(given, settings))
    return plan if name is None else plan.named(name)


def _sets(given: dict[str, Any], settings: Settings) -> Study:
    domain, other = domain_in(given, settings.most_items), given.pop("other", None)
    return Survey(Domain(domain, other=other), **given)


KINDS: Mapping[str, Asked] = {
    "plan": Asked((*OF_PLAN, "plan", "name"), (), _plan),
    "discovery": Asked((*OF_DISCOVERY,), ("epsilon", "users"), lambda given, _: Discovery(**given)),
    "questionnaire": Asked(FIELDS, ("questions", "epsilon"), lambda given, _: described(given)),
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
        check_fields(body, ("document", *OF_STUDY), "study that is given by its document")
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
    check_fields(body, (*asked.fields, *OF_STUDY), f"study of the kind {kind}")
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
    if "automatic" in body and not isinstance(given, bool):
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


def requested_plan(body: Any, settings: Settings) -> tuple[Plan, Terms]:
    """The plan and the terms that a request for a plan alone asks for; a `Problem` that says what cannot be used."""
    if not isinstance(body, dict):
        raise invalid('a collection is asked for by a JSON object, such as {"items": ["tea", "coffee"], "epsilon": 1}')
    check_fields(body, ("plan", *OF_PLAN, *TERMS), "collection")
    try:
        plan = _plan_in(body, settings)
    except Problem:
        raise
    except LocalDPError as error:
        raise invalid(str(error), "invalid-plan") from error
    check_visible(() if isinstance(plan.domain.items, range) else plan.domain.items)
    terms = terms_in(body)
    check_labelled(terms.labels, plan.domain.items)
    return plan, terms


def check_visible(items: Iterable[Any]) -> None:
    """A `Problem` if an item holds characters that cannot be seen, or that turn the text around them."""
    for item in items:
        if isinstance(item, str) and (found := _UNSEEN.search(item)):
            detail = f"the item {shown(item)} holds U+{ord(found[0]):04X}, which cannot be seen: people would be misled"
            raise invalid(detail, "invisible-characters")


def _plan_in(body: dict[str, Any], settings: Settings) -> Plan:
    """The plan that these fields describe, if this collector can count its reports."""
    plan, most = _described(body, settings.most_items), settings.most_pairs
    if plan.mechanism.counts_pairs and plan.mechanism.size > most:
        raise invalid(
            f"to count a report under {plan.mechanism.name}, it is compared with each of the {plan.mechanism.size:,} "
            f"items, and this collector does that for at most {most:,}: take auto, or llh, which counts quickly",
            "too-costly",
        )
    return plan


def _described(body: dict[str, Any], most_items: int) -> Plan:
    given = {name: body[name] for name in OF_PLAN if body.get(name) is not None}
    if body.get("plan") is not None:
        if given:
            raise invalid(f"a whole plan brings its own {', '.join(given)}: give one or the other")
        return Plan.from_json(json.dumps(body["plan"]), most_items=most_items)
    if not {"items", "size", "scale"} & set(given):
        raise invalid('a plan needs "items", a list of items, or "size", their number, or "scale" for numbers')
    asked = _scale(given, most_items) if "scale" in given else domain_in(given, most_items)
    mechanism = given.pop("mechanism", "auto")
    if not isinstance(mechanism, str):
        raise invalid(f'"mechanism" is a name such as "auto", not {shown(mechanism)}')
    # Written and read once more: what a client could not read is refused here.
    return Plan.from_json(Plan(asked, mechanism, **given).to_json())


def _scale(given: dict[str, Any], most_items: int) -> Scale:
    """The scale that a request asks for. It is taken out of what was given, and so is its cell for other answers."""
    ends = given.pop("scale")
    if not isinstance(ends, dict) or not {"low", "high"} <= set(ends) <= {"low", "high", "step"}:
        raise invalid(f'"scale" is an object such as {{"low": 0, "high": 120, "step": 5}}, not {shown(ends)}')
    lists = [name for name in ("items", "size", "set_size") if name in given]
    if lists:
        raise invalid(f'a scale has cells of its own, so "{lists[0]}" cannot be given with it')
    scale = Scale(**ends, other=given.pop("other", None))
    _check_number(scale.cells.size, most_items)
    return scale


def domain_in(given: dict[str, Any], most_items: int) -> list[Any] | int:
    """The items, or their number, that a request asks for. They are taken out of what was given."""
    items, size = given.pop("items", None), given.pop("size", None)
    if (items is None) == (size is None):
        raise invalid('give either "items", a list of items, or "size", the number of items')
    if items is None:
        if isinstance(size, bool) or not isinstance(size, int) or size < 2:
            raise invalid(f'"size" is a whole number of items, at least 2, not {shown(size)}')
        number = size
    elif not isinstance(items, list):
        raise invalid(f'"items" is a list of items, not {shown(items)}')
    elif {list, dict} & set(map(type, items)):
        raise invalid('"items" is a flat list: every item is a text, a number, true or false')
    else:
        number = len(items)
    _check_number(number, most_items)
    return number if items is None else items


def _check_number(items: int, most: int) -> None:
    if items > most:
        raise invalid(f"this collector takes plans of at most {most:,} items, not {items:,}", "too-many-items")
