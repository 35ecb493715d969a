"""The key of a keystream: sixteen bytes of the operating system, for one stream and one process only."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import localdp as ldp
from localdp.kernels import dispatch
from localdp.randomness import keystream

KEYS = [bytes(range(16)), bytes(range(100, 116)), bytes(range(200, 216))]


def _aes(key, counter, words):
    """AES-128-CTR from the start of a counter, as 64-bit words."""
    cipher = Cipher(algorithms.AES(key), modes.CTR(counter.to_bytes(16, "big"))).encryptor()
    return np.frombuffer(cipher.update(bytes(8 * words)), "<u8")


@pytest.fixture
def asked(monkeypatch):
    """The numbers of bytes that were asked of the operating system, which answers with `KEYS`."""
    lengths, keys = [], iter(KEYS)

    def urandom(length):
        lengths.append(length)
        return next(keys)

    monkeypatch.setattr(os, "urandom", urandom)
    return lengths


def test_a_secure_stream_is_aes_under_the_bytes_of_the_operating_system(asked):
    stream = keystream.secure()
    assert asked == [16]
    assert np.array_equal(stream.words(5000), _aes(KEYS[0], 0, 5000))
    assert np.array_equal(stream.branch().words(100), _aes(KEYS[0], 1 << 64, 100))
    assert asked == [16]


@pytest.mark.parametrize("first", [0, 1, 700])
def test_a_draw_of_several_megabytes_is_the_cipher_to_its_end(asked, first):
    """The cipher is called for two megabytes at a time: no part may be left out, or come twice."""
    words, seen = 700_001, []
    whole = _aes(KEYS[0], 0, first + 2 * words)
    stream = keystream.secure()
    stream.words(first)
    assert np.array_equal(stream.words(words), whole[first : first + words])
    stream.consume(words, lambda shown: seen.append(shown.copy()) or shown.size)
    assert np.array_equal(seen[0], whole[first + words :])
    assert asked == [16]


def test_every_secure_stream_has_a_key_of_its_own(asked):
    words = [keystream.secure().words(10) for _ in range(3)]
    assert asked == [16, 16, 16]
    for key, found in zip(KEYS, words, strict=True):
        assert np.array_equal(found, _aes(key, 0, 10))


def test_a_plan_without_a_seed_asks_for_a_key_for_every_call(asked):
    plan = ldp.Plan(4, "hr", 0.5)
    reports = [plan.privatize(np.zeros(64, int)).rows.tobytes() for _ in range(3)]
    assert asked == [16, 16, 16]
    assert len(set(reports)) == 3


def test_a_thousand_branches_are_all_different_and_each_is_the_cipher_at_its_number():
    source = keystream.Keystream(KEYS[0])
    first = [int(source.branch().words(1)[0]) for _ in range(1000)]
    assert len(set(first)) == 1000
    for number in (1, 2, 255, 256, 257, 511, 512, 1000):
        assert first[number - 1] == _aes(KEYS[0], number << 64, 1)[0]


def _send_words(source, pipe):
    pipe.send(source.words(4).tolist())


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("branched", [False, True])
def test_a_child_with_the_process_number_of_its_parent_still_takes_a_new_key(monkeypatch, branched):
    """Process numbers come back: a grandchild may have that of the process which made the stream."""
    source = keystream.secure()
    monkeypatch.setattr(os, "getpid", lambda: 12345)
    source._process = 12345
    stream = source.branch() if branched else source
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_send_words, args=(stream, theirs))
    child.start()
    assert ours.poll(60)
    assert ours.recv() != stream.words(4).tolist()
    child.join()


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_stream_cannot_be_copied(duplicate):
    with pytest.raises(TypeError, match="cannot be copied or pickled: two copies would draw the same noise"):
        duplicate(keystream.secure())


@pytest.fixture
def scratch(monkeypatch):
    """The memory that the streams of this thread share, with room for all that a test draws."""
    room = np.zeros(1 << 16, np.uint64)
    monkeypatch.setattr(keystream._scratch, "words", room)
    return room


@pytest.mark.parametrize("kernels", ["numpy", "fast"])
@pytest.mark.parametrize(("name", "epsilon"), [("oue", 0.5), ("oue", 8.0), ("ss", 1.0)])
def test_the_words_of_a_report_are_not_left_in_memory(kernels, name, epsilon, scratch):
    with dispatch.kernels(kernels):
        ldp.Plan(1000, name, epsilon).privatize(np.zeros(50, int))
    assert keystream._scratch.words is scratch
    assert not scratch.any()


def test_words_are_wiped_after_their_use_and_the_stream_goes_on(scratch):
    source, seen = keystream.seeded(1), []
    assert source.consume(700, lambda words: seen.append(words.copy()) or 350) == 350
    assert not scratch.any()
    assert np.array_equal(source.words(350), seen[0][350:])


def test_words_are_wiped_when_their_user_fails_too(scratch):
    def fail(words):
        raise KeyError(words.size)

    with pytest.raises(KeyError, match="900"):
        keystream.secure().consume(900, fail)
    assert not scratch.any()
