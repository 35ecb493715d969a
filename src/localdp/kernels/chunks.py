"""Randomize users and count reports in chunks, on all processors, with memory that does not grow with their number.

Each chunk of users draws from its own branch of one keystream, so the reports do not depend on which thread randomizes
which chunk. Counts are integers, so the order in which the chunks of reports are added up does not matter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np

from localdp.kernels import dispatch, threads
from localdp.randomness.keystream import Entropy, Keystream
from localdp.types import Counts, Indices, Progress, Rows

# A chunk takes some milliseconds, much longer than Python's own work for it. With another size, a seed would give
# other reports.
CHUNK_WORDS = 1 << 18
_LONG_REPORT_WORDS = 16
_LEAST_WORDS = 1 << 19  # of reports: less work is not worth a thread
_MOST_WORDS = 1 << 25  # of reports: some tenths of a second, so that progress is shown often enough


def randomized(
    randomize: Callable[[Indices, Entropy], Rows],
    values: Indices,
    source: Entropy,
    rows: Rows,
    words_each: int,
    progress: Progress | None,
) -> None:
    """Write the report of each user into `rows`. A report takes about `words_each` words, with its random words."""
    dispatch.expect_work(values.size * words_each)

    def fill(part: tuple[slice, Entropy]) -> int:
        chunk, stream = part
        rows[chunk] = randomize(values[chunk], stream)
        return len(rows[chunk])

    chunks = _chunks_with_streams(values.size, source, chunk_users(values.size, words_each))
    threads.each(fill, chunks, values.size, progress, _threads(words_each))


def chunk_users(users: int, words_each: int) -> int:
    """The number of users in a chunk. It must not depend on the threads: a seed gives the same reports everywhere."""
    chunks = -(-users * words_each // CHUNK_WORDS)
    return max(1, -(-users // max(1, chunks)))


def _chunks_with_streams(users: int, source: Entropy, step: int) -> Iterator[tuple[slice, Entropy]]:
    """Slices of the users, each with its own stream; the first slice draws from the source itself."""
    if not isinstance(source, Keystream):  # every user has a tape, so all can draw at the same time
        yield slice(0, users), source
        return
    for start in range(0, users, step):
        yield slice(start, start + step), source.branch() if start else source


def counted(
    count: Callable[[Rows], Counts], rows: Rows, size: int, words_each: int, progress: Progress | None
) -> Counts:
    """The counts of all rows, for `size` items, from counting the rows in parts.

    Counting one row takes about `words_each` words of work.
    """
    reports, work = rows.shape[0], rows.shape[0] * words_each
    dispatch.expect_work(work)
    if 0 < work < 2 * _LEAST_WORDS:  # one part: most batches that arrive at a collector are this small
        counts = count(rows)
        if progress:
            progress(reports, reports)
        return counts
    threads_used = _threads(words_each)
    parts = max(1, work // _MOST_WORDS, min(threads_used, work // _LEAST_WORDS))
    step = 8 * max(1, -(-reports // (8 * parts)))  # a multiple of 8 rows is a whole number of words
    total, lock = np.zeros(size, np.int64), threading.Lock()

    def add(start: int) -> int:
        part = rows[start : start + step]
        counts = count(part)
        with lock:
            np.add(total, counts, out=total)
        return len(part)

    threads.each(add, range(0, reports, step), reports, progress, threads_used)
    return total


def _threads(words_each: int) -> int:
    """The number of threads to use. NumPy does long reports in many short steps, and threads would fight over each."""
    return 1 if words_each > _LONG_REPORT_WORDS and not dispatch.uses_compiled() else threads.workers()
