"""The reports of a questionnaire: those of each of its parts."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

from localdp.errors import InvalidInputError, WireCode, WireError
from localdp.formats import batch
from localdp.frozen import Frozen
from localdp.plan import Reports

if TYPE_CHECKING:
    from localdp.questionnaires.part import QuestionPart
    from localdp.questionnaires.questionnaire import Questionnaire

_COUNT = struct.Struct("<I")


class QuestionnaireReports(Frozen):
    """Private reports of people who each answered one part. `Questionnaire.privatize` makes them.

    `by_part` has the reports of each part that was answered, by the key of the part, such as "diet" or "diet,age".

    >>> from localdp import Choice, Questionnaire
    >>> survey = Questionnaire({"tea": Choice(["yes", "no"]), "milk": Choice(["yes", "no"])}, epsilon=1.0)
    >>> reports = survey.privatize({"tea": ["yes"] * 100, "milk": ["no"] * 100}, seed=1)
    >>> len(reports), {key: len(some) for key, some in reports.by_part.items()}
    (100, {'tea': 40, 'milk': 60})
    >>> survey.read(reports.to_bytes()).by_part.keys() == reports.by_part.keys()
    True
    """

    def __init__(self, survey: Questionnaire, by_part: dict[str, Reports]) -> None:
        for key, reports in by_part.items():
            if reports.plan != survey.part(key).plan:
                raise InvalidInputError(f"{reports!r} were not made under the part {key!r} of this questionnaire")
        self.survey = survey
        self.by_part = {key: reports for key, reports in by_part.items() if len(reports)}
        self._freeze()

    def to_bytes(self) -> bytes:
        """A binary batch for each part, one after the other: `Questionnaire.read` reads them."""
        return b"".join(reports.to_bytes() for reports in self.by_part.values())

    def __iter__(self) -> Iterator[tuple[QuestionPart, Reports]]:
        for key, reports in self.by_part.items():
            yield self.survey.part(key), reports

    def __len__(self) -> int:
        return sum(map(len, self.by_part.values()))

    def __repr__(self) -> str:
        return f"<Reports of {len(self):,} people in {len(self.by_part)} parts of {self.survey!r}>"


def read_batches(survey: Questionnaire, data: bytes) -> QuestionnaireReports:
    """The reports in batches that stand one after the other; a part may have several."""
    parts = {part.plan.fingerprint[:32]: part for part in survey.parts()}
    found: dict[str, list[bytes]] = {}
    rest = memoryview(data)
    while len(rest):
        header = bytes(rest[: batch.HEADER_BYTES])
        part = parts.get(header[len(batch.MAGIC) :][:16].hex())
        if not header.startswith(batch.MAGIC) or len(header) < batch.HEADER_BYTES:
            raise WireError(WireCode.BAD_MAGIC, "this is not a batch of reports: it does not start with LDP1")
        if part is None:
            raise WireError(WireCode.UNKNOWN_PLAN, "a batch was not made under a part of this questionnaire")
        (count,) = _COUNT.unpack(header[-_COUNT.size :])
        length = batch.HEADER_BYTES + count * part.plan.mechanism.report_bytes
        part.plan.read(rest[:length])  # a batch that ends too early, or holds what is no report, is refused
        found.setdefault(part.key, []).append(bytes(rest[batch.HEADER_BYTES : length]))
        rest = rest[length:]
    by_part = {}
    for key, rows in found.items():
        plan = survey.part(key).plan
        body = b"".join(rows)
        count = len(body) // plan.mechanism.report_bytes
        by_part[key] = plan.read(batch.MAGIC + bytes.fromhex(plan.fingerprint)[:16] + _COUNT.pack(count) + body)
    return QuestionnaireReports(survey, by_part)
