"""A real Chromium for tests, and a site on this machine that answers as it was told."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import threading
import time
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path

import pytest
from js.node_tools import JS
from paths import ROOT

import localdp as ldp

EXECUTABLE = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HAS_PLAYWRIGHT = importlib.util.find_spec("playwright") is not None

needs_chromium = pytest.mark.skipif(
    EXECUTABLE is None or not HAS_PLAYWRIGHT, reason="Chromium or the Python package playwright is not installed"
)


def _example():
    spec = importlib.util.spec_from_file_location("serve", ROOT / "examples" / "web" / "serve.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


serve = _example()
ANSWERS = serve.ANSWERS
PLAN = ldp.Plan(1_000, "grr", 0.5)


class Handler(serve.Handler):
    """Serves `js/` and the golden vectors too, and keeps every upload."""

    def do_GET(self):
        place, _, name = self.path.lstrip("/").partition("/")
        root = {"js": JS, "vectors": ROOT / "vectors"}.get(place)
        if self.path == "/blank":
            self.answer(
                HTTPStatus.OK, b"<!doctype html><title>blank</title><link rel=icon href=/icon.svg>", "text/html"
            )
        elif self.path in self.server.modules:
            kind = "text/html" if self.path.endswith(".html") else "text/javascript"
            self.answer(HTTPStatus.OK, self.server.modules[self.path].encode(), kind)
        elif self.path.endswith("/wording"):
            self.answer(HTTPStatus.OK, b'{"version": 1, "question": "", "labels": {}}', "application/json")
        elif root is None:
            super().do_GET()
        else:
            kind = "application/json" if name.endswith(".json") else "text/javascript"
            content = (root / name).read_bytes().replace(b'from "localdp"', b'from "/js/src/index.js"')
            self.answer(HTTPStatus.OK, content, kind)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.uploads.append((self.headers["Upload-Id"], body))
            self.server.headers_seen.append(dict(self.headers))
            status = self.server.answers.pop(0) if self.server.answers else None
        self.server.arrived.set()
        self.server.let_go.wait(30)
        self.answer(HTTPStatus(status) if status else self.server.receive(self.headers["Upload-Id"], body))

    def log_message(self, *_):
        pass


class Site(serve.Site):
    """`answers` are statuses, used in order; after them, the toy collector decides.

    `modules` are more texts to serve, by path. `arrived` is set by every upload. While `let_go` is not set, nothing is
    answered.
    """

    def __init__(self, plan):
        super().__init__(plan)
        self.RequestHandlerClass = Handler
        self.answers, self.uploads, self.headers_seen = [], [], []
        self.modules = {}
        self.arrived, self.let_go = threading.Event(), threading.Event()
        self.let_go.set()

    def handle_error(self, *_):
        """A page that is closed breaks its connections."""


@contextmanager
def site(plan=PLAN):
    """A running site."""
    server = Site(plan)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.let_go.set()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def driver():
    """What starts browsers. A process can have one at a time."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright


@contextmanager
def browser(playwright):
    """A running Chromium."""
    chromium = playwright.chromium.launch(executable_path=EXECUTABLE, args=FLAGS)
    try:
        yield chromium
    finally:
        chromium.close()


BLOCKED = {"profile": {"default_content_setting_values": {"cookies": 2}}}
"""The preferences of somebody who has blocked everything that sites want to store."""


@contextmanager
def browser_of(playwright, folder, preferences=None):
    """A context of a Chromium whose profile is this folder."""
    if preferences is not None:
        (folder / "Default").mkdir(parents=True)
        (folder / "Default" / "Preferences").write_text(json.dumps(preferences))
    context = playwright.chromium.launch_persistent_context(folder, executable_path=EXECUTABLE, args=FLAGS)
    try:
        yield context
    finally:
        from playwright.sync_api import Error

        with suppress(Error):  # a browser that a test has killed may be gone already
            context.close()


def kill(folder):
    """End the Chromium whose profile is this folder at once, as a crash does."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile
            continue
        if f"--user-data-dir={folder}".encode() in line and not any(part.startswith(b"--type=") for part in line):
            os.kill(int(process.name), signal.SIGKILL)
            break
    else:
        raise AssertionError("there is no such Chromium")
    until = time.monotonic() + 60
    while any(_profile(process) == folder for process in Path("/proc").glob("[0-9]*")):  # its helpers end by themselves
        assert time.monotonic() < until
        time.sleep(0.01)


def _profile(process):
    """The folder of the profile that this process works for, if it is one of a Chromium."""
    try:
        line = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:  # it ended meanwhile
        return None
    return next((Path(os.fsdecode(part[16:])) for part in line if part.startswith(b"--user-data-dir=")), None)


def opened(context, server, path="/blank"):
    """A page of the site, with `localdp` and `plan` in it; whatever it complains of ends up in `page.complaints`."""
    page = context.new_page()
    page.complaints = []
    page.on("console", lambda said: page.complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(server.url + path)
    if path == "/blank":
        page.evaluate(
            """async () => {
                window.localdp = await import("/js/src/index.js");
                window.plan = await (await fetch("/plan.json")).text();
                window.hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
                window.client = (options) => new localdp.Client(plan, options);
                window.code = (promise) => promise.then(() => "no error", (error) => error.code ?? String(error));
            }"""
        )
    return page
