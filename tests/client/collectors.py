"""A collector on this machine for tests: it answers as it was told, and keeps every request."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Drip:
    """An answer that begins at once and goes on for ever, a byte at a time; `ended` tells that the client hung up."""

    def __init__(self, beginning):
        self.beginning = beginning
        self.ended = threading.Event()

    def write(self, file):
        with suppress(OSError):
            file.write(self.beginning)
            for _ in range(3_000):
                file.write(b"x")
                time.sleep(0.01)
            return
        self.ended.set()


class Collector(ThreadingHTTPServer):
    """`requests` holds path, headers and body of every request; `answers` holds (status, headers),
    bytes to send instead of an answer, a `Drip`, or None to break off; they are used in order. `documents` are what
    can be fetched, by path; `missing` is what is said of others. Paths in `moved` lead
    to /elsewhere, with a status.
    """

    daemon_threads = True

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = iter(answers)
        self.requests = []
        self.documents = {}
        self.missing = ""
        self.moved = {}

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, dict(self.headers), body))
        answer = next(self.server.answers, (201, {}))
        if isinstance(answer, Drip):
            answer.write(self.wfile)
            self.close_connection = True
            return
        if answer is None or isinstance(answer, bytes):
            self.wfile.write(answer or b"")
            self.close_connection = True
            return
        status, headers = answer
        said = headers.pop("said", b"")
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def do_GET(self):
        said = self.server.documents.get(self.path)
        moved = self.server.moved.get(self.path)
        self.send_response(moved or (404 if said is None else 200))
        if moved:
            self.send_header("Location", "/elsewhere")
        words = self.server.missing if said is None else said
        self.send_header("Content-Length", str(len(words)))
        self.end_headers()
        self.wfile.write(words.encode())

    def log_message(self, *_):
        pass


@contextmanager
def collector(answers=()) -> Iterator[Collector]:
    """A running collector; after its answers are used up, it says 201."""
    server = Collector(answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
