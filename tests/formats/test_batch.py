"""The wire format against its golden vectors, and against noise."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paths import VECTORS

import localdp as ldp
from localdp.errors import InvalidInputError, WireCode, WireError
from localdp.formats import batch
from localdp.kernels import linear_hash, local_hash
from localdp.kernels.galois_field import irreducible
from localdp.mechanisms import CHAINS, MECHANISMS, ORDERED_MECHANISMS
from localdp.plan import Reports
from vectors.replay import Replay

EXPECTED = {
    "empty": "truncated",
    "another magic": "bad-magic",
    "cut inside the magic": "truncated",
    "cut inside the header": "truncated",
    "another plan": "unknown-plan",
    "no reports": "empty-batch",
    "one byte short": "truncated",
    "one report short": "truncated",
    "one byte more": "trailing-bytes",
    "count too large": "truncated",
    "not JSON": "bad-json",
    "a key more": "bad-json",
    "another plan in JSON": "unknown-plan",
    "no reports in JSON": "empty-batch",
    "not base64": "bad-base64",
    "not a string": "bad-base64",
    "a report too long": "wrong-length",
}


def _vectors(name):
    return json.loads((VECTORS / f"{name}.json").read_text("utf-8"))


@pytest.mark.parametrize("name", [*MECHANISMS, *CHAINS, *ORDERED_MECHANISMS])
def test_random_bytes_give_the_pinned_report(name):
    for case in _vectors(name)["good"]:
        plan = ldp.Plan.from_json(case["plan"])
        assert plan.fingerprint == case["fingerprint"]
        source = Replay(bytes.fromhex(case["random"]))
        index = plan.domain.indices([case["value"]])
        reports = Reports(plan, plan.mechanism.randomize(index, source))
        assert source.used == len(case["random"]) // 2
        assert base64.b64encode(reports.rows.tobytes()).decode() == case["report"]
        assert base64.b64encode(reports.to_bytes()).decode() == case["batch"]
        read = plan.read(base64.b64decode(case["batch"]))
        assert np.array_equal(read.rows, reports.rows)


@pytest.mark.parametrize("name", [*MECHANISMS, *CHAINS, *ORDERED_MECHANISMS])
def test_malformed_batches_get_the_pinned_code(name):
    cases = _vectors(name)["bad"]
    assert len(cases) >= len(EXPECTED)
    for case in cases:
        plan = ldp.Plan.from_json(case["plan"])
        data = case["json"] if "json" in case else base64.b64decode(case["batch"])
        with pytest.raises(WireError, match=case["code"]) as caught:
            plan.read(data)
        assert caught.value.code == case["code"] == EXPECTED.get(case["what"], case["code"])
        assert str(caught.value).endswith(f"[{case['code']}]")


def test_vectors_show_every_code():
    shown = {case["code"] for name in MECHANISMS for case in _vectors(name)["bad"]}
    assert shown == {code.value for code in WireCode}


def test_vectors_pin_the_hashes():
    for case in _vectors("hash"):
        mixed = local_hash.mixed_items(np.array([case["item"]], np.uint32))
        found = local_hash.local_hash(np.array([case["seed"]], np.uint32), mixed, case["symbols"])
        assert found[0] == case["symbol"]
    field = _vectors("field")
    assert field["polynomials"] == {str(degree): irreducible(degree) for degree in range(1, 33)}
    for case in field["hashes"]:
        pair = (np.array([case[key]], np.uint64) for key in ("multiplier", "item"))
        assert linear_hash.linear_hash(*pair, case["degree"], case["bits"])[0] == case["symbol"]


@given(st.binary(max_size=80), st.sampled_from(list(MECHANISMS)))
def test_noise_is_refused_without_a_trace(noise, name):
    plan = ldp.Plan(9, mechanism=name, epsilon=0.5)
    for data in (noise, b"LDP1" + noise, plan.privatize([1], seed=1).to_bytes()[:20] + noise, b"{" + noise):
        try:
            reports = plan.read(data)
        except WireError:
            continue
        assert plan.aggregate(reports).n == len(reports)


@given(st.integers(1, 9), st.lists(st.binary(min_size=9, max_size=9), min_size=1, max_size=5), st.data())
def test_base64_of_many_rows_is_that_of_each(length, rows, data):
    rows = np.frombuffer(b"".join(row[:length] for row in rows), np.uint8).reshape(-1, length)
    characters = batch.encode(rows)
    assert [bytes(line) for line in characters] == [base64.b64encode(bytes(row)) for row in rows]
    assert np.array_equal(batch.decode_characters(characters, length), rows)
    spoiled = characters.copy()
    place = data.draw(st.integers(0, spoiled.size - 1))
    spoiled.flat[place] = data.draw(st.sampled_from(b"=AB/+-_ \n\xff\0" + bytes([spoiled.flat[place] ^ 1])))
    texts = [bytes(line).decode("latin-1") for line in spoiled]
    found = batch.decode_characters(spoiled, length)
    if all(_canonical(text, length) for text in texts):
        one_by_one = np.stack([np.frombuffer(base64.b64decode(text), np.uint8) for text in texts])
        assert np.array_equal(found, one_by_one)
        assert np.array_equal(batch.decode(texts, length), one_by_one)
    else:
        assert found is None
        with pytest.raises(WireError, match=r"bad-base64|wrong-length"):
            batch.decode(texts, length)


def _canonical(text, length):
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return len(data) == length and base64.b64encode(data).decode() == text


def test_batches_are_read_from_any_buffer():
    plan = ldp.Plan(9, mechanism="oue", epsilon=1.0)
    reports = plan.privatize([1, 2, 3])
    data = reports.to_bytes()
    for twin in (data, bytearray(data), memoryview(data), reports.to_json(), reports.to_json().encode()):
        assert np.array_equal(plan.read(twin).rows, reports.rows)


@pytest.mark.parametrize("data", [None, 7, [1, 2], np.zeros(3)])
def test_what_is_not_bytes_or_text_is_refused(data):
    with pytest.raises(InvalidInputError, match="bytes or text"):
        ldp.Plan(9, mechanism="oue", epsilon=1.0).read(data)


def test_json_is_read_strictly():
    plan = ldp.Plan(9, mechanism="oue", epsilon=1.0)
    text = plan.privatize([1]).to_json()
    twice = '{"plan": "x",' + text[1:]
    for text_batch in (
        twice,
        b"{" + text.encode("utf-16-le"),
        text.encode("utf-16"),
        text.replace('"reports"', '"plan"'),
    ):
        with pytest.raises(WireError, match=r"bad-json|bad-magic"):
            plan.read(text_batch)


@pytest.mark.parametrize(
    ("field", "shown"),
    [("!" * 10_000_000, "'" + "!" * 59), (["x" * 10_000_000], "a list"), ({"x": 1}, "an object"), (None, "None")],
    ids=["text", "list", "object", "null"],
)
def test_an_error_echoes_little_of_a_field(field, shown):
    plan = ldp.Plan(4, "grr", 1.0)
    with pytest.raises(WireError, match=f"^the batch was made under plan {shown}, not {plan.fingerprint}") as caught:
        plan.read(json.dumps({"plan": field, "reports": ["AA=="]}))
    assert len(str(caught.value)) < 200
    with pytest.raises(WireError, match=f"^{shown} is not canonical base64") as caught:
        plan.read(json.dumps({"plan": plan.fingerprint, "reports": [field]}))
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("place", [4, 12, 19])
def test_every_byte_of_the_fingerprint_is_compared(place):
    plan = ldp.Plan(4, mechanism="grr", epsilon=1.0)
    data = bytearray(plan.privatize([1, 2], seed=1).to_bytes())
    data[place] ^= 1
    with pytest.raises(WireError, match="was made under plan"):
        plan.read(bytes(data))
