"""The recipe site of docs/browser.md, literally, on a server with a strict policy, and visitors in Chromium."""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from paths import ROOT

import localdp as ldp

DIETS = ["everything", "vegetarian", "vegan", "something else"]
FEATURES = ["shopping list", "timer", "comments", "scaling"]


def files(collector, names):
    """The page and its script as the documentation has them, with the address of a collector and its plans."""
    text = (ROOT / "docs" / "browser.md").read_text("utf-8")
    page, script = (
        re.search(r"```html\n(<!doctype.*?)```", text, re.S)[1],
        re.search(r"```js\n(// recipes.js.*?)```", text, re.S)[1],
    )
    for old, new in {"https://collector.example": collector.url, "VERSION": ldp.__version__, **names}.items():
        page, script = page.replace(old, new), script.replace(old, new)
    return {"/": ("text/html", page), "/recipes.js": ("text/javascript", script)}


def policy(collector):
    """The policy of the documentation."""
    text = (ROOT / "docs" / "browser.md").read_text("utf-8")
    return re.search(r"Content-Security-Policy: (.*)", text)[1].replace("https://collector.example", collector.url)


@contextmanager
def site(collector, served):
    """The address of a server that serves these files with the strict policy."""
    allowed = policy(collector)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            kind, body = served.get(self.path, ("text/plain", ""))
            self.send_response(200 if self.path in served else 404)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Security-Policy", allowed)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


def questions(collector):
    """The four collections, and what stands for them in the documentation."""
    made = {
        "DIET": collector.collection(items=DIETS, other=DIETS[-1], epsilon=2.0, mechanism="auto").fingerprint,
        "STARS": _created(collector, {"scale": {"low": 1, "high": 5}, "epsilon": 2.0, "minimum": 1}),
        "FEATURES": collector.collection(items=FEATURES, set_size=2, epsilon=2.0, mechanism="auto").fingerprint,
    }
    study = ldp.Discovery(epsilon=2.0, users=1_000, top=3, most_bytes=16)
    answer = collector.ask(
        "POST", "/v1/studies", json={"kind": "discovery", "epsilon": 2.0, "users": 1_000, "top": 3, "most_bytes": 16}
    )
    assert answer.status_code == 201, answer.text
    assert answer.json()["fingerprint"] == study.fingerprint
    return {**made, "SEARCH": study.fingerprint}


def _created(collector, asked):
    answer = collector.ask("POST", "/v1/plans", json=asked)
    assert answer.status_code == 201, answer.text
    return answer.json()["fingerprint"]


def visit(chromium, address, held):
    """One visitor: loads the page, answers, reloads, and opens a second tab. Gives the addresses that were loaded."""
    context = chromium.new_context()
    context.set_default_timeout(120_000)  # a busy machine is slow, and nothing is measured here
    context.add_init_script(
        f"localStorage.setItem('used this week', {json.dumps(json.dumps(held['features']))});"
        f"localStorage.setItem('last search', {json.dumps(held['search'])});"
    )
    page = context.new_page()
    loaded, complaints = [], []
    page.on("request", lambda request: loaded.append((request.method, request.url)))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.goto(address)
    first = page.locator("localdp-question").nth(0)
    second = page.locator("localdp-question").nth(1)
    first.get_by_label(held["diet"]).check()
    first.get_by_role("button", name="Send").click()
    first.get_by_text("Thank you").wait_for()
    other = context.new_page()  # a second tab, before the first is done
    other.goto(address)
    second.get_by_label(str(held["stars"]), exact=True).check()
    second.get_by_role("button", name="Send").click()
    second.get_by_text("Thank you").wait_for()
    page.reload()
    page.get_by_text("You have answered this").nth(1).wait_for()
    other.get_by_text("You have answered this").first.wait_for()
    page.wait_for_load_state("networkidle")
    other.wait_for_load_state("networkidle")
    context.close()
    return [url for method, url in loaded if method == "GET"], [text for text in complaints if "favicon" not in text]
