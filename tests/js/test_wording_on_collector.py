"""What a collector's people read, from both clients: it is fetched, and the version that was shown is counted."""

from __future__ import annotations

import sys

import pytest
from node_tools import JS, evaluate, needs_node
from paths import ROOT

sys.path.append(str(ROOT / "tests" / "collector"))
from running import running

import localdp as ldp

_ASKED = {
    "items": ["tea", "coffee", 3],
    "epsilon": 1.0,
    "question": "What do you drink?",
    "labels": {"tea": "Tea, of any kind", "3": "three"},
}


def _from_python(collector, document, tmp_path):
    client = ldp.Client(document, store=tmp_path / "device", upload=collector.url)
    shown = client.wording()
    assert client.send_once("tea", wording=shown.version).delivered == 1
    return [shown.version, shown.question, dict(shown.labels)]


def _from_javascript(collector, document, tmp_path):  # noqa: ARG001
    program = """
        const client = new localdp.Client(given.document, { store: localdp.memoryStore(), upload: given.url });
        const { version, question, labels } = await client.wording();
        const sent = await client.sendOnce("tea", { wording: version });
        return [version, question, labels, sent.delivered];
    """
    *shown, delivered = evaluate(program, {"document": document, "url": collector.url}, JS / "src" / "index.js")
    assert delivered == 1
    return shown


@needs_node
@pytest.mark.parametrize("client", [_from_python, _from_javascript])
def test_the_version_that_was_shown_is_counted_and_no_part_of_the_fingerprint(tmp_path, client):
    with running(tmp_path / "x.db") as collector:
        made = collector.ask("POST", "/v1/plans", json=_ASKED).json()
        route = f"/v1/studies/{made['fingerprint']}"
        document = collector.ask("GET", f"{route}/document").text
        assert client(collector, document, tmp_path / "first") == [1, _ASKED["question"], _ASKED["labels"]]
        corrected = {"question": "What do you drink most?", "labels": {"tea": "Any tea"}}
        assert collector.ask("PATCH", route, json=corrected).status_code == 200
        assert collector.ask("GET", f"{route}/document").text == document
        assert client(collector, document, tmp_path / "second") == [2, *corrected.values()]
        counted = collector.ask("GET", f"{route}/wordings", "read").json()["shown"]
        assert [(one["version"], one["reports"]) for one in counted] == [(1, 1), (2, 1)]
