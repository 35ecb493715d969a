"""A keystream leaves no copies: not in children, not in copies of the object, not in memory that is used again."""

from __future__ import annotations

import copy
import os
import pickle
from fractions import Fraction

import numpy as np
import pytest

import localdp as ldp
from localdp.kernels import dispatch
from localdp.randomness import keystream, thresholds


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_takes_a_new_key_even_if_it_seems_to_be_the_same_process(monkeypatch):
    """Process numbers are used again, so they cannot tell a child from its parent."""
    stream = keystream.secure()
    stream.words(4)
    branch = stream.branch()
    process = os.getpid()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            monkeypatch.setattr(os, "getpid", lambda: process)
            os.write(writing, stream.words(4).tobytes() + branch.words(4).tobytes())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    drawn = os.read(reading, 64)
    os.close(reading)
    os.close(writing)
    assert len(drawn) == 64
    assert drawn != stream.words(4).tobytes() + branch.words(4).tobytes()
    assert drawn[:32] != keystream.Keystream(stream._secret).words(8)[4:].tobytes()


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("stream", [keystream.secure(), keystream.seeded(1)])
def test_a_stream_refuses_to_be_copied_or_pickled(duplicate, stream):
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        duplicate(stream)


@pytest.mark.parametrize("name", ["oue", "sue", "ss"])
@pytest.mark.parametrize("epsilon", [1.0, 6.0])
@pytest.mark.parametrize("kernels", ["numpy", "fast"])
def test_no_random_word_stays_in_the_scratch_memory(name, epsilon, kernels):
    plan = ldp.Plan(300, name, epsilon)
    with dispatch.kernels(kernels):
        plan.privatize(np.arange(300))
    assert not keystream._scratch.words.any()


def test_scratch_memory_is_cleared_after_an_error_too():
    def fail(_):
        raise KeyError("on purpose")

    with pytest.raises(KeyError, match="on purpose"):
        keystream.seeded(1).consume(100, fail)
    assert not keystream._scratch.words.any()


def test_words_that_were_kept_are_cleared_once_they_are_used():
    stream = keystream.secure()
    first = stream.words(1)
    kept = stream._ahead
    assert not first.base[1 : -keystream._SLACK_WORDS].any()
    stream.consume(100, lambda words: words.size)
    assert not kept.any()


def test_words_that_somebody_has_seen_are_not_drawn_again_after_an_error():
    stream, seen = keystream.secure(), []

    def fail(words):
        seen.extend(words.tolist())
        raise KeyError("on purpose")

    with pytest.raises(KeyError, match="on purpose"):
        stream.consume(100, fail)
    assert not set(seen) & set(stream.words(1000).tolist())


def test_clearing_the_scratch_memory_keeps_the_words_that_are_still_to_come():
    stream, expected = keystream.seeded(3), keystream.seeded(3).words(30)
    assert stream.consume(20, lambda _: 7) == 7
    assert stream.words(10).tolist() == expected[7:17].tolist()


@pytest.mark.parametrize("ratio", [Fraction(3), Fraction(10**30 + 1, 10**30), Fraction(2**64 - 1, 2**60 + 7)])
def test_a_stated_epsilon_is_never_below_the_realised_one(ratio):
    stated = thresholds.log_rounded_up(ratio)
    below = np.nextafter(stated, 0)
    exact = thresholds._CONTEXT.ln(thresholds._CONTEXT.divide(ratio.numerator, ratio.denominator))
    assert Fraction(float(below)) < Fraction(exact) <= Fraction(stated)


@pytest.mark.parametrize("name", ["grr", "sue", "oue", "ss", "olh", "llh"])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1 / 3, 1.0, 2.5, 16.0])
def test_the_epsilon_of_a_mechanism_is_rounded_up_and_not_above_the_one_asked_for(name, epsilon):
    mechanism = ldp.Plan(40, name, epsilon).mechanism
    assert mechanism.epsilon <= epsilon
    assert mechanism.epsilon == thresholds.log_rounded_up(mechanism.ratio)
