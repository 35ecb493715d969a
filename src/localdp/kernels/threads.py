"""Work in parts, several at a time: on threads, since ciphers, NumPy and compiled kernels all let go of the lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import TypeVar

from localdp.errors import InvalidInputError
from localdp.types import Progress

Part = TypeVar("Part")


def workers() -> int:
    """How many threads to use: LOCALDP_THREADS, or the processors that this process may use."""
    asked = os.environ.get("LOCALDP_THREADS", "")
    if asked:
        if not asked.isdecimal() or int(asked) < 1:
            raise InvalidInputError(f"LOCALDP_THREADS is a whole number of at least 1, not {asked!r}")
        return int(asked)
    affinity = getattr(os, "sched_getaffinity", None)  # not everywhere
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def each(
    work: Callable[[Part], int],
    parts: Iterable[Part],
    total: int,
    progress: Progress | None = None,
    threads: int | None = None,
) -> None:
    """Do every part; `work` answers how much of the total it did. The parts are taken in their order, one by one.

    `progress` is called by the calling thread only. The first error stops everything and is raised.
    """
    remaining = iter(parts)
    first = list(islice(remaining, workers() if threads is None else threads))
    queue, lock = chain(first, remaining), threading.Lock()
    errors: list[BaseException] = []
    done = 0

    def run(report: Progress | None = None) -> None:
        nonlocal done
        try:
            while not errors:
                with lock:
                    part = next(queue, None)
                if part is None:
                    return
                amount = work(part)
                with lock:
                    done += amount
                if report:
                    report(done, total)
        except BaseException as error:  # an interruption as well: whoever called waits for the others, then raises it
            errors.append(error)

    helpers = [threading.Thread(target=run, name="localdp") for _ in first[1:]]
    for helper in helpers:
        helper.start()
    run(progress)
    for helper in helpers:
        helper.join()
    if errors:
        raise errors[0]
    if progress and helpers:
        progress(done, total)
