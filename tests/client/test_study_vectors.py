"""Golden vectors of devices in studies: what the client of every language answers, and what it refuses."""

from __future__ import annotations

import base64
import json

import pytest
from paths import VECTORS

import localdp as ldp

STUDIES = json.loads((VECTORS / "studies.json").read_text("utf-8"))


@pytest.mark.parametrize("part", STUDIES["parts"], ids=lambda part: json.loads(part["study"])["format"][8:])
def test_devices_answer_as_before(part, tmp_path):
    for number, answer in enumerate(part["answers"]):
        folder = tmp_path / str(number)
        folder.mkdir(mode=0o700)
        for name in ("device", "device.copy"):
            (folder / name).write_bytes(bytes.fromhex(answer["record"]))
        client = ldp.Client(part["study"], store=folder)
        report = client.report(answer["value"], part["part"])
        assert client.place == answer["place"]
        assert report == (None if answer["batch"] is None else base64.b64decode(answer["batch"]))
        assert (folder / "device").read_bytes().hex() == answer["after"]


@pytest.mark.parametrize("bad", STUDIES["bad"], ids=lambda bad: bad["what"])
def test_bad_documents_have_codes(bad, tmp_path):
    with pytest.raises(ldp.LocalDPError) as caught:
        ldp.Client(bad["study"], store=tmp_path).report(None, bad["part"])
    assert getattr(caught.value, "code", "invalid-input") == bad["code"]
