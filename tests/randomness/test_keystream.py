"""Where the bits come from: never shared, never repeated, exactly uniform."""

from __future__ import annotations

import multiprocessing
import threading

import numpy as np
import pytest

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
    with pytest.raises(InvalidInputError):
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
