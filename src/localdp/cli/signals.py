"""Ctrl-C, SIGTERM and SIGHUP: the command stops, removes what it has not finished, and shows no traceback.

A signal that the shell told the process to ignore, as `nohup` does with SIGHUP, stays ignored.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that end a command."""


_received: list[int] = []


def received() -> int:
    """The number of the signal that ended the command; that of Ctrl-C if none was recorded."""
    return _received[0] if _received else signal.SIGINT


@contextmanager
def quiet_while_importing() -> Iterator[None]:
    """Let signals end the process at once while modules are imported: there is nothing to remove yet."""
    heard = [number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
    for number in heard:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in heard:
        signal.signal(number, _stop)
    sys.unraisablehook = _forget_signals


def _stop(number: int, _frame: FrameType | None) -> None:
    _received.append(number)
    signal.signal(number, signal.SIG_DFL)  # whoever sends it twice does not want to wait
    raise KeyboardInterrupt  # passes through everything, as for Ctrl-C, so that unfinished files are removed


def _forget_signals(unraisable: Any) -> None:
    """Python reports errors that nobody can catch; a signal that arrives in such a place is not worth a report."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
