"""What a mechanism refuses to randomize, and what it states about itself: never more than it does."""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np
import pytest

from localdp.errors import UnknownItemError
from localdp.kernels import dispatch
from localdp.mechanisms import MECHANISMS
from localdp.randomness.keystream import secure

EXACT = Context(prec=200)


@pytest.mark.parametrize("kernels", ["numpy", "fast"])
@pytest.mark.parametrize("value", [-1, 5, 64, 2**40])
@pytest.mark.parametrize("name", MECHANISMS)
def test_an_index_outside_the_domain_is_refused(name, value, kernels, monkeypatch):
    mechanism = MECHANISMS[name](5, 0.5)
    monkeypatch.setattr(type(mechanism), "randomize", lambda *_: pytest.fail("a value out of bounds was randomized"))
    with dispatch.kernels(kernels), pytest.raises(UnknownItemError, match=rf"1 value not among 0\.\.4: {value};"):
        mechanism.privatize(np.array([0, value, 1]), secure())


@pytest.mark.parametrize("size", [2, 3, 100, 50_000])
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_stated_epsilon_is_never_below_the_realised_one(name, size):
    for epsilon in (1e-6, 0.01, 0.1, 0.3, 0.5, 0.69, 1.0, 3.0, 7.7, 16.0):
        if name == "hr" and epsilon > 0.69:
            continue
        mechanism = MECHANISMS[name](size, epsilon)
        ratio = EXACT.divide(Decimal(mechanism.ratio.numerator), Decimal(mechanism.ratio.denominator))
        assert EXACT.ln(ratio) <= Decimal(mechanism.epsilon) <= Decimal(epsilon)
