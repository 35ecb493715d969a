"""The life of a collection after it was made: tried, begun, copied, corrected, archived, opened again, deleted.

What is asked, and how answers are protected, never changes: that would be another plan, which devices pay for anew. The
title, the question, the labels and whether it is archived are for people, and can be corrected; `wording` keeps which
of them people were shown.

A trial and a clone are collections of their own, with the form of another one under another name. So they have other
fingerprints: a device that has answered a trial has another permanent response for the real one, another payment, and
does not think that it has answered it. A trial belongs to the collection that it tries, and is deleted with it, or when
the real one begins.

Deleting is for good. Rows are overwritten where the database can do so. Devices are not told: one that has answered
still holds its permanent response and its payment, so the same plan made again gets the same responses.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from dataclasses import asdict, replace
from typing import Any

from localdp.collector.collections import Collections, add_study
from localdp.collector.fields import TERMS
from localdp.collector.notes import add_detail
from localdp.collector.problems import Problem, invalid
from localdp.collector.requests import check_fields, terms_of
from localdp.collector.storage import Database, collections, trail, uploads, wordings
from localdp.collector.storage.database import Session
from localdp.collector.studies import Kept, Studies
from localdp.collector.terms import Terms, check_labelled, terms_in
from localdp.collector.writer import Writer
from localdp.errors import LocalDPError
from localdp.validation import shown

WORDS = ("title", "question", "labels")
"""What people read of a collection."""
CORRECTED = (*WORDS, "archived")
"""What of a collection can be corrected."""
TRIAL, CLONE = "trial", "clone"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_AT_ONCE = 20_000  # uploads that are removed in one transaction, so that those who send need not wait


class Life:
    """What happens to collections after they were made."""

    def __init__(self, database: Database, writer: Writer, known: Collections, studies: Studies) -> None:
        self._database, self._writer, self._collections, self._studies = database, writer, known, studies

    def copy(self, kept: Kept, what: str, given: Any) -> tuple[Kept, bool]:
        """A trial or a clone of a collection, and whether it is new. What is given takes the place of its own terms."""
        if kept.terms.trial_of is not None:  # a clone of it would show its estimates from one report on
            raise Problem(409, "is-a-trial", f"this is a trial itself: make the {what} of the study that it tries")
        if not isinstance(given, dict):
            raise invalid(f'a {what} is asked for by a JSON object, which may be empty or have a "title", for example')
        check_fields(given, ("name", *TERMS, "automatic"), what)
        name = given.get("name", secrets.token_hex(4))
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise invalid(f'"name" is a word of small letters, digits, dashes and underscores, not {shown(name)}')
        try:
            study = kept.study.named(f"{what} {name} of {kept.fingerprint[:16]}")
        except LocalDPError as error:
            raise Problem(409, "no-copies", str(error)) from None
        own = {term: value for term, value in asdict(kept.terms).items() if term in (*TERMS, "automatic")}
        changed: dict[str, Any] = {"opens": None, "closes": None, "draft": False, "survey": ""}
        if what == TRIAL:
            called = kept.terms.title or kept.terms.question or kept.terms.survey or kept.fingerprint[:16]
            changed |= {"title": f"Trial: {called}"[:200], "minimum": 1}
        body = {**own, "segments": list(kept.terms.segments), **changed, **given}
        origin: dict[str, Any] = {f"{what}_of": kept.name}
        terms = replace(terms_of(study, body), **origin)

        def job(session: Session) -> bool:
            made = add_study(session, study, terms, int(time.time()))
            add_detail("" if made is None else f"made {made.name}")
            return made is not None

        made, found = self._writer.run(job), self._studies.find(study.fingerprint)
        if not made and found.terms != terms:
            raise Problem(409, "study-exists", f"there is a {what} with the name {name} already, with other terms")
        return found, made

    def begin(self, kept: Kept) -> None:
        """Begin a collection that waits to be begun, and throw away its trials for good."""
        if kept.terms.trial_of is not None:
            raise Problem(409, "is-a-trial", "this is a trial: begin the study that it is a trial of")
        if kept.terms.draft:
            text = json.dumps(asdict(replace(kept.terms, draft=False)))
            self._writer.run(lambda session: collections.correct(session, kept.id, text))
            self._collections.refresh()
        for trial in self.trials(kept):
            self._remove(trial)

    def trials(self, kept: Kept) -> list[Kept]:
        with self._database.reading() as session:
            every = collections.settings_of(session)
        names = [name for name, settings in every if json.loads(settings).get("trial_of") == kept.name]
        return [self._studies.find(name) for name in names]

    def correct(self, kept: Kept, given: Any) -> None:
        """Correct what people read of a collection. What they read before is kept, with a number."""
        before, after = kept.terms, _corrected(kept, given)
        changed = [name for name in CORRECTED if getattr(before, name) != getattr(after, name)]
        if not changed:
            return
        if reworded := bool(set(changed) & set(WORDS)):
            after = replace(after, wording=before.wording + 1)
        add_detail("; ".join(f"{name}: {_said(before, name)} became {_said(after, name)}" for name in changed))
        text = json.dumps(asdict(after))

        def job(session: Session) -> None:
            collections.correct(session, kept.id, text)
            if reworded:
                words = json.dumps({name: getattr(before, name) for name in WORDS})
                wordings.keep(session, kept.id, before.wording, words, int(time.time()))

        self._writer.run(job)
        self._collections.refresh()

    def reopen(self, kept: Kept) -> None:
        """Take uploads again, for a collection that was closed by hand."""
        if kept.study.done:
            raise Problem(409, "study-done", f"this {kept.study.what} is done, and cannot go on")
        if kept.terms.state(time.time()) == "closed":
            detail = f"this {kept.study.what} has ended on its date, which is never changed: clone it to ask again"
            raise Problem(409, "study-closed", detail)

        def job(session: Session) -> None:
            if not collections.reopen(session, kept.id):
                raise Problem(409, "not-closed", f"this {kept.study.what} is not closed")

        self._writer.run(job)
        self._collections.refresh()

    def delete(self, kept: Kept) -> None:
        """Remove a collection that has ended, or a trial, for good: uploads, counts, tokens, form and trials."""
        if kept.state(time.time()) not in ("closed", "done") and kept.terms.trial_of is None:
            raise Problem(409, "not-closed", f"close this {kept.study.what} first: devices may still send to it")
        for trial in self.trials(kept):
            self._remove(trial)
        self._remove(kept)

    def _remove(self, kept: Kept) -> None:
        while self._writer.run(lambda session: uploads.delete_some(session, kept.id, _AT_ONCE)):
            pass  # a piece at a time

        def rest(session: Session) -> None:
            uploads.delete_some(session, kept.id, _AT_ONCE)
            collections.delete(session, kept.id)
            trail.forget_details(session, kept.name)

        self._writer.run(rest)
        self._database.clean()
        self._collections.refresh()
        self._studies.forget(kept.fingerprint)


def _said(terms: Terms, name: str) -> str:
    """A term as people read it."""
    value = getattr(terms, name)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return repr(value)
    return ", ".join(f"{item} = {label}" for item, label in value.items()) or "nothing"


def _corrected(kept: Kept, given: Any) -> Terms:
    if not isinstance(given, dict) or not given or set(given) - set(CORRECTED):
        raise invalid(f"what can be corrected is {', '.join(CORRECTED)}, not {shown(given)}; all else is another plan")
    archived = given.get("archived", kept.terms.archived)
    if not isinstance(archived, bool):
        raise invalid(f'"archived" is true or false, not {shown(archived)}')
    checked = terms_in({name: given[name] for name in WORDS if name in given})
    check_labelled(checked.labels, kept.study.read_by_people())
    words = {name: getattr(checked, name) for name in WORDS if name in given}
    return replace(kept.terms, **words, archived=archived)
