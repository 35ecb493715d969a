"""The golden vectors of devices: keystreams, keys, digests and permanent responses."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from paths import VECTORS

from localdp.client import Client
from localdp.client.permanent import permanent_response
from localdp.client.record import Record
from localdp.client.secret import Secret
from localdp.item_sets import ItemSets
from localdp.mechanisms import CHAINS, MECHANISMS, SET_MECHANISMS
from localdp.plan import Plan
from localdp.randomness.keystream import Keystream

DEVICES = json.loads((VECTORS / "devices.json").read_text("utf-8"))


@pytest.mark.parametrize("case", DEVICES["words"], ids=lambda case: case["key"])
def test_a_key_gives_its_words(case):
    key, words = bytes.fromhex(case["key"]), [int(word) for word in case["words"]]
    assert Keystream(key).words(len(words)).tolist() == words


@pytest.mark.parametrize("case", DEVICES["responses"], ids=lambda case: f"{case['key'][:8]}")
def test_a_value_has_its_key_digest_and_permanent_response(case):
    plan = Plan.from_json(case["plan"])
    secret = Secret(bytes.fromhex(case["secret"]), plan.fingerprint)
    message = case["index"].to_bytes(8, "little")
    key, response = secret.key(message), base64.b64decode(case["response"])
    assert key.hex() == case["key"]
    assert secret.digest(message).hex() == case["digest"]
    assert permanent_response(plan.mechanism, (case["index"],), key) == response
    assert plan.mechanism.permanent(np.array([case["index"]]), Keystream(key)).tobytes() == response


@pytest.mark.parametrize("case", DEVICES["sets"], ids=lambda case: f"{case['key'][:8]}")
def test_a_set_has_its_indices_key_digest_and_permanent_response(case, tmp_path):
    plan = Plan.from_json(case["plan"])
    assert ItemSets.read([case["values"]], plan.domain).items.tolist() == case["indices"]
    secret = Secret(bytes.fromhex(case["secret"]), plan.fingerprint)
    message = b"".join(index.to_bytes(8, "little") for index in case["indices"])
    assert secret.key(message).hex() == case["key"]
    tmp_path.chmod(0o700)
    for name in ("device", "device.copy"):  # the record of a device with this secret
        (tmp_path / name).write_bytes(Record(1, bytes.fromhex(case["secret"]), {}).to_bytes())
        (tmp_path / name).chmod(0o600)
    report = Client(plan, store=tmp_path).report(case["values"])
    assert plan.read(report).rows.tobytes() == base64.b64decode(case["response"])
    paid = Record.from_bytes((tmp_path / "device").read_bytes()).paid
    assert paid == {bytes.fromhex(case["digest"]): plan.mechanism.epsilon}


def test_every_mechanism_has_a_vector():
    named = {part: {json.loads(case["plan"])["mechanism"] for case in DEVICES[part]} for part in ("responses", "sets")}
    assert named["responses"] == {*MECHANISMS, *CHAINS}
    assert named["sets"] == {*(name for name, kind in MECHANISMS.items() if kind.takes_sets), *SET_MECHANISMS}
