"""Sharing work between threads: every part once and in order, the first error, honest progress, few threads."""

from __future__ import annotations

import os
import threading
import time

import pytest

from localdp.errors import InvalidInputError
from localdp.kernels import threads


def _helpers_alive():
    return [thread for thread in threading.enumerate() if thread.name == "localdp"]


@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.parametrize("parts", [0, 1, 2, 3, 200])
def test_every_part_is_done_once(number, parts):
    done = []
    threads.each(lambda part: done.append(part) or 1, range(parts), parts, threads=number)
    assert sorted(done) == list(range(parts))


@pytest.mark.parametrize(("number", "parts"), [(1, 5), (4, 1)])
def test_one_thread_or_one_part_starts_no_thread(number, parts, monkeypatch):
    monkeypatch.delattr(threading, "Thread")
    done = []
    threads.each(lambda part: done.append(part) or 1, range(parts), parts, threads=number)
    assert done == list(range(parts))


@pytest.mark.parametrize("number", [2, 3])
def test_there_are_as_many_threads_as_asked_and_the_caller_is_one(number):
    """Every part waits until all threads have one; with fewer threads the barrier would break."""
    barrier, idents = threading.Barrier(number, timeout=60), set()

    def work(_):
        idents.add(threading.get_ident())
        barrier.wait()
        return 1

    threads.each(work, range(number), number, threads=number)
    assert len(idents) == number
    assert threading.get_ident() in idents


def test_the_caller_waits_for_the_last_part():
    caller, done = threading.get_ident(), []

    def work(part):
        if threading.get_ident() != caller:
            time.sleep(0.2)
        done.append(part)
        return 1

    threads.each(work, range(3), 3, threads=3)
    assert sorted(done) == [0, 1, 2]


def test_no_more_threads_than_parts(monkeypatch):
    started = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda self: started.append(self) or start(self))
    threads.each(lambda _: 1, range(3), 3, threads=50)
    assert len(started) == 2


@pytest.mark.parametrize("number", [1, 3])
def test_progress_is_the_sum_of_the_amounts_in_the_calling_thread(number):
    seen, callers = [], set()

    def progress(done, total):
        seen.append((done, total))
        callers.add(threading.get_ident())

    threads.each(lambda part: part, [1, 2, 3, 4], 10, progress, number)
    assert callers == {threading.get_ident()}
    assert seen[-1] == (10, 10)
    assert seen == sorted(seen)
    if number == 1:
        assert seen == [(1, 10), (3, 10), (6, 10), (10, 10)]


@pytest.mark.parametrize("number", ["1", "4"])
@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_the_first_error_stops_the_work_and_is_raised(number, kind, monkeypatch):
    monkeypatch.setenv("LOCALDP_THREADS", number)
    done = []

    def work(part):
        if part == 5:
            raise kind("part 5")
        done.append(part)
        return 1

    with pytest.raises(kind, match="part 5"):
        threads.each(work, range(1_000_000), 1_000_000)
    assert len(done) < 900_000  # without the error, all would be done
    assert not _helpers_alive()


def test_an_error_of_progress_is_raised_after_the_helpers_have_finished():
    def progress(*_):
        raise KeyboardInterrupt("stop")

    with pytest.raises(KeyboardInterrupt, match="stop"):
        threads.each(lambda _: 1, range(1000), 1000, progress, 3)
    assert not _helpers_alive()


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


def test_the_number_of_threads_is_that_of_the_processors_unless_it_is_given(monkeypatch):
    monkeypatch.delenv("LOCALDP_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert threads.workers() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert threads.workers() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert threads.workers() == 1
    monkeypatch.setenv("LOCALDP_THREADS", "12")
    assert threads.workers() == 12


@pytest.mark.parametrize("number", ["0", "-1", "many", "1.5"])
def test_a_strange_number_of_threads_is_an_error(number, monkeypatch):
    monkeypatch.setenv("LOCALDP_THREADS", number)
    with pytest.raises(
        InvalidInputError, match=f"LOCALDP_THREADS must be a whole number of at least 1, not '{number}'"
    ):
        threads.workers()
