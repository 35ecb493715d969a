"""The golden vectors and the library's own reports, against a slow client that is written from the documentation."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
import reference_client as reference
from paths import VECTORS

import localdp as ldp
from localdp.kernels import dispatch
from localdp.mechanisms import CHAINS
from localdp.randomness.keystream import Keystream, seeded
from vectors.replay import Replay


def _good(name):
    return json.loads((VECTORS / f"{name}.json").read_text("utf-8"))["good"]


def _index(plan, value):
    items = plan["domain"].get("items")
    return items.index(value) if items else value


@pytest.mark.parametrize("name", CHAINS)
def test_the_vectors_of_chains_follow_the_documentation(name):
    for case in _good(name):
        plan = reference.read(case["plan"])
        words = reference.Words(bytes.fromhex(case["permanent"]["random"]))
        response = reference.permanent(plan, _index(plan, case["value"]), words)
        assert base64.b64encode(reference.packed(response)).decode() == case["permanent"]["response"]
        assert words.used == len(words.data)
        assert len(case["again"]) == 3
        for report in case["again"]:
            words = reference.Words(bytes.fromhex(report["random"]))
            bits = reference.again(plan, response, words)
            assert base64.b64encode(reference.packed(bits)).decode() == report["report"]
            assert words.used == len(words.data)
        assert case["random"] == case["permanent"]["random"] + case["again"][0]["random"]
        assert case["report"] == case["again"][0]["report"]


def test_the_vectors_of_dbit_follow_the_documentation():
    for case in _good("dbit"):
        plan, words = reference.read(case["plan"]), reference.Words(bytes.fromhex(case["random"]))
        bits = reference.dbit(plan, _index(plan, case["value"]), words)
        assert base64.b64encode(reference.packed(bits)).decode() == case["report"]
        assert words.used == len(words.data)


@pytest.mark.parametrize("name", CHAINS)
def test_the_library_makes_the_pinned_responses_and_reports(name):
    for case in _good(name):
        plan = ldp.Plan.from_json(case["plan"])
        source = Replay(bytes.fromhex(case["permanent"]["random"]))
        response = plan.mechanism.permanent(plan.domain.indices([case["value"]]), source)
        assert base64.b64encode(response.tobytes()).decode() == case["permanent"]["response"]
        for report in case["again"]:
            rows = plan.mechanism.again(response, Replay(bytes.fromhex(report["random"])))
            assert base64.b64encode(rows.tobytes()).decode() == report["report"]


@pytest.mark.parametrize("kernels", ["numpy", "fast"])
@pytest.mark.parametrize(("epsilon", "once"), [(1.0, 0.25), (4.0, 1.0), (8.0, 4.5), (16.0, 8.0)])
@pytest.mark.parametrize("size", [2, 5, 64, 65, 200])
@pytest.mark.parametrize("name", CHAINS)
def test_a_keystream_gives_what_the_documentation_says(name, size, epsilon, once, kernels):
    """The stream of a device that makes its permanent response anew, from a key of its own."""
    plan = ldp.Plan(size, name, epsilon, once=once)
    text, bits = reference.read(plan.to_json()), plan.mechanism.report_bits
    for item in (0, size - 1):
        key = bytes([item % 256, size % 256] * 8)
        words = Keystream(key).words(40 * (size + 8)).tobytes()
        with dispatch.kernels(kernels):
            response = plan.mechanism.permanent(np.array([item]), Keystream(key))
            report = plan.mechanism.again(response, seeded(9))
        expected = reference.permanent(text, item, reference.Words(words))
        assert response.tobytes() == reference.packed(expected)
        fresh = reference.Words(seeded(9).words(40 * (size + 8)).tobytes())
        bits_again = reference.again(text, reference.unpacked(response.tobytes(), bits), fresh)
        assert report.tobytes() == reference.packed(bits_again)


@pytest.mark.parametrize("answers", [1, 2, 5])
@pytest.mark.parametrize("size", [5, 8, 200, 70_000])
def test_dbit_draws_what_the_documentation_says(size, answers):
    plan = ldp.Plan(size, "dbit", 1.0, answers=answers)
    for seed in range(20):
        words = reference.Words(seeded(seed).words(64).tobytes())
        report = plan.mechanism.permanent(np.array([seed % size]), seeded(seed))
        assert report.tobytes() == reference.packed(reference.dbit(reference.read(plan.to_json()), seed % size, words))
