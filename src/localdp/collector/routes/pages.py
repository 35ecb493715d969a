"""Files for browsers: the dashboard, and the JavaScript client that other sites may load from here.

The files are read once and kept. They are no routes of the API: they need no token and hold no data; whatever the
dashboard shows, it asks for through the API, with the token of whoever signed in.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from localdp.collector.guard import CORS
from localdp.collector.problems import not_found

COLLECTOR = Path(__file__).parents[1]
DASHBOARD = COLLECTOR / "dashboard"

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""Scripts and styles come from this collector only, and no text ever becomes markup (trusted types)."""

_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class File:
    """A file as it is sent."""

    body: bytes
    media_type: str
    tag: str

    def response(self, request: Request, policy: str | None = None) -> Response:
        """The file, or 304 if the browser has it. Browsers ask every time, so that an upgrade is seen at once."""
        headers = {"ETag": self.tag, "Cache-Control": "no-cache"}
        if policy is not None:
            headers["Content-Security-Policy"] = policy
        if self.tag in request.headers.get("if-none-match", ""):
            return Response(None, 304, headers)
        return Response(self.body, 200, headers, self.media_type)


def client_folder() -> Path:
    """The JavaScript client: in the package if it was installed from a wheel, else beside `src` in the repository."""
    packaged = COLLECTOR / "javascript"
    return packaged if packaged.is_dir() else COLLECTOR.parents[2] / "js" / "src"


@cache
def files_in(folder: Path) -> dict[str, File]:
    """The files below a folder, by their paths. A path that is asked for is looked up here and never on the disk."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in _MEDIA_TYPES:
            body = path.read_bytes()
            tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
            found[path.relative_to(folder).as_posix()] = File(body, _MEDIA_TYPES[path.suffix], tag)
    return found


def index(request: Request) -> Response:
    """The page of the dashboard."""
    return files_in(DASHBOARD)["index.html"].response(request, POLICY)


async def dashboard_file(request: Request) -> Response:
    """A script, the style or the icon of the dashboard."""
    found = files_in(DASHBOARD).get(request.path_params["file"])
    return not_found().response() if found is None else found.response(request, POLICY)


async def client_file(request: Request) -> Response:
    """A module of the JavaScript client, which pages of any site may import."""
    found = files_in(client_folder()).get(request.path_params["file"])
    response = not_found().response() if found is None else found.response(request)
    response.raw_headers.extend(CORS)
    return response


def page_routes() -> list[Route]:
    """The routes of the files."""
    return [
        Route("/dashboard/{file:path}", dashboard_file, methods=["GET"]),
        Route("/client/{file:path}", client_file, methods=["GET"]),
    ]
