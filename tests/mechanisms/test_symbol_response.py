"""Randomized response over a few symbols: its probabilities, and the most truthful one that is private."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from localdp.checks.tapes import Tapes
from localdp.mechanisms.symbol_response import SymbolResponse
from localdp.randomness import thresholds


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 4.0])
@pytest.mark.parametrize("symbols", [2, 3, 16])
def test_one_more_truthful_step_would_not_be_private(symbols, epsilon):
    response = SymbolResponse.private(symbols, epsilon, width=64)
    assert response.ratio <= thresholds.exp_below(epsilon)
    assert SymbolResponse(symbols, response.truth + 1, 64).ratio > thresholds.exp_below(epsilon)
    assert response.kept + (symbols - 1) * response.other == 1
    assert response.kept - response.other == Fraction(response.truth, 2**64)


def test_every_random_input_gives_the_stated_probabilities():
    response = SymbolResponse(symbols=4, truth=3, width=3)
    tapes = Tapes(np.arange(1 << 6, dtype=np.uint64), 6, width=3)
    told = response.perturb(np.full(1 << 6, 2, np.uint64), tapes)
    assert not tapes.spilled.any()
    shares = [Fraction(int(count), 1 << 6) for count in np.bincount(told.astype(int), minlength=4)]
    assert shares == [response.other, response.other, response.kept, response.other]
