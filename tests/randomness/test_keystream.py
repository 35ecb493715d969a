"""Where the bits come from: never shared, never repeated, exactly uniform."""

from __future__ import annotations

import multiprocessing
import threading

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from localdp.checks.tapes import Tapes
from localdp.errors import InvalidInputError, SeedError
from localdp.randomness import keystream


def test_stream_is_aes_in_counter_mode():
    """FIPS 197's zero-key example: AES-128 of the zero block."""
    words = keystream.Keystream(bytes(16)).words(2)
    assert words.tobytes().hex() == "66e94bd4ef8a2c3b884cfa59ca342b2e"


def test_stream_goes_on_across_calls_and_blocks():
    whole = keystream.seeded(5).words(200_000)
    source = keystream.seeded(5)
    parts = np.concatenate([source.words(count) for count in (0, 1, 3, 65_536, 134_460)])
    assert np.array_equal(parts, whole)
    assert np.unique(whole).size == whole.size


def test_secure_streams_differ_and_seeded_ones_do_not():
    assert not np.array_equal(keystream.secure().words(4), keystream.secure().words(4))
    assert np.array_equal(keystream.seeded(1).words(4), keystream.seeded(1).words(4))
    assert not np.array_equal(keystream.seeded(1).words(4), keystream.seeded(2).words(4))


@pytest.mark.parametrize("seed", [-1, 1.5, "7", None, True])
def test_seed_must_be_a_whole_number(seed):
    with pytest.raises(SeedError, match="whole number"):
        keystream.seeded(seed)


def _send_words(source, pipe):
    pipe.send(source.words(4).tolist())


def _send_words_of_a_branch(source, pipe):
    _send_words(source.branch(), pipe)


@pytest.mark.parametrize("send", [_send_words, _send_words_of_a_branch])
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_never_repeats_its_parent(send):
    source = keystream.secure()
    source.words(1)
    context = multiprocessing.get_context("fork")
    drawn = []
    for _ in range(2):
        ours, theirs = context.Pipe()
        child = context.Process(target=send, args=(source, theirs))
        child.start()
        drawn.append(tuple(ours.recv()))
        child.join()
    ours, theirs = context.Pipe()
    send(source, theirs)
    drawn.append(tuple(ours.recv()))
    assert len(set(drawn)) == 3


def test_threads_never_get_the_same_words():
    source = keystream.secure()
    drawn, lock = [], threading.Lock()

    def draw():
        for _ in range(200):
            words = source.words(100)
            with lock:
                drawn.append(words)

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = np.concatenate(drawn)
    assert np.unique(every).size == every.size == 160_000


@pytest.mark.parametrize("bound", range(1, 9))
def test_bounded_draws_are_exactly_uniform(bound):
    width, length = 3, 9  # up to two rejections
    tapes = Tapes(np.arange(1 << length, dtype=np.uint64), length, width)
    drawn = tapes.below(bound, 1 << length)[~tapes.spilled]
    shares = np.bincount(drawn.astype(int), minlength=bound)
    assert shares.size == bound
    assert (shares == shares[0]).all()


def test_bounded_draw_past_the_width_is_refused():
    with pytest.raises(InvalidInputError, match="3 bits cannot choose among 9 outcomes"):
        Tapes(np.zeros(1, np.uint64), 9, 3).below(9, 1)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_draws_does_not_hang_the_child():
    source = keystream.secure()
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    with source._lock:
        child = context.Process(target=_send_words, args=(source, theirs))
        child.start()
    answered = ours.poll(20)
    child.kill()
    child.join()
    assert answered


def test_a_seed_may_be_as_large_as_one_likes():
    assert not np.array_equal(keystream.seeded(10**5000).words(2), keystream.seeded(10**5000 + 1).words(2))


def test_branches_are_the_same_cipher_far_apart():
    key = bytes(range(16))
    source = keystream.Keystream(key)
    for number in (1, 2, 3):
        counter = modes.CTR((number << 64).to_bytes(16, "big"))
        expected = Cipher(algorithms.AES(key), counter).encryptor().update(bytes(80))  # type: ignore[attr-defined]
        assert source.branch().words(10).astype("<u8").tobytes() == expected


def test_no_two_branches_ever_draw_the_same_word():
    source = keystream.secure()
    first = source.branch()
    streams = [source, first, first.branch(), *(source.branch() for _ in range(50))]
    words = np.concatenate([stream.words(2000) for stream in streams])
    assert np.unique(words).size == words.size


def test_a_branch_begins_at_its_own_beginning():
    source = keystream.seeded(1)
    source.words(100)
    source.consume(3000, lambda _: 7)
    assert np.array_equal(source.branch().words(5), keystream.seeded(1).branch().words(5))


def test_words_are_shown_before_they_are_used_up():
    source, twin = keystream.seeded(3), keystream.seeded(3)
    shown = []
    assert source.consume(1000, lambda words: shown.append(words.copy()) or 0) == 0
    assert source.consume(2000, lambda words: shown.append(words.copy()) or 150) == 150
    assert np.array_equal(shown[0], shown[1][:1000])
    assert np.array_equal(shown[0][:150], twin.words(150))
    assert np.array_equal(source.words(5000), twin.words(5000))
    assert source.drawn == twin.drawn == 5150


def test_streams_of_one_thread_keep_what_they_have_not_used():
    streams = [keystream.seeded(seed) for seed in (1, 2, 3)]
    for stream in streams:
        stream.consume(2000, lambda _: 10)
    for seed, stream in zip((1, 2, 3), streams, strict=True):
        assert np.array_equal(stream.words(3000), keystream.seeded(seed).words(3010)[10:])
