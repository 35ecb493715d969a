"""A device that is asked again answers from the same permanent response, and pays for every value once."""

from __future__ import annotations

import hashlib
import math
from collections import Counter

import numpy as np
import pytest

import localdp as ldp
from localdp.client.permanent import permanent_response
from localdp.client.secret import Secret
from localdp.mechanisms import CHAINS, MECHANISMS

CALLS = 20_000


def _plans():
    for name in MECHANISMS:
        yield pytest.param(ldp.Plan(20, name, 0.5), id=name)
    for name in CHAINS:
        yield pytest.param(ldp.Plan(20, name, 2.0, once=0.5), id=name)


@pytest.mark.parametrize("plan", list(_plans()))
def test_without_once_the_bytes_are_the_same_for_ever(tmp_path, plan):
    client = ldp.Client(plan, store=tmp_path)
    reports = {client.report(7) for _ in range(20)}
    later = ldp.Client(plan, store=tmp_path)
    reports |= {later.report(7) for _ in range(20)}
    assert (len(reports) == 1) == (not plan.mechanism.perturbs_again)
    assert all(len(plan.read(report)) == 1 for report in reports)
    assert later.spent == plan.mechanism.epsilon


def test_twenty_thousand_calls_give_one_report(tmp_path):
    client = ldp.Client(ldp.Plan(["yes", "no"], "grr", 1.0), store=tmp_path)
    assert len({client.report("yes") for _ in range(CALLS)}) == 1


def test_the_averaging_attack_finds_the_permanent_response_and_no_more(tmp_path):
    """With 20,000 reports the majority is wrong with a probability far below 1e-6, for both devices."""
    plan = ldp.Plan(4, "grr", 1.0, once=0.5)
    client = ldp.Client(plan, store=tmp_path)
    seen = Counter(client.report(2)[-1] for _ in range(CALLS))
    assert len(seen) == 4
    found = seen.most_common(1)[0][0]
    secret = Secret(client._store.secret, plan.fingerprint)
    permanent = permanent_response(plan.mechanism, (2,), secret.key((2).to_bytes(8, "little")))
    assert bytes([found]) == permanent
    assert client.spent == plan.mechanism.epsilon

    forgetful = plan.privatize(np.full(CALLS, 2))
    assert Counter(forgetful.rows[:, 0].tolist()).most_common(1)[0][0] == 2


def test_the_permanent_responses_of_many_devices_have_the_law_of_the_mechanism():
    """The number of devices that keep their item is binomial; it is 5 deviations off with probability 6e-7."""
    plan = ldp.Plan(4, "grr", 1.0)
    devices, kept = 20_000, 0
    for number in range(devices):
        secret = Secret(hashlib.sha256(number.to_bytes(4, "big")).digest(), plan.fingerprint)
        kept += permanent_response(plan.mechanism, (2,), secret.key((2).to_bytes(8, "little"))) == b"\x02"
    p = plan.mechanism.p_star
    assert abs(kept - devices * p) < 5 * math.sqrt(devices * p * (1 - p))


def test_values_plans_and_devices_have_keys_and_digests_of_their_own():
    derived = set()
    secrets = [bytes(32), b"\x01" * 32]
    plans = [ldp.Plan(4, "grr", epsilon).fingerprint for epsilon in (1.0, 2.0)]
    for secret in secrets:
        for plan in plans:
            for index in (0, 1):
                own = Secret(secret, plan)
                derived |= {own.key(index.to_bytes(8, "little")), own.digest(index.to_bytes(8, "little"))}
    assert len(derived) == 2 * 2 * 2 * 2


def test_the_derivation_is_the_one_that_is_written_down():
    import hmac

    plan = ldp.Plan(4, "grr", 1.0).fingerprint
    message = bytes.fromhex(plan) + (3).to_bytes(8, "little")
    own = Secret(b"k" * 32, plan)
    expected = hmac.digest(b"k" * 32, b"localdp permanent/1\0" + message, "sha256")
    assert own.key((3).to_bytes(8, "little")) == expected[:16]
    expected = hmac.digest(b"k" * 32, b"localdp spent/1\0" + message, "sha256")
    assert own.digest((3).to_bytes(8, "little")) == expected[:16]


def test_the_noise_of_two_values_is_independent(tmp_path):
    """Responses from one stream would differ only at items that the device has held, and give them away."""
    plan = ldp.Plan(40, "dbit", 0.5, answers=40)
    client = ldp.Client(plan, store=tmp_path, most=100.0)
    lit = [plan.mechanism.fields(plan.read(client.report(value)).rows)[0] >> np.uint64(6) for value in (7, 31)]
    differ = np.flatnonzero(lit[0] != lit[1])
    assert set(differ.tolist()) - {7, 31}
    assert client.spent == 2 * plan.mechanism.epsilon


def test_values_that_are_not_listed_are_one_value(tmp_path):
    plan = ldp.Plan(["tea", "coffee"], "grr", 1.0, other="something else")
    client = ldp.Client(plan, store=tmp_path)
    assert client.report("cocoa") == client.report("milk") == client.report("something else")
    assert client.spent == plan.mechanism.epsilon


def test_responses_that_are_no_longer_in_memory_are_derived_again(tmp_path):
    plan = ldp.Plan(400, "grr", 0.01)
    client = ldp.Client(plan, store=tmp_path, most=100)
    client._budget.pay = lambda *_: None  # 400 payments would take a while
    first = [client.report(value) for value in range(400)]
    assert len(client._answers._responses) <= 256
    assert [client.report(value) for value in range(400)] == first
