"""Where a collector has what devices need: the routes, in one place, and how a device gets there.

    GET  /v1/studies/<study>/part                      the document of the part under way
    POST /v1/studies/<study>/parts/<part>/reports      the report of a device in this part

A study and a part are named by their fingerprints. A plan has one part, and a route of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from localdp.client.upload import HttpUpload, Upload, to_route
from localdp.errors import InvalidInputError


@dataclass(frozen=True)
class Routes:
    """The routes of one family, with {study} and {part} where the fingerprints are."""

    part: str
    reports: str


STUDIES = Routes("/v1/studies/{study}/part", "/v1/studies/{study}/parts/{part}/reports")
PLANS = Routes("/v1/plans/{study}/document", "/v1/plans/{study}/reports")
WORDING = "/v1/studies/{study}/wording"
"""What people read of a plan or a study."""
DISCOVERIES = Routes("/v1/discoveries/{study}/round", "/v1/discoveries/{study}/rounds/{part}/reports")
"""As collectors had them before there were studies."""


class Addresses:
    """Where the reports of one study go. `upload` is the address of the collector, a function, or None."""

    def __init__(
        self, study: str, routes: Routes, upload: str | Upload | None, token: str | None, segment: str | None = None
    ) -> None:
        if upload is not None and not isinstance(upload, str) and not callable(upload):
            raise InvalidInputError(f"upload is an address or a function, not {type(upload).__name__}")
        self._study, self._routes, self._upload, self._token, self._segment = study, routes, upload, token, segment
        if isinstance(upload, str):
            reports = self._to(upload, routes.reports)  # an address that cannot be used is refused at once
            if "{part}" in routes.reports and reports.address == upload:
                raise InvalidInputError("upload, the address of the collector, has no path: https://collector.example")

    def reports(self, part: str | None, known: str | None = None) -> Upload:
        """What sends the reports of this part. If it is None, they go to an address that is known of them."""
        upload = self._needed()
        if not isinstance(upload, str):
            return upload
        way = self._to(upload, self._routes.reports, part or "")
        return (way.at(known) if known and part is None else None) or way

    def part(self) -> str:
        """The address of the document of the part under way."""
        upload = self._needed()
        if not isinstance(upload, str):
            raise InvalidInputError("give the document of the part under way: a function cannot be asked for it")
        return self._to(upload, self._routes.part).address

    def wording(self) -> str:
        """The address of what people are to read."""
        upload = self._needed()
        found = self._to(upload, WORDING).address if isinstance(upload, str) else upload
        if not isinstance(found, str) or found == upload:
            raise InvalidInputError("the wording is fetched from the address of a collector, which has no path")
        return found

    def _to(self, address: str, route: str, part: str = "") -> HttpUpload:
        return to_route(address, route.format(study=self._study, part=part), self._token, self._segment)

    def _needed(self) -> str | Upload:
        if self._upload is None:
            raise InvalidInputError("this client does not know where to send reports: make it with upload=, an address")
        return self._upload


def by_http(url: str, plan: str, token: str | None = None) -> HttpUpload:
    """A function that posts batches of the plan with this fingerprint to a URL, which need not have a path."""
    return to_route(url, PLANS.reports.format(study=plan), token)
