"""Coins exactly at a threshold: a word below it is the event, a word equal to it is not.

At 64 bits, a threshold that is off by one changes a probability by 2^-64, which no number of samples can show. So the
words of the stream are given here, and the reports that follow from them are known.
"""

from __future__ import annotations

import numpy as np
import pytest

from localdp.kernels import dispatch
from localdp.kernels.biased_bits import biased_bits
from localdp.mechanisms import MECHANISMS
from localdp.randomness.keystream import Keystream, seeded

EPSILONS = [0.5, 1.0, 3.0, 8.0, 16.0]


@pytest.fixture(params=["numpy", "fast"], autouse=True)
def kernels(request):
    with dispatch.kernels(request.param):
        yield request.param


def _stream(words):
    """A stream that begins with these words."""
    source = seeded(1)
    source._ahead = np.array(words, np.uint64)
    return source


def _around(threshold):
    """Coins for three users: the last that is below the threshold, the threshold itself, and the next one."""
    return [threshold - 1, threshold, threshold + 1]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_randomized_response_tells_the_truth_below_its_threshold_only(epsilon):
    mechanism = MECHANISMS["grr"](5, epsilon)
    zeros = [0, 0, 0]  # a word of 0 draws item 0
    rows = mechanism.privatize(np.array([3, 3, 3]), _stream(_around(mechanism.response.truth) + zeros))
    assert rows[:, 0].tolist() == [3, 0, 0]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", ["sue", "oue"])
@pytest.mark.parametrize("item", [0, 70, 129])
def test_unary_encoding_sets_the_held_bit_below_its_threshold_only(name, epsilon, item):
    mechanism = MECHANISMS[name](130, epsilon)
    rows = mechanism.privatize(np.full(3, item), _stream(_around(mechanism.keep)))
    assert mechanism.supports(rows, item).tolist() == [True, False, False]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [3, 40])
def test_a_subset_has_the_held_item_below_its_threshold_only(epsilon, size):
    mechanism = MECHANISMS["ss"](size, epsilon)
    rows = mechanism.privatize(np.full(3, 2), _stream(_around(mechanism.keep)))
    assert mechanism.supports(rows, 2).tolist() == [True, False, False]


def test_hadamard_response_goes_to_a_supporting_column_below_its_threshold_only():
    mechanism = MECHANISMS["hr"](10, 0.5)
    rows = mechanism.privatize(np.full(3, 6), _stream([5, 9, 14, *_around(mechanism.keep)]))
    assert mechanism.supports(rows, 6).tolist() == [True, False, False]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("name", ["olh", "blh", "llh"])
def test_hashing_tells_the_symbol_below_its_threshold_only(name, epsilon):
    mechanism = MECHANISMS[name](1000, epsilon)
    share = 2**64 // mechanism.response.symbols
    for seed in range(4):
        functions = seeded(seed).words(1).repeat(3).tolist()
        hashed = int(mechanism.hashed(mechanism.draw(1, _stream(functions)), np.array([77], np.uint64))[0])
        another = (hashed + 1) % mechanism.response.symbols * share  # a word that draws another symbol
        rows = mechanism.privatize(
            np.full(3, 77), _stream(functions + _around(mechanism.response.truth) + 3 * [another])
        )
        assert mechanism.supports(rows, 77).tolist() == [True, False, False]


@pytest.mark.parametrize(
    "threshold", [1, 2, 3, 2**55 + 1, 2**63, 2**63 + 1, 2**63 - 1, 0x5555_5555_5555_5555, 2**64 - 2, 2**64 - 1]
)
def test_every_digit_of_a_biased_bits_threshold_counts(threshold):
    numbers = [max(threshold - 2, 0), threshold - 1, threshold, min(threshold + 1, 2**64 - 1)]
    planes = [sum((number >> 63 - digit & 1) << lane for lane, number in enumerate(numbers)) for digit in range(64)]
    lanes = biased_bits(_stream(planes), 1, len(numbers), threshold, 64)
    assert [int(lanes[0, 0]) >> lane & 1 for lane in range(len(numbers))] == [n < threshold for n in numbers]


@pytest.mark.parametrize("bound", [3, 5, 6, 7, 1000, 2**16 - 1])
def test_a_uniform_draw_takes_equal_shares_of_the_words_and_rejects_the_rest(bound):
    share = 2**64 // bound
    edges = [word for number in range(1, min(bound, 50)) for word in (number * share - 1, number * share)]
    drawn = _stream(edges).below(bound, len(edges)).tolist()
    assert drawn == [word // share for word in edges]
    rejected = _stream([bound * share - 1, bound * share, 2**64 - 1, 0, share])
    assert rejected.below(bound, 3).tolist() == [bound - 1, 0, 1]
    assert rejected.drawn == 5


def test_given_words_are_all_the_stream_starts_with():
    """The helper of this file is right: the words come first, and then the stream."""
    source = _stream([4, 5])
    assert source.words(2).tolist() == [4, 5]
    assert isinstance(source, Keystream)
