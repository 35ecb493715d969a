"""Work in chunks: the same result on any number of threads, no shared keystream, bounded memory, honest progress."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest

import localdp as ldp
from localdp.errors import InvalidInputError
from localdp.kernels import chunks, dispatch, threads
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


def test_privatizing_again_from_the_same_source_repeats_nothing(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_WORDS", 1 << 8)
    mechanism = MECHANISMS["olh"](1000, 1.0)  # its reports are mostly 32 random bits
    source = keystream.seeded(1)
    seeds = np.concatenate(
        [mechanism.split(mechanism.privatize(np.zeros(5000, np.int64), source))[0] for _ in range(3)]
    )
    assert np.unique(seeds).size > seeds.size - 20


@pytest.mark.parametrize("number", ["1", "3"])
def test_progress_goes_up_to_the_total_in_the_calling_thread(number, monkeypatch):
    monkeypatch.setenv("LOCALDP_THREADS", number)
    monkeypatch.setattr(chunks, "CHUNK_WORDS", 1 << 9)
    monkeypatch.setattr(chunks, "_LEAST_WORDS", 1 << 7)
    monkeypatch.setattr(chunks, "_MOST_WORDS", 1 << 9)
    plan = ldp.Plan(100, "oue", 1.0)
    seen, callers = [], set()

    def progress(done, total):
        seen.append((done, total))
        callers.add(threading.get_ident())

    reports = plan.privatize(np.zeros(3000, int), progress=progress)
    halfway = len(seen)
    plan.aggregate(reports, progress=progress)
    assert callers == {threading.get_ident()}
    for part in (seen[:halfway], seen[halfway:]):
        assert len(part) > 1 or number != "1"  # with more threads, the others may have done all but one chunk
        assert part == sorted(part)
        assert part[-1] == (3000, 3000)
        assert {total for _, total in part} == {3000}


def test_a_strange_number_of_threads_is_an_error(monkeypatch):
    monkeypatch.setenv("LOCALDP_THREADS", "many")
    with pytest.raises(InvalidInputError, match="LOCALDP_THREADS must be a whole number of at least 1, not 'many'"):
        ldp.Plan(4, "grr", 1.0).privatize([1, 2])


def _size_and_sum(rows):
    return np.array([rows.size, rows.sum()], np.int64)


def test_a_small_batch_is_counted_by_one_call_without_threads(monkeypatch):
    monkeypatch.setattr(threads, "each", None)
    monkeypatch.setattr(threads, "workers", None)
    rows, seen, counted = np.ones((100, 8), np.uint8), [], []
    counts = chunks.count_chunks(
        lambda part: counted.append(part) or _size_and_sum(part), rows, 2, 20, lambda *done: seen.append(done)
    )
    assert counts.tolist() == [800, 800]
    assert len(counted) == 1
    assert counted[0] is rows
    assert seen == [(100, 100)]


def test_a_large_batch_is_counted_in_parts_of_whole_words(monkeypatch):
    monkeypatch.setenv("LOCALDP_THREADS", "3")
    rows, parts = np.ones((1001, 3), np.uint8), []
    words_each = 3 * chunks._LEAST_WORDS // 1000
    with dispatch.kernels("fast"):
        counts = chunks.count_chunks(
            lambda part: parts.append(len(part)) or _size_and_sum(part), rows, 2, words_each, None
        )
    assert counts.tolist() == [3003, 3003]
    assert sorted(parts) == [329, 336, 336]


def test_numpy_counts_long_reports_in_one_thread_and_in_several_parts(monkeypatch):
    monkeypatch.setattr(threads, "workers", None)
    rows, parts = np.ones((64, 1), np.uint8), []
    with dispatch.kernels("numpy"):
        chunks.count_chunks(
            lambda part: parts.append(len(part)) or _size_and_sum(part), rows, 2, chunks._MOST_WORDS // 16, None
        )
    assert parts == [16, 16, 16, 16]


@pytest.mark.parametrize("words_each", [1, 1 << 30])
def test_no_reports_give_zero_counts(words_each):
    counts = chunks.count_chunks(
        lambda _: pytest.fail("nothing to count"), np.zeros((0, 5), np.uint8), 7, words_each, None
    )
    assert counts.tolist() == [0] * 7
    assert counts.dtype == np.int64


def test_chunks_of_users_are_even_and_depend_on_the_work_alone(monkeypatch):
    assert chunks.chunk_users(1, 1) == 1
    assert chunks.chunk_users(1000, 1) == 1000
    assert chunks.chunk_users(chunks.CHUNK_WORDS, 1) == chunks.CHUNK_WORDS
    assert chunks.chunk_users(chunks.CHUNK_WORDS + 2, 1) == chunks.CHUNK_WORDS // 2 + 1
    assert chunks.chunk_users(5, chunks.CHUNK_WORDS * 10) == 1
    before = chunks.chunk_users(10**6, 20)
    monkeypatch.setenv("LOCALDP_THREADS", "9")
    assert chunks.chunk_users(10**6, 20) == before


def test_each_chunk_of_users_draws_from_its_own_branch(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_WORDS", 10)
    rows, values, source = np.zeros((25, 8), np.uint8), np.arange(25), keystream.seeded(1)

    def draw(part, stream):
        return stream.words(part.size).view(np.uint8).reshape(-1, 8)

    chunks.randomize_chunks(draw, values, keystream.seeded(1), rows, 1, None)
    streams = [source, source.branch(), source.branch()]
    expected = np.concatenate([stream.words(count) for stream, count in zip(streams, (9, 9, 7), strict=True)])
    assert rows.tobytes() == expected.tobytes()


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
