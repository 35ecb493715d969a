"""One device in a survey of sets, by its older name: `localdp.Client` takes surveys of sets too."""

from __future__ import annotations

import os

from localdp.client import Client
from localdp.client.upload import Upload
from localdp.domain import Domain
from localdp.sets.protocol import Survey


class SurveyClient(Client):
    """One device: `group` is the round that it answers, and `report(items, document)` its report, for that round only.

    `survey` is the JSON of a survey (`Survey.to_json`), `store` the folder of the device, as for `ldp.Client`; `most`
    is its cap, over everything that it ever reports. The device refuses what asks too much with a `PlanLimitError`: a
    larger epsilon than `most_epsilon`, longer reports than `most_report_bytes`, more items than `most_items`, and with
    `needs_other` also surveys without a catch-all item.

    >>> import tempfile
    >>> from localdp.sets import Survey
    >>> survey = Survey(["tea", "milk", "bread"], epsilon=2.0, users=10_000)
    >>> client = SurveyClient(survey.to_json(), store=tempfile.mkdtemp())
    >>> answer = client.report(["tea", "milk"], survey.round.to_json())
    >>> (answer is None) == (client.group != survey.round.number)
    True
    """

    study: Survey

    def __init__(
        self,
        survey: str | bytes,
        *,
        store: str | os.PathLike[str],
        most: float = 8.0,
        most_epsilon: float = 4.0,
        most_report_bytes: int = 4_096,
        most_items: int = 100_000,
        needs_other: bool = False,
        upload: str | Upload | None = None,
        token: str | None = None,
    ) -> None:
        super().__init__(
            Survey.from_json(survey),
            store=store,
            most=most,
            most_epsilon=most_epsilon,
            most_report_bytes=most_report_bytes,
            most_items=most_items,
            needs_other=needs_other,
            upload=upload,
            token=token,
        )

    @property
    def domain(self) -> Domain:
        """The items of the survey."""
        return self.study.domain

    @property
    def group(self) -> int:
        """The number of the round that this device answers."""
        return next(number for number, span in enumerate(self.study.spans) if self.place in span)

    def __repr__(self) -> str:
        return f"<SurveyClient of {self.fingerprint[:12]}, group {self.group}, spent {self.spent:.6g}>"
