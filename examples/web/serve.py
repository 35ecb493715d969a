"""Serve the example page on this machine, with a toy collector that counts the reports: python examples/web/serve.py

The collector keeps everything in memory and trusts everybody, so it is for trying things out only. It has the routes
of the real one that a page needs, and shows after every report what it can tell by now.
"""

from __future__ import annotations

import argparse
import mimetypes
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import localdp as ldp
from localdp.errors import WireError

HERE = Path(__file__).resolve().parent
MODULE = HERE.parents[1] / "js" / "src"
ANSWERS = ["Very well", "Well", "So-so", "Badly", "Hardly at all"]
LARGEST_BODY = 65_536

# Nothing but files of this server, no inline scripts, no inline styles, no frames.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


class Site(ThreadingHTTPServer):
    """The page, and a collector for one plan."""

    daemon_threads = True

    def __init__(self, plan: ldp.Plan, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.plan = plan
        self.batches: dict[str, bytes] = {}
        self.aggregate = ldp.Aggregate(plan)
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def receive(self, upload_id: str, body: bytes) -> HTTPStatus:
        """Count a batch once, however often it comes."""
        if len(upload_id) != 32 or set(upload_id) - set("0123456789abcdef"):
            return HTTPStatus.BAD_REQUEST
        try:
            reports = self.plan.read(body)
        except WireError:
            return HTTPStatus.UNPROCESSABLE_ENTITY
        with self.lock:
            known = self.batches.setdefault(upload_id, body)
            if known is not body:
                return HTTPStatus.OK if known == body else HTTPStatus.CONFLICT
            self.aggregate.add(reports)
        return HTTPStatus.CREATED

    def learnt(self) -> str:
        """What the collector knows: how many people gave each answer, and how far that may be off."""
        estimate = self.aggregate.estimate()
        rows = [f"  {answer:15} {number:6.1f}" for answer, number in zip(ANSWERS, estimate.frequencies, strict=True)]
        heading = f"{estimate.n} reports; people by answer, each with a standard error of {estimate.std_error:.1f}:"
        return "\n".join([heading, *rows])


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Site
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        plan = self.server.plan
        if path in (f"/v1/plans/{plan.fingerprint}/document", "/plan.json"):
            self.answer(HTTPStatus.OK, plan.to_json().encode(), "application/json")
            return
        root = MODULE if path.startswith("/localdp/") else HERE
        name = path.removeprefix("/localdp/").lstrip("/") or "index.html"
        file = (root / name).resolve()
        if not file.is_relative_to(root) or not file.is_file():
            self.answer(HTTPStatus.NOT_FOUND)
            return
        kind = "text/javascript" if file.suffix == ".js" else mimetypes.guess_type(file.name)[0]
        self.answer(HTTPStatus.OK, file.read_bytes(), kind or "application/octet-stream")

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if length > LARGEST_BODY:
            self.close_connection = True
            self.answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        body = self.rfile.read(length)
        if urlsplit(self.path).path != f"/v1/plans/{self.server.plan.fingerprint}/reports":
            self.answer(HTTPStatus.NOT_FOUND)
            return
        status = self.server.receive(self.headers.get("Upload-Id", ""), body)
        self.answer(status)
        if status == HTTPStatus.CREATED:
            self.log_message("%s", self.server.learnt())

    def answer(self, status: HTTPStatus, body: bytes = b"", kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if kind.startswith("text/") else kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, *_: object) -> None:
        """Say nothing: a log of addresses beside reports is what a collector must not keep."""

    def log_message(self, words: str, *args: object) -> None:
        print(words % args, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the example page on this machine, with a toy collector.")
    parser.add_argument("--port", type=int, default=8000, help="the port on 127.0.0.1 (default: %(default)s)")
    parser.add_argument("--epsilon", type=float, default=1.0, help="the privacy budget (default: %(default)s)")
    options = parser.parse_args()
    try:
        site = Site(ldp.Plan(ANSWERS, "grr", options.epsilon), options.port)
    except (OSError, ldp.LocalDPError) as error:
        parser.error(f"this cannot be served: {error}")
    print(f"open {site.url} in a browser; stop with Ctrl+C", flush=True)
    try:
        site.serve_forever()
    except KeyboardInterrupt:
        print()
    finally:
        site.server_close()


if __name__ == "__main__":
    main()
