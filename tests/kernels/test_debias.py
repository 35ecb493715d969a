"""Counts become unbiased frequencies, without losing digits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from localdp.kernels.debias import debias

P, Q = Fraction(2, 3), Fraction(1, 7)


@pytest.mark.parametrize("frequency", [0, 1, 499, 1_000])
def test_the_expected_count_gives_back_the_frequency(frequency):
    """n is a multiple of both denominators, so the expected count is a whole number for every multiple of 21."""
    n, held = 21_000, 21 * frequency
    expected = held * P + (n - held) * Q
    assert expected.denominator == 1
    assert debias(np.array([int(expected)]), n, P, Q).tolist() == pytest.approx([held], abs=1e-9)


def test_one_more_report_adds_one_over_p_minus_q():
    one, two = debias(np.array([10, 11]), 100, P, Q)
    assert two - one == pytest.approx(float(1 / (P - Q)), rel=1e-12)


def test_large_counts_keep_their_digits():
    """With n near 2^53, floats would lose the difference between a count and n q."""
    n, q, p = 2**53 - 1, Fraction(1, 3), Fraction(2, 3)
    counts = np.array([n // 3, n // 3 + 1, n // 3 - 5])
    exact = [float((int(count) - n * q) / (p - q)) for count in counts]
    assert debias(counts, n, p, q).tolist() == pytest.approx(exact, rel=1e-12)
