"""The file that collectors serve, in a module worker and in a service worker: the same device as that of the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from js.chromium import PLAN, needs_chromium, opened

import localdp

pytestmark = needs_chromium

_FOLDER = Path(localdp.__file__).parent / "collector" / "javascript"
# Sends the value in a message, and answers with the bytes of the report, whether it was delivered and what was spent.
_WORKER = """
import { Client } from "/client.js";
const plan = fetch("/plan.json").then((response) => response.text());
addEventListener("message", async ({ data, ports, source }) => {
    const client = new Client(await plan, { upload: location.origin });
    const sent = await client.sendOnce(data);
    const report = Array.from(await client.report(data));
    (ports[0] ?? source ?? self).postMessage([report, sent.delivered, await client.spent()]);
});
"""


@pytest.fixture
def page(context, server):
    server.modules["/client.js"] = (_FOLDER / f"localdp-{localdp.__version__}.js").read_text("utf-8")
    server.modules["/worker.js"] = _WORKER
    return opened(context, server)


def _asked_in_turn(page, server, start):
    """A worker sends once, then a page and a second worker: they are one device, and one report arrives."""
    ask = """async (value) => {
        const worker = await (START)();
        const { port1, port2 } = new MessageChannel();
        const answer = new Promise((resolve) => { port1.onmessage = ({ data }) => resolve(data); });
        worker.postMessage(value, [port2]);
        return answer;
    }""".replace("START", start)
    report, delivered, spent = page.evaluate(ask, 7)
    assert [delivered, spent] == [1, PLAN.mechanism.epsilon]
    in_page = """async () => {
        const own = client({ upload: location.origin });
        return [hex(await own.report(7)), (await own.sendOnce(8)).delivered];
    }"""
    assert page.evaluate(in_page) == [bytes(report).hex(), 0]
    assert page.evaluate(ask, 7) == [report, 0, PLAN.mechanism.epsilon]
    ((_, body),) = server.uploads
    assert body == bytes(report)
    assert page.complaints == []


def test_a_module_worker_is_the_same_device_as_the_page(page, server):
    _asked_in_turn(page, server, '() => new Worker("/worker.js", { type: "module" })')


@pytest.mark.parametrize("first", ["page", "worker"])
def test_a_page_whose_indexed_db_fails_and_a_worker_send_once_together(page, server, first):
    """The page must not become a second device in localStorage, whether or not the worker was there before."""
    in_worker = """async () => {
        const worker = new Worker("/worker.js", { type: "module" });
        const answer = new Promise((resolve) => { worker.onmessage = ({ data }) => resolve(data); });
        worker.postMessage(7);
        return answer;
    }"""
    in_page = """async () => {
        const { open } = IDBFactory.prototype;
        IDBFactory.prototype.open = () => { throw new DOMException("not now", "UnknownError"); };
        const said = await code(client({ upload: location.origin }).sendOnce(8));
        IDBFactory.prototype.open = open;
        return said;
    }"""
    if first == "worker":
        page.evaluate(in_worker)
    assert page.evaluate(in_page) == "storage-blocked"
    page.evaluate(in_worker)
    assert page.evaluate("async () => (await client({ upload: location.origin }).sendOnce(8)).delivered") == 0
    assert len(server.uploads) == 1


def test_a_service_worker_is_the_same_device_as_the_page(page, server):
    start = """async () => {
        await navigator.serviceWorker.register("/worker.js", { type: "module" });
        return (await navigator.serviceWorker.ready).active;
    }"""
    _asked_in_turn(page, server, start)
