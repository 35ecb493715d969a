"""The checks and the audit on the library's own mechanisms, and on faults that only one of the two can see.

`test_mutants` runs the checks on wrong mechanisms, and `test_check_messages` has a plain mistake for each message.
"""

from __future__ import annotations

import numpy as np
import pytest

from audits.mutants.published import ModuloBias, SwappedProbabilities, UnclearedBit
from localdp.checks import MECHANISM_CHECKS, CheckFailure, check_mechanism
from localdp.checks.audit import audit
from localdp.checks.users import _correlations, check_every_user, check_fresh_noise
from localdp.errors import UnknownMechanismError
from localdp.mechanisms import MECHANISMS, ORDERED_MECHANISMS, RandomizedResponse
from localdp.randomness.keystream import Keystream


@pytest.mark.parametrize("check", MECHANISM_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", [*MECHANISMS, *ORDERED_MECHANISMS])
def test_mechanism_passes(name, check):
    check((MECHANISMS | ORDERED_MECHANISMS)[name], 0)


def test_audit_tells_leak_from_waste_from_honesty():
    leak, waste = audit(UnclearedBit(8, 1.0), 100_000), audit(SwappedProbabilities(8, 1.0), 100_000)
    honest = audit(MECHANISMS["oue"](8, 1.0), 100_000)
    assert leak.leaks
    assert waste.wastes
    assert not honest.leaks
    assert not honest.wastes


def test_bias_by_modulo_is_too_small_for_any_audit_but_not_for_enumeration():
    assert not audit(ModuloBias(8, 1.0), 50_000).leaks


def test_checks_take_names():
    check_mechanism("hr")
    with pytest.raises(UnknownMechanismError, match="there is no mechanism 'nope'"):
        check_mechanism("nope")


class TruthInThePlaceAsked(RandomizedResponse):
    """In batches of `users`, the user at `place` tells the plain truth if there is a keystream."""

    name = "mutant-place"
    users, place = 17, 0

    def randomize(self, values, source):
        rows = super().randomize(values, source)
        if values.size == self.users and isinstance(source, Keystream):
            rows[self.place, 0] = values[self.place] & 255
            rows[self.place, 1:] = values[self.place] >> 8
        return rows


@pytest.mark.parametrize(("users", "place"), [(1, 0), (2, 0), (2, 1), (3, 1), (17, 0), (17, 8), (17, 16)])
def test_a_single_place_without_noise_is_found_and_named(users, place, monkeypatch):
    monkeypatch.setattr(TruthInThePlaceAsked, "users", users)
    monkeypatch.setattr(TruthInThePlaceAsked, "place", place)
    with pytest.raises(CheckFailure, match=f"reports of user {place + 1} in batches of {users} support their own item"):
        check_every_user(TruthInThePlaceAsked)


def test_the_secure_keystream_is_tried_too():
    class TruthIfSecure(RandomizedResponse):
        name = "mutant-secure"

        def randomize(self, values, source):
            rows = super().randomize(values, source)
            return values[:, None].astype(np.uint8) if getattr(source, "_key", b"") is None else rows

    with pytest.raises(CheckFailure, match="under a secure keystream: 120 of 120 reports of user 1 in batches of 1"):
        check_every_user(TruthIfSecure)


@pytest.mark.parametrize("apart", [1, 777, 30_000])
def test_noise_that_two_users_share_is_found_with_their_distance(apart):
    class Echo(RandomizedResponse):
        name = "mutant-echo"

        def randomize(self, values, source):
            rows = super().randomize(values, source)
            first = np.arange(max(0, values.size - apart))
            first = first[first // apart % 2 == 0]
            rows[first + apart] = rows[first]
            return rows

    with pytest.raises(
        CheckFailure, match=f"tells about the report of the user {apart:,} places later in the same call"
    ):
        check_fresh_noise(Echo)


def test_correlations_by_transform_are_the_plain_sums():
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=(2, 2_050))
    found = _correlations(one, other)
    assert found.size == 50
    plain = [float(one[: 2_050 - lag] @ other[lag:]) / np.sqrt(2_050 - lag) for lag in range(50)]
    assert np.allclose(found, plain)
