"""Raw uploads out as Parquet, and aggregates that were made elsewhere in."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from localdp import files
from localdp.collector.checking import stored_reports
from localdp.collector.collections import Collection, day_of, days_between, iso_day
from localdp.collector.fields import DAY, FROM, TO, Parameter, check_days
from localdp.collector.problems import Problem, invalid
from localdp.collector.routes.route import Route, json_response
from localdp.collector.routes.uploads import STATUS, UPLOAD_ID_HEADER, check_open, closed, upload_id_in
from localdp.collector.service import Service
from localdp.collector.storage import aggregates, uploads
from localdp.collector.storage.database import Session
from localdp.plan import Aggregate

_PIECE_BYTES = 1 << 24
_SENT_BYTES = 1 << 16


async def export(service: Service, request: Request) -> Response:
    """The raw reports as a Parquet file that `localdp aggregate` and the engines read."""
    collection = await service.collection(request.path_params["plan"])
    first, last = (request.state.query.get(name) for name in ("from", "to"))
    check_days(first, last)
    days = days_between(first, last)
    file, dropped = await service.pools.for_analysts((collection.id, "export"), _written, service, collection, days)
    headers = {
        "Reports-Dropped": str(dropped),
        "Content-Length": str(os.fstat(file.fileno()).st_size),
        "Content-Disposition": f'attachment; filename="{collection.plan.fingerprint[:16]}.parquet"',
    }
    return StreamingResponse(_pieces(file), 200, headers, "application/vnd.apache.parquet")


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(_SENT_BYTES):
            yield piece


def _written(service: Service, collection: Collection, days: tuple[int, int]) -> tuple[BinaryIO, int]:
    """An open file with the reports of these days, and how many reports are not in it, because they are dropped.

    The file has no name any more, so it is gone when it is closed, whatever happens to the request.
    """
    with tempfile.TemporaryDirectory(prefix="localdp-export-") as folder:
        path, dropped = Path(folder, "reports.parquet"), 0
        with files.reports_writer(path, collection.plan) as write:
            gathered: list[bytes] = []
            size = 0
            for piece in uploads.stored(service.database, collection.id, collection.part, days):
                for one in piece:
                    if one.body is None:
                        dropped += one.count
                        continue
                    gathered.append(one.body)
                    size += len(one.body)
                    if size >= _PIECE_BYTES:
                        write(stored_reports(b"".join(gathered), collection.plan))
                        gathered, size = [], 0
            if gathered:
                write(stored_reports(b"".join(gathered), collection.plan))
        return path.open("rb"), dropped


async def add_aggregate(service: Service, request: Request) -> Response:
    """Add an aggregate that an engine or another collector has made, once."""
    collection = await service.collection(request.path_params["plan"])
    check_open(collection, time.time())
    key = uploads.key_of(collection.fingerprint_bytes, upload_id_in(request.scope["headers"]))
    day = _day_to_count_for(request)
    body = service.body()
    try:
        data = await body.read(request.scope["headers"], request.receive)
        aggregate = await service.pools.for_operators(_checked, data, collection)
        sources = aggregate.sources or {hashlib.sha256(data).hexdigest()}

        def job(session: Session) -> bool:
            if not session.open_parts([(collection.id, collection.part)]):
                raise closed()
            if not uploads.import_aggregate(session, key, collection.where, day, aggregate.n, data):
                return False
            if not aggregates.claim_sources(session, collection.id, sources):
                raise Problem(
                    409, "counted-before", "reports in this aggregate were imported before, and would count twice"
                )
            aggregates.add(session, collection.where, day, aggregate.n, aggregate.counts)
            return True

        new = await service.writer.call(job)
    finally:
        body.release()
    return json_response({"status": "stored" if new else "stored before"}, 201 if new else 200)


def _day_to_count_for(request: Request) -> int:
    """The day of an aggregate. A day far away would be a mistake, and would stretch every history to it."""
    today = day_of(time.time())
    given = request.state.query.get("day")
    day = today if given is None else days_between(given, given)[0]
    if not 0 <= day <= today + 1:  # it may be tomorrow already where the aggregate was made
        raise invalid(f'"day" is a day from 1970-01-01 to today, {iso_day(today)} in UTC, not {iso_day(day)}')
    return day


def _checked(data: bytes, collection: Collection) -> Aggregate:
    aggregate = Aggregate.from_bytes(data, name="the body")
    if aggregate.plan != collection.plan:
        raise invalid(f"the aggregate was made under plan {aggregate.plan.fingerprint}, which is another one")
    if not aggregate.n:
        raise invalid("the aggregate holds no reports")
    return aggregate


_BINARY = {"type": "string", "format": "binary"}
_DONE = {
    201: ("Added.", {"application/json": STATUS}),
    200: ("Added before.", {"application/json": STATUS}),
}

ROUTES = (
    Route("GET", "/v1/plans/{plan}/export", "admin", "The raw reports, as Parquet.", export,
          {200: ("A Parquet file.", {"application/vnd.apache.parquet": _BINARY})}, (FROM, TO)),
    Route("POST", "/v1/plans/{plan}/aggregates", "admin", "Add an aggregate that was made elsewhere.", add_aggregate,
          _DONE, (UPLOAD_ID_HEADER, Parameter("day", "The day it counts for, in UTC; today by default.", DAY)),
          {"application/octet-stream": _BINARY}, (409,)),
)  # fmt: skip
