"""Work in parts: the same result on any number of threads, no shared keystream, bounded memory, honest progress."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import localdp as ldp
from localdp.errors import InvalidInputError
from localdp.kernels import chunks, threads
from localdp.mechanisms import MECHANISMS
from localdp.randomness import keystream


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_seed_gives_the_same_reports_on_any_number_of_threads(name, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_WORDS", 1 << 9)
    plan = ldp.Plan(100, name, 0.5)
    values = np.random.default_rng(0).integers(0, 100, 3000)
    made = []
    for number in ("1", "2", "7"):
        monkeypatch.setenv("LOCALDP_THREADS", number)
        made.append(plan.privatize(values, seed=5).rows)
    assert np.array_equal(made[0], made[1])
    assert np.array_equal(made[0], made[2])


@pytest.mark.parametrize("name", MECHANISMS)
def test_counts_do_not_depend_on_the_parts(name, monkeypatch):
    plan = ldp.Plan(70, name, 0.5)
    reports = plan.privatize(np.random.default_rng(1).integers(0, 70, 5000))
    whole = plan.mechanism.count(reports.rows)
    monkeypatch.setattr(chunks, "_LEAST_WORDS", 64)
    for number, most in (("1", 1 << 8), ("3", 1 << 25), ("4", 1 << 10)):
        monkeypatch.setenv("LOCALDP_THREADS", number)
        monkeypatch.setattr(chunks, "_MOST_WORDS", most)
        assert np.array_equal(plan.aggregate(reports).counts, whole)
        part = plan.aggregate(reports[3:4990]).merge(plan.aggregate(reports[:3])).add(reports[4990:])
        assert np.array_equal(part.counts, whole)


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


def test_privatizing_again_from_the_same_source_repeats_nothing(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_WORDS", 1 << 8)
    mechanism = MECHANISMS["olh"](1000, 1.0)  # its reports are mostly 32 random bits
    source = keystream.seeded(1)
    seeds = np.concatenate(
        [mechanism.split(mechanism.privatize(np.zeros(5000, np.int64), source))[0] for _ in range(3)]
    )
    assert np.unique(seeds).size > seeds.size - 20


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


@pytest.mark.parametrize("number", ["1", "3"])
def test_progress_goes_up_to_the_total_in_the_calling_thread(number, monkeypatch):
    monkeypatch.setenv("LOCALDP_THREADS", number)
    monkeypatch.setattr(chunks, "CHUNK_WORDS", 1 << 9)
    monkeypatch.setattr(chunks, "_MOST_WORDS", 1 << 9)
    plan = ldp.Plan(100, "oue", 1.0)
    seen, callers = [], set()

    def progress(done, total):
        seen.append((done, total))
        callers.add(threading.get_ident())

    reports = plan.privatize(np.zeros(3000, int), progress=progress)
    halfway = len(seen)
    plan.aggregate(reports, progress)
    assert callers == {threading.get_ident()}
    for part in (seen[:halfway], seen[halfway:]):
        assert len(part) > 1 or threads != "1"  # others may have been quicker
        assert part == sorted(part)
        assert part[-1] == (3000, 3000)
        assert {total for _, total in part} == {3000}


@pytest.mark.parametrize("number", ["1", "4"])
def test_the_first_error_stops_the_work_and_is_raised(number, monkeypatch):
    monkeypatch.setenv("LOCALDP_THREADS", number)
    done = []

    def work(part):
        if part == 5:
            raise RuntimeError("part 5")
        done.append(part)
        return 1

    with pytest.raises(RuntimeError, match="part 5"):
        threads.each(work, range(1_000_000), 1_000_000)
    assert len(done) < 900_000  # all that came after, had nothing stopped


def test_parts_are_not_made_before_they_are_needed(monkeypatch):
    """A million users on two threads must not mean a million waiting tasks."""
    monkeypatch.setenv("LOCALDP_THREADS", "2")
    ahead = []
    made = done = 0

    def parts():
        nonlocal made
        for part in range(1000):
            made += 1
            ahead.append(made - done)
            yield part

    def work(_):
        nonlocal done
        done += 1
        return 1

    threads.each(work, parts(), 1000)
    assert done == 1000
    assert max(ahead) <= 5


@pytest.mark.parametrize("number", ["0", "-1", "many", "1.5"])
def test_a_strange_number_of_threads_is_an_error(number, monkeypatch):
    monkeypatch.setenv("LOCALDP_THREADS", number)
    with pytest.raises(InvalidInputError, match="LOCALDP_THREADS"):
        ldp.Plan(4, "grr", 1.0).privatize([1, 2])


@pytest.mark.parametrize(("name", "size"), [("llh", 41_270), ("oue", 5_000), ("olh", 300)])
def test_working_memory_does_not_grow_with_the_number_of_users(name, size, monkeypatch):
    monkeypatch.setenv("LOCALDP_THREADS", "2")
    plan = ldp.Plan(size, name, 1.0)
    beyond = []
    for users in (60_000, 180_000):
        values = np.zeros(users, np.int64)
        plan.privatize(values[:100])
        tracemalloc.start()
        reports = plan.privatize(values)
        privatizing = tracemalloc.get_traced_memory()[1] - reports.rows.nbytes
        tracemalloc.reset_peak()
        plan.aggregate(reports)
        counting = tracemalloc.get_traced_memory()[1] - reports.rows.nbytes
        tracemalloc.stop()
        beyond.append((privatizing, counting))
    assert all(later < 1.3 * earlier + (1 << 22) for earlier, later in zip(*beyond, strict=True))
