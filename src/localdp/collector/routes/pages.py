"""Files for browsers: the dashboard, and the JavaScript client that other sites may load from here.

The files are read once and kept. They are no routes of the API: they need no token and hold no data; whatever the
dashboard shows, it asks for through the API, with the token of whoever signed in.

The client is one file, `/client/localdp-<version>.js`. A file with the version of a release never changes, so browsers
keep it for a year; one of a development version does, and browsers ask whether it did. `/client/index.js` is the newest
one, where pages loaded the client from before it had versions. `/client/files.json` says what there is, with the
integrity that a page can ask its browser to check.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from localdp import __version__
from localdp.collector.problems import Problem, not_found

COLLECTOR = Path(__file__).parents[1]
DASHBOARD = COLLECTOR / "dashboard"
CLIENT = COLLECTOR / "javascript"

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob:",  # pictures that the page makes of its own charts
        "connect-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""Scripts and styles come from this collector only, and no text ever becomes markup (trusted types)."""

FRAMED = POLICY.replace("frame-ancestors 'none'", "frame-ancestors *")
"""The policy of the page with one chart that other sites may frame. It has no session: its token is in its address."""

_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
_ASK = "no-cache"
_KEEP = "public, max-age=31536000, immutable"
_RELEASE = re.compile(r"localdp(-[a-z]+)?-\d+\.\d+\.\d+\.js")


@dataclass(frozen=True)
class File:
    """A file as it is sent."""

    body: bytes
    media_type: str
    tag: str
    encoded: Mapping[str, bytes] = field(default_factory=dict)
    """The same bytes compressed, by the names that HTTP has for the ways to do so; the best one first."""

    def response(self, request: Request, policy: str | None = None, cache: str = _ASK) -> Response:
        """The file, or 304 if the browser has it. By default browsers ask every time, and see an upgrade at once."""
        headers = {"ETag": self.tag, "Cache-Control": cache}
        if policy is not None:
            headers["Content-Security-Policy"] = policy
        if self.tag in request.headers.get("if-none-match", ""):
            return Response(None, 304, headers)
        accepted = {one.partition(";")[0].strip() for one in request.headers.get("accept-encoding", "").split(",")}
        for name, encoded in self.encoded.items():
            if name in accepted:
                return Response(
                    encoded, 200, {**headers, "Content-Encoding": name, "Vary": "Accept-Encoding"}, self.media_type
                )
        return Response(self.body, 200, headers, self.media_type)

    @classmethod
    def of(cls, body: bytes, suffix: str, brotli: bytes | None = None) -> File:
        """A file with this content, whose name ends with the suffix."""
        encoded = {"br": brotli} if brotli else {}
        encoded["gzip"] = gzip.compress(body, mtime=0)
        return cls(body, _MEDIA_TYPES[suffix], f'"{hashlib.sha256(body).hexdigest()[:32]}"', encoded)


@cache
def files_in(folder: Path) -> dict[str, File]:
    """The files below a folder, by their paths. A path that is asked for is looked up here and never on the disk."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in _MEDIA_TYPES:
            compressed = path.with_name(f"{path.name}.br")
            brotli = compressed.read_bytes() if compressed.exists() else None
            found[path.relative_to(folder).as_posix()] = File.of(path.read_bytes(), path.suffix, brotli)
    return found


@cache
def client_files() -> dict[str, File]:
    """The files that pages of any site may load, by their names."""
    found = dict(files_in(CLIENT))
    listed = {name: _listed(f"{stem}-{__version__}.js") for name, stem in _NEWEST.items()}
    found["files.json"] = File.of(json.dumps(listed).encode(), ".json")
    found["index.js"] = found[f"localdp-{__version__}.js"]
    return found


_NEWEST = {"client": "localdp", "question": "localdp-question"}
"""What a page may load, and how the names of these files begin."""


def _listed(name: str) -> dict[str, str]:
    """Where a page finds a file, and the hash by which a browser knows that it is unchanged."""
    digest = hashlib.sha384(files_in(CLIENT)[name].body).digest()
    return {"path": f"/client/{name}", "integrity": f"sha384-{base64.b64encode(digest).decode()}"}


def index(request: Request) -> Response:
    return files_in(DASHBOARD)["index.html"].response(request, POLICY)


async def embed(request: Request) -> Response:
    """The results of one study, for a frame of another page."""
    return files_in(DASHBOARD)["embed.html"].response(request, FRAMED)


async def dashboard_file(request: Request) -> Response:
    """A script, the style or the icon of the dashboard."""
    found = files_in(DASHBOARD).get(request.path_params["file"])
    return not_found().response() if found is None else found.response(request, POLICY)


async def client_file(request: Request) -> Response:
    """A file of the JavaScript client, which pages of any site may load."""
    name = request.path_params["file"]
    found = client_files().get(name)
    cache = _KEEP if _RELEASE.fullmatch(name) else _ASK
    return _no_such_version(name) if found is None else found.response(request, cache=cache)


def _no_such_version(name: str) -> Response:
    """Say which version there is: a page may name one that this collector never had, or has no more."""
    if not re.fullmatch(r"localdp(-[a-z]+)?-[0-9a-z.-]+\.js", name):
        return not_found().response()
    detail = (
        f"this collector does not have {name}; it has version {__version__}. Copy the snippet from the dashboard "
        "again, or load /client/index.js, which is always the newest"
    )
    return Problem(404, "no-such-version", detail).response()


def page_routes() -> list[Route]:
    return [
        Route("/embed", embed, methods=["GET"]),
        Route("/dashboard/{file:path}", dashboard_file, methods=["GET"]),
        Route("/client/{file:path}", client_file, methods=["GET"]),
    ]
