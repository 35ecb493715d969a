"""POST /v1/plans/{plan}/reports: the route that devices use, and the only one where every microsecond counts.

The answer to an upload whose id was used before is the same whatever its body is, as long as the body is a valid batch:
the first body counts, and nobody can find out what it was by trying others.
"""

from __future__ import annotations

import re
import time

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from localdp.collector.bodies import GoneError
from localdp.collector.checking import read
from localdp.collector.collections import Collection, day_of
from localdp.collector.fields import TEXT, Parameter, record
from localdp.collector.guard import CORS
from localdp.collector.problems import Problem, busy
from localdp.collector.protocol import WHOLE, Whole
from localdp.collector.routes.route import Endpoint, Route, authorization_in, authorized
from localdp.collector.service import Service
from localdp.collector.storage.database import NewUpload
from localdp.collector.storage.uploads import key_of
from localdp.collector.terms import DAY
from localdp.collector.tokens import check_limit
from localdp.collector.writer import QueueFullError
from localdp.formats.batch import HEADER_BYTES, measured

UPLOAD_ID = re.compile(rb"[0-9a-fA-F]{32}")
_AT_ONCE = 1 << 16
"""Bodies up to this length are checked in the event loop; a thread would cost more than it saves."""
_JSON = ((b"content-type", b"application/json"), *CORS)
_BODIES = {True: b'{"status":"stored"}', False: b'{"status":"stored before"}'}
_WHOLE = {new: Whole.of(201 if new else 200, body, _JSON) for new, body in _BODIES.items()}


class Uploads(Endpoint):
    """The endpoint of the route, without the detours that other routes can afford."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            new = await self._take(scope, receive)
        except GoneError:
            return
        except Exception as error:
            self.service.metrics.add("uploads_refused")
            await self.problem(error).response()(scope, receive, send)
            return
        extension = scope.get("extensions", {}).get(WHOLE)
        if extension is not None and extension["write"](scope, _WHOLE[new]):
            return
        body = _BODIES[new]
        length = (b"content-length", b"%d" % len(body))
        await send({"type": "http.response.start", "status": 201 if new else 200, "headers": [length, *_JSON]})
        await send({"type": "http.response.body", "body": body})

    async def collection(self, scope: Scope) -> Collection:
        """What the uploads are for, by the path of the request."""
        return await self.service.collection(scope["path_params"]["plan"])

    async def _take(self, scope: Scope, receive: Receive) -> bool:
        """Read, check and store an upload; whether it is new."""
        if scope["query_string"]:
            self.read_query(Request(scope))
        service = self.service
        collection = await self.collection(scope)
        now = time.time()
        check_open(collection, now)
        headers = scope["headers"]
        if collection.terms.write_token:
            check_limit(await authorized(service, authorization_in(headers), "write"), "write", collection.id)
        upload_id = upload_id_in(headers)
        body = service.body()
        try:
            data = await body.read(headers, receive)
            plan = collection.plan
            count = measured(data, collection.wire_bytes, plan.mechanism.report_bytes)
            if count:
                rows = data[HEADER_BYTES:]  # the writer checks them, together with others
            elif len(data) <= _AT_ONCE:
                rows, count = read(plan, data)
            else:
                rows, count = await service.pools.for_devices(read, plan, data)
            if count > service.settings.most_reports and not collection.terms.write_token:
                raise too_many(count, service.settings.most_reports)
            key = key_of(collection.fingerprint_bytes, upload_id)
            try:
                segment = segment_in(headers, collection.terms.segments)
                wording = wording_in(headers, collection.terms.wording)
                upload = NewUpload(key, collection.id, collection.part, day_of(now), count, rows, segment, wording)
                outcome = await service.writer.submit(upload)
            except QueueFullError as error:
                raise busy(str(error)) from None
        finally:
            body.release()
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is None:
            raise closed()
        if outcome:
            service.metrics.stored(count, len(rows))
        else:
            service.metrics.add("uploads_repeated")
        return outcome


def upload_id_in(headers: list[tuple[bytes, bytes]]) -> bytes:
    """The upload id of a request. With two of them, a proxy in front could go by the other one."""
    given = [value for name, value in headers if name == b"upload-id"]
    if len(given) == 1 and UPLOAD_ID.fullmatch(given[0]):
        return bytes.fromhex(given[0].decode())
    raise Problem(
        400,
        "bad-upload-id",
        "an upload needs one header Upload-Id with 32 hexadecimal digits, drawn at random for each upload and kept "
        "when it is sent again",
    )


def segment_in(headers: list[tuple[bytes, bytes]], known: tuple[str, ...]) -> str:
    """The segment of an upload: a label that the collection knows, or else none."""
    if not known:
        return ""
    given = [value for name, value in headers if name == b"segment"]
    label = given[0].decode("latin-1").strip() if len(given) == 1 else ""
    return label if label in known else ""


def wording_in(headers: list[tuple[bytes, bytes]], newest: int) -> int:
    """The version of the wording that people were shown, if the device tells one that there is; otherwise 0."""
    for name, value in headers:
        if name == b"wording" and value.isdigit() and len(value) < 10:
            return int(value) if int(value) <= newest else 0
    return 0


def check_open(collection: Collection, now: float) -> None:
    """A `Problem` if the collection takes no uploads at this moment."""
    if collection.closed is not None or now >= collection.ends:
        raise closed()
    if now < collection.begins:
        # Not 409: a device may keep its report until then.
        seconds = min(DAY, int(collection.begins - now) + 1)
        raise Problem(403, "plan-not-open", "this plan does not take reports yet", {"Retry-After": str(seconds)})


def too_many(count: int, most: int) -> Problem:
    """More reports than a sender without a token may send at once."""
    sentence = f"an upload without a token holds at most {most:,} reports, not {count:,}: send them in several uploads"
    return Problem(413, "too-many-reports", sentence)


def closed() -> Problem:
    """The plan takes no more uploads."""
    return Problem(409, "plan-closed", "this plan is closed and takes no more reports")


async def _unused(service: Service, request: Request) -> Response:
    raise NotImplementedError("the endpoint of uploads answers by itself")


BATCH = record(
    ("plan", "reports"),
    {
        "plan": {"type": "string", "description": "The fingerprint of the plan."},
        "reports": {"type": "array", "minItems": 1, "items": {"type": "string", "description": "Base64."}},
    },
)
STATUS = record(("status",), {"status": TEXT})
UPLOAD_ID_HEADER = Parameter(
    "Upload-Id",
    "16 random bytes in hex, the same for every attempt to send one upload.",
    {"type": "string", "pattern": "^[0-9a-fA-F]{32}$"},
    "header",
    required=True,
)
SEGMENT_HEADER = Parameter(
    "Segment",
    "A label of the collection's segments, sent in the clear. Any other label counts as none.",
    {"type": "string", "maxLength": 40},
    "header",
)
WORDING_HEADER = Parameter(
    "Wording",
    "The version of the wording that people were shown. Any other number counts as none.",
    {"type": "string", "pattern": "^[0-9]{1,9}$"},
    "header",
)
ROUTE = Route(
    "POST",
    "/v1/plans/{plan}/reports",
    "write",
    "Store a batch of reports. The answers 201 and 200 are sent when it is on the disk.",
    _unused,
    {201: ("Stored.", {"application/json": STATUS}), 200: ("Stored before.", {"application/json": STATUS})},
    (UPLOAD_ID_HEADER, SEGMENT_HEADER, WORDING_HEADER),
    {"application/octet-stream": {"type": "string", "format": "binary"}, "application/json": BATCH},
    (409,),
    open=True,
    endpoint=Uploads,
)
