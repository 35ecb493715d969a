"""Threads beside the event loop, in pools of their own for devices, operators and analysts: none waits for the others.

The questions of analysts can take minutes. They are asked one after the other for each collection, and what waits for
its turn holds no thread, so slow questions about one collection leave threads for those about another. A question that
takes longer than its time is stopped where Python can be interrupted. (A lower priority of these threads would be
worse: one that holds Python's global lock and is not given the processor keeps the event loop waiting.)
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from localdp.collector.problems import Problem, busy

T = TypeVar("T")

DEVICES, OPERATORS = 4, 2
"""Threads for those who upload, and for those who create, list and watch."""
MOST_QUESTIONS = 64
"""Questions of analysts that may wait, all together; more are answered with 429."""


class OverTimeError(Exception):
    """A question took longer than it may."""


class Pools:
    """The threads of one collector. Its coroutines are called by the event loop."""

    def __init__(self, analysts: int, seconds: float) -> None:
        self._devices = ThreadPoolExecutor(DEVICES, thread_name_prefix="localdp-devices")
        self._operators = ThreadPoolExecutor(OPERATORS, thread_name_prefix="localdp-operators")
        self._rounds = ThreadPoolExecutor(1, thread_name_prefix="localdp-rounds")
        self._analysts = ThreadPoolExecutor(analysts, thread_name_prefix="localdp-analysts")
        self._seconds = seconds
        self._turns: defaultdict[Hashable, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._asked: Counter[Hashable] = Counter()
        self._waiting = 0

    async def for_devices(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run something short that a device waits for."""
        return await asyncio.get_running_loop().run_in_executor(self._devices, function, *arguments)

    async def for_operators(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run something that an operator waits for."""
        return await asyncio.get_running_loop().run_in_executor(self._operators, _in_context(function), *arguments)

    async def for_rounds(self, function: Callable[..., T], *arguments: Any) -> T:
        """End a round of a study, which takes as long as it takes; one after the other."""
        return await asyncio.get_running_loop().run_in_executor(self._rounds, _in_context(function), *arguments)

    async def for_analysts(self, about: Hashable, function: Callable[..., T], *arguments: Any) -> T:
        """Run a question about something, when no other one about it is running; a `Problem` if it takes too long."""
        if self._waiting >= MOST_QUESTIONS:
            raise busy("too many questions are waiting; ask again a little later", 5)
        self._waiting += 1
        self._asked[about] += 1
        try:
            async with self._turns[about]:
                limited = Limited(function, arguments, self._seconds)
                return await asyncio.get_running_loop().run_in_executor(self._analysts, limited)
        except OverTimeError:
            detail = f"the answer takes longer than {self._seconds:g} seconds: ask for less, or for another prior"
            raise Problem(503, "takes-too-long", detail, {"Retry-After": "60"}) from None
        finally:
            self._waiting -= 1
            self._asked[about] -= 1
            if not self._asked[about]:
                del self._asked[about], self._turns[about]

    def shutdown(self) -> None:
        """End all threads, when what they do is done."""
        for pool in (self._devices, self._operators, self._rounds, self._analysts):
            pool.shutdown()


def _in_context(function: Callable[..., T]) -> Callable[..., T]:
    """A function that runs with the context variables of this moment: the writer looks there for the note."""
    return partial(contextvars.copy_context().run, function)


class Limited:
    """A call that is interrupted by an `OverTimeError` after some seconds, at the next step of Python."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float) -> None:
        self._function, self._arguments, self._seconds = function, arguments, seconds
        self._lock = threading.Lock()
        self._thread: int | None = None

    def __call__(self) -> Any:
        self._thread = threading.get_ident()
        timer = threading.Timer(self._seconds, self._interrupt)
        timer.daemon = True
        timer.start()
        try:
            return self._function(*self._arguments)
        finally:
            timer.cancel()
            with self._lock:
                self._thread = None

    def _interrupt(self) -> None:
        with self._lock:
            if self._thread is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._thread), ctypes.py_object(OverTimeError)
                )
