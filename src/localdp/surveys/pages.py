"""What follows from a file of surveys: the privacy notice, a page of what is asked, and types for the web client."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, exp, log10
from typing import Any

from localdp.questions import Question
from localdp.surveys.file import Survey, Surveys

_BLURRED = """
Your device blurs each answer at random before it leaves (local differential privacy). Nobody can be certain of your
answer from what we receive: whoever thought two answers equally likely can be at most as sure of one of them afterwards
as is said above. Different answers, also to different questions, add to that, up to a limit that your device keeps.
We learn about how many people gave each answer, and not who.
"""
_STORED = """We receive blurred answers, and store each in the order of arrival, with a random number and the day,
without a network address [CHECK THE LOGS OF YOUR WEB SERVER].{labels} Blurred answers are dropped after {kept}; sums,
days, random numbers and labels remain. Your browser keeps a random secret, its blurred answers, which questions it has
answered and when, how much it has told, and whether you said no, so that you are counted once and the blur cannot be
averaged away; only the blurred answers leave your device. You can say no, see what your browser has told, and let it
forget its answers, at [WHERE ON THIS SITE]. We do not know which blurred answer is yours, so we cannot show or delete
a single one.

[WHO IS RESPONSIBLE, WHAT FOR, ON WHICH LEGAL BASIS, AND WHERE TO COMPLAIN, unless your notice says so elsewhere.]
{contact}"""  # what is in brackets only people know
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 42rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }}</style>
<h1>{title}</h1>
{sections}
</html>
"""  # noqa: E501 (one line of style)
_TYPES = """// Made by `localdp describe {path} --as types`: change that file, not this one.

/** What each survey is called at the collector. */
export const surveys = {surveys} as const;

/** What people may answer. */
export interface Answers {{
{answers}}}

export type SurveyName = keyof Answers;
"""
_MOST_LISTED = 2_000  # items of one type
_EXTRA = " | (string & {})"  # every other text counts as "something else"


def notice(surveys: Surveys) -> str:
    """The privacy notice, in Markdown, of all surveys that are not closed."""
    asked = [one for one in surveys.surveys if one.state != "closed"]
    parts = [f"## What {surveys.product or 'we'} {'asks' if surveys.product else 'ask'}\n"]
    for one in asked:
        parts.append(f"- {_question(one)} ({_times(one)}, at most {_sure(one)}% sure)")
    parts.append(_BLURRED)
    kept = "[HOW LONG]" if surveys.keep_days is None else f"{surveys.keep_days} days"
    sent = sorted({label for one in asked for label in one.terms.segments})
    labels = f" A label comes with some, which is not blurred ({', '.join(sent)})." if sent else ""
    contact = f"\nQuestions: {surveys.contact}\n" if surveys.contact else ""
    parts.append(_STORED.format(kept=kept, labels=labels, contact=contact))
    return "\n".join(parts)


def page(surveys: Surveys) -> str:
    """A page in HTML of what is asked, for people who want to know."""
    title = escape(f"What {surveys.product} asks" if surveys.product else "What we ask")
    return _PAGE.format(title=title, sections="\n".join(map(_section, surveys.surveys)))


def types(surveys: Surveys) -> str:
    """Types in TypeScript: the names of the surveys, and what people may answer."""
    known = {
        one.name: {"study": one.study.fingerprint, "kind": one.study.kind, "epsilon": one.study.epsilon}
        for one in surveys.surveys
    }
    answers = "".join(f"  {json.dumps(one.name)}: {_type(one)};\n" for one in surveys.surveys)
    return _TYPES.format(path=surveys.path, surveys=json.dumps(known, indent=2), answers=answers)


def _type(survey: Survey) -> str:
    study, listed = survey.study, survey.study.read_by_people()
    questions: Mapping[str, Question] | None = getattr(study, "questions", None)
    if questions is not None:
        inside = " ".join(f"{json.dumps(name)}: {_type_of(one)};" for name, one in questions.items())
        return f"{{ {inside} }}"
    if study.asks_again:
        return _type_of(study.parts()[0].question)
    return f"({_union(listed)})[]" if listed else "string"  # a set of what is listed, or anything


def _type_of(question: Question) -> str:
    if "low" in question.details():
        return "number"
    union = _union(question.cells.items) + (_EXTRA if question.takes_everything else "")
    return f"({union})[]" if question.layout == "sets" else union


def _union(items: Sequence[Any]) -> str:
    """The type of one of these items; of very many, that of the first."""
    if len(items) > _MOST_LISTED:
        return {str: "string", bool: "boolean"}.get(type(items[0]), "number")
    return " | ".join(json.dumps(item, ensure_ascii=False) for item in items)


def _section(survey: Survey) -> str:
    label = survey.terms.labels
    questions: Mapping[str, Question] | None = getattr(survey.study, "questions", None)
    lists = (
        {"Answers": survey.study.read_by_people()}
        if questions is None
        else {label.get(name, name): question.cells.items for name, question in questions.items()}
    )
    answers = "".join(f"<p>{escape(name)}: {_listed(items, label)}.</p>" for name, items in lists.items())
    state = {"open": "", "draft": "<p>Not asked yet.</p>", "closed": "<p>Not asked any more.</p>"}[survey.state]
    return (
        f'<section id="{survey.name}"><h2>{escape(_question(survey))}</h2>{state}{answers}'
        f"<p>Blurred on the device; {_times(survey)}. Whoever thought two answers "
        f"equally likely can be at most {_sure(survey)}% sure of one of them. Results are shown from "
        f"{max(1, survey.terms.minimum):,} reports on.</p></section>"
    )


def _question(survey: Survey) -> str:
    return survey.terms.question or survey.terms.title or survey.name


def _listed(items: Sequence[Any], label: Mapping[str, str]) -> str:
    shown = [escape(label.get(text, text)) for text in map(_text, items[:50])]
    more = [f"and {len(items) - 50:,} more"] if len(items) > 50 else []
    return ", ".join(shown + more) or "anything"


def _times(survey: Survey) -> str:
    spent = f"epsilon {survey.study.epsilon:.3g}"
    return f"{spent} for each different answer" if survey.study.asks_again else f"asked once with {spent}"


def _sure(survey: Survey) -> str:
    """In percent, with as many digits as keep it from certainty."""
    rest = 100 / (1 + exp(survey.study.epsilon))
    return f"{100 - rest:.{max(0, ceil(-log10(rest)))}f}"


def _text(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item)
