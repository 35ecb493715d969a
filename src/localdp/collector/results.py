"""The result of a study by now, whatever its kind: tables by name, as far as they are released."""

from __future__ import annotations

from localdp.collector.answering import Answering
from localdp.collector.answers import EstimatesQuery
from localdp.collector.collections import Collections
from localdp.collector.problems import invalid
from localdp.collector.studies import Kept
from localdp.collector.together import Found, Together


class Results:
    """The results of studies. Threads may share it."""

    def __init__(self, answering: Answering, collections: Collections) -> None:
        self._answering, self._collections = answering, collections
        self._together = Together(answering, collections)

    def of(self, kept: Kept, segment: str | None = None, given: str | None = None) -> Found:
        """What a study that is done has found, or what one that never is says by now.

        Questionnaires can be read for one `segment`, and for the people who gave an answer: `given` is such as
        "diet:vegan". Nothing that is released is a `TooFewReportsError`.
        """
        if kept.study.estimated_together:
            return self._together.result(kept, segment, None if given is None else _answer(given))
        if segment is not None or given is not None:
            raise invalid(f'"segment" and "given" are for questionnaires, and this is a {kept.study.what}')
        return _found(kept) if kept.study.goes_on else self._estimated(kept)

    def _estimated(self, kept: Kept) -> Found:
        """What the parts of a study say by now: the estimates of each."""
        answers = {
            part.key or "items": self._answering.answer(self._collections.by_part(kept.id, part.key), EstimatesQuery())
            for part in kept.parts
        }
        n = sum(answer.fitted.n for answer in answers.values())
        remarks = dict.fromkeys(note for answer in answers.values() for note in answer.remarks)
        return n, {name: answer.table() for name, answer in answers.items()}, tuple(remarks)


def _answer(given: str) -> tuple[str, str]:
    """The question and the answer that are named so."""
    question, between, answer = given.partition(":")
    if not between:
        raise invalid('"given" is a question and an answer to it, such as given=diet:vegan')
    return question, answer


def _found(kept: Kept) -> Found:
    found = kept.study.result()
    return sum(part.reports or 0 for part in kept.parts), found.tables(), tuple(getattr(found, "notes", ()))
