"""Randomize users and count reports in chunks, on all processors.

The temporary memory does not grow with the number of users or reports. The first chunk of users draws from the
keystream itself, every other chunk from a branch of its own, so the reports do not depend on which thread randomizes
which chunk. Counts are integers, so the order in which the chunks of reports are added up does not matter.

Work is measured in 64-bit words that are written, read, drawn or hashed; `words_each` is the work for one report. It
decides how large a chunk is, how many threads share the work, and whether Numba is loaded for it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np

from localdp.kernels import dispatch, threads
from localdp.randomness.keystream import Entropy, Keystream
from localdp.types import Counts, Indices, Progress, Rows

# A chunk takes some milliseconds, much longer than Python's own work for it. Do not change this number: it would change
# the reports that a seed gives.
CHUNK_WORDS = 1 << 18
_LONG_REPORT_WORDS = 16  # work for one report, from which on NumPy handles it in many short calls
_LEAST_WORDS = 1 << 19  # work of one part; a smaller part is not worth a thread
_GROUP_USERS, _GROUP_BYTES = 1 << 22, 1 << 26  # users and bytes of reports that a simulation holds at a time
_MOST_WORDS = 1 << 25  # work of one part: some tenths of a second, so that progress is shown often enough


def randomize_chunks(
    randomize: Callable[[Indices, Entropy], Rows],
    values: Indices,
    source: Entropy,
    rows: Rows,
    words_each: int,
    progress: Progress | None,
) -> None:
    """Write the report of each user into `rows`; `words_each` is the work for one report, in words written or drawn."""
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


def count_chunks(
    count: Callable[[Rows], Counts],
    rows: Rows,
    size: int,
    words_each: int,
    progress: Progress | None,
    most_threads: int | None = None,
) -> Counts:
    """The counts of all rows, for `size` items: count the rows in parts and add up the counts.

    `words_each` is the work to count one row, in words read or hashed. Without `most_threads`, all processors share it.
    """
    reports, work = rows.shape[0], rows.shape[0] * words_each
    dispatch.expect_work(work)
    if 0 < work < 2 * _LEAST_WORDS:  # one part: most batches that arrive at a collector are this small
        counts = count(rows)
        if progress:
            progress(reports, reports)
        return counts
    threads_used = min(_threads(words_each), most_threads or sys.maxsize)
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
    """The number of threads to use.

    NumPy handles long reports in many short calls, and threads would wait for the interpreter's lock at each one. So
    long reports get one thread, unless the loops are compiled.
    """
    return 1 if words_each > _LONG_REPORT_WORDS and not dispatch.uses_compiled() else threads.workers()


def values_in_groups(frequencies: Counts, report_bytes: int) -> Iterator[Indices]:
    """The value of every user, in groups of at most 64 MiB of reports, so that memory stays bounded."""
    last = np.cumsum(frequencies)
    group = max(1, min(_GROUP_USERS, _GROUP_BYTES // report_bytes))
    for start in range(0, int(last[-1]), group):
        users = np.arange(start, min(start + group, int(last[-1])))
        yield np.searchsorted(last, users, side="right").astype(np.int64)
