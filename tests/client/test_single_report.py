"""One report made without arrays has the bytes of the ordinary way, for the golden vectors and for any keystream."""

from __future__ import annotations

import base64
import json
import struct

import numpy as np
import pytest
from paths import VECTORS

import localdp as ldp
from localdp.client.short_way import OneReport, keyed_words, short_way, short_way_again
from localdp.errors import UnknownItemError
from localdp.mechanisms import CHAINS, MECHANISMS, OptimizedUnary, RandomizedResponse
from localdp.randomness.keystream import Keystream

SHORT = ("grr", "olh", "blh", "llh", "hr")
PLANS = [
    *((name, size, epsilon, {}) for name in SHORT for size in (2, 3, 1000) for epsilon in (0.1, 0.5, 4.0)),
    *((name, 100, 2.0, {}) for name in MECHANISMS if name not in SHORT),
    *((name, 100, 2.0, {"once": 0.5}) for name in CHAINS),
]


def _plan(name, size, epsilon, options):
    return ldp.Plan(size, name, min(epsilon, 0.69) if name == "hr" else epsilon, **options)


def _draw(data):
    return iter(struct.unpack(f"<{len(data) // 8}Q", data)).__next__


def _golden(name):
    return json.loads((VECTORS / f"{name}.json").read_text("utf-8"))["good"]


@pytest.mark.parametrize("name", SHORT)
def test_the_golden_vectors_hold_without_arrays(name):
    for case in _golden(name):
        plan = ldp.Plan.from_json(case["plan"])
        made = short_way(plan.mechanism)(plan.domain.index(case["value"]), _draw(bytes.fromhex(case["random"])))
        assert made.to_bytes(plan.mechanism.report_bytes, "little") == base64.b64decode(case["report"])


def test_the_golden_vectors_of_a_chain_hold_without_arrays():
    cases = _golden("grr+grr")
    assert cases
    for case in cases:
        plan = ldp.Plan.from_json(case["plan"])
        mechanism, permanent = plan.mechanism, case["permanent"]
        response = short_way(mechanism)(plan.domain.index(case["value"]), _draw(bytes.fromhex(permanent["random"])))
        assert response.to_bytes(mechanism.report_bytes, "little") == base64.b64decode(permanent["response"])
        for again in case["again"]:
            made = short_way_again(mechanism)(response, _draw(bytes.fromhex(again["random"])))
            assert made.to_bytes(mechanism.report_bytes, "little") == base64.b64decode(again["report"])


@pytest.mark.parametrize(("name", "size", "epsilon", "options"), PLANS)
def test_a_key_gives_the_same_permanent_response_in_both_ways(name, size, epsilon, options):
    mechanism = _plan(name, size, epsilon, options).mechanism
    single = OneReport(mechanism)
    for number in range(25):
        index, key = number % size, number.to_bytes(16, "little")
        ordinary = mechanism.permanent(np.array([index]), Keystream(key)).tobytes()
        assert single.permanent((index,), key) == ordinary


@pytest.mark.parametrize("name", CHAINS)
def test_a_key_gives_the_same_report_from_a_permanent_response_in_both_ways(name):
    mechanism = ldp.Plan(100, name, 2.0, once=0.5).mechanism
    single = OneReport(mechanism)
    for number in range(25):
        key = number.to_bytes(16, "little")
        response = single.permanent((7,), key)
        ordinary = mechanism.again(np.frombuffer(response, np.uint8)[None], Keystream(key)).tobytes()
        assert single.again(response, Keystream(key)) == ordinary


def test_the_words_are_those_of_the_keystream():
    words = keyed_words(bytes(range(16)))
    assert [next(words) for _ in range(100)] == Keystream(bytes(range(16))).words(100).tolist()


def test_a_draw_past_the_last_share_is_drawn_again():
    plan = ldp.Plan(3, "grr", 1.0)
    words = iter([2**64 - 1, 2**64 - 1, 2**63])  # not the truth; 2^64 - 1 is past the third share; then the second one
    assert short_way(plan.mechanism)(0, words.__next__) == 1
    assert list(words) == []


@pytest.mark.parametrize("name", SHORT)
def test_as_many_words_are_drawn_for_every_value(name):
    mechanism = _plan(name, 50, 2.0, {}).mechanism
    for number in range(40):
        drawn = set()
        for index in range(50):
            words = keyed_words(number.to_bytes(16, "big"))
            count = 0

            def draw(words=words):
                nonlocal count
                count += 1
                return next(words)

            short_way(mechanism)(index, draw)
            drawn.add(count)
        assert len(drawn) == 1


def test_mechanisms_that_are_not_known_here_take_the_ordinary_way():
    class Own(RandomizedResponse):
        name = "own"

    assert short_way(Own(4, 1.0)) is None
    assert short_way(OptimizedUnary(4, 1.0)) is None
    assert short_way_again(RandomizedResponse(4, 1.0)) is None
    assert OneReport(Own(4, 1.0)).permanent((2,), bytes(16)) == OneReport(RandomizedResponse(4, 1.0)).permanent(
        (2,), bytes(16)
    )


DOMAINS = [
    ldp.Domain(["tea", "coffee"]),
    ldp.Domain(["tea", "coffee"], other="rest"),
    ldp.Domain(5),
    ldp.Domain(5, other=4),
    ldp.Domain([1, False, "1", 2.5]),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
@pytest.mark.parametrize("value", ["tea", "cocoa", "1", 1, 1.0, True, 2.5, -1, 7, np.int64(3), np.str_("tea"), None])
def test_one_index_is_that_of_a_list_of_one(domain, value):
    try:
        expected = domain.indices([value]).tolist()
    except ldp.LocalDPError as error:
        with pytest.raises(type(error), match=r"\w"):
            domain.index(value)
    else:
        assert [domain.index(value)] == expected
        assert type(domain.index(value)) is int


def test_a_list_is_not_one_value():
    with pytest.raises(UnknownItemError, match="a value is one item, not"):
        ldp.Domain(5).index([])
