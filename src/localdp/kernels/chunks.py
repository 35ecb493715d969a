"""Many users or many reports, a batch at a time and on all processors: memory does not grow with how many there are.

Users are randomized in chunks that draw from branches of one keystream, so their reports do not depend on which thread
does which. Reports are counted in parts; counts are integers, so it does not matter how they are added up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np

from localdp.kernels import dispatch, threads
from localdp.randomness.keystream import Entropy, Keystream
from localdp.types import Counts, Indices, Progress, Rows

CHUNK_WORDS = 1 << 18  # enough to make up for what Python does once a chunk, and soon enough done
_LONG_WORDS = 16
_LEAST_WORDS, _MOST_WORDS = 1 << 19, 1 << 25  # of a part: worth a thread, and soon enough done


def randomized(
    randomize: Callable[[Indices, Entropy], Rows],
    values: Indices,
    source: Entropy,
    rows: Rows,
    words_each: int,
    progress: Progress | None,
) -> None:
    """Write the report of each user into the rows; one takes about so many words."""
    dispatch.expect_work(values.size * words_each)

    def fill(part: tuple[slice, Entropy]) -> int:
        chunk, stream = part
        rows[chunk] = randomize(values[chunk], stream)
        return len(rows[chunk])

    chunks = _chunks(values.size, source, chunk_users(values.size, words_each))
    threads.each(fill, chunks, values.size, progress, _threads(words_each))


def chunk_users(users: int, words_each: int) -> int:
    """How many users make a chunk: whatever the threads, so that a seed gives the same reports on any machine."""
    chunks = -(-users * words_each // CHUNK_WORDS)
    return max(1, -(-users // max(1, chunks)))


def _chunks(users: int, source: Entropy, step: int) -> Iterator[tuple[slice, Entropy]]:
    """Slices of the users, each with a stream of its own; the first goes on with the source itself."""
    if not isinstance(source, Keystream):  # where every user has a tape, all draw at once
        yield slice(0, users), source
        return
    for start in range(0, users, step):
        yield slice(start, start + step), source.branch() if start else source


def counted(
    count: Callable[[Rows], Counts], rows: Rows, size: int, words_each: int, progress: Progress | None
) -> Counts:
    """The sum of the counts of all parts; a report takes about so many words of work."""
    reports, work = rows.shape[0], rows.shape[0] * words_each
    dispatch.expect_work(work)
    parts = max(1, work // _MOST_WORDS, min(_threads(words_each), work // _LEAST_WORDS))
    step = 8 * max(1, -(-reports // (8 * parts)))  # parts begin where words do
    total, lock = np.zeros(size, np.int64), threading.Lock()

    def add(start: int) -> int:
        part = rows[start : start + step]
        counts = count(part)
        with lock:
            np.add(total, counts, out=total)
        return len(part)

    threads.each(add, range(0, reports, step), reports, progress, _threads(words_each))
    return total


def _threads(words_each: int) -> int:
    """How many threads pay: NumPy does long reports in many short steps, and threads would fight over each."""
    return 1 if words_each > _LONG_WORDS and not dispatch.uses_compiled() else threads.workers()
