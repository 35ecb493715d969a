"""Check that only the content of a report depends on the value: not its length, the randomness or the code path."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from itertools import pairwise
from types import FrameType
from typing import Any

import numpy as np

from localdp.checks.failure import require
from localdp.checks.instances import SMALL_SIZES, Kind, instances, telling_values
from localdp.mechanisms import Mechanism
from localdp.randomness.keystream import secure, seeded

_USERS = 500
_Lines = list[tuple[str, int]]  # files and line numbers, in the order of execution


def check_value_independence(kind: Kind, seed: int = 0) -> None:
    """Every value must give the same report length, draw as many random words and execute the same lines.

    Catches side channels: a report that is longer, or takes longer, for some values. It also catches noise that
    repeats although the randomness is secure.
    """
    for mechanism in instances(kind, sizes=(*SMALL_SIZES, 130)):
        mechanism.randomize(np.zeros(_USERS, np.int64), seeded(seed))  # fills caches, which would change the first path
        runs = []
        for value in telling_values(mechanism):
            source = seeded(seed)
            with _Tracer(kind) as tracer:
                rows = mechanism.randomize(np.full(_USERS, value, np.int64), source)
            runs.append(_Run(value, rows.shape, source.drawn, tracer.lines))
        for one, other in pairwise(runs):
            _require_alike(mechanism, one, other)
        once, twice = (mechanism.randomize(np.zeros(_USERS, np.int64), secure()).tobytes() for _ in range(2))
        require(
            once != twice,
            f"{mechanism!r} returned the same {_USERS} reports twice with secure randomness; expected new noise each "
            "time: does it use a fixed seed?",
        )


@dataclass(frozen=True)
class _Run:
    """What can be observed while a mechanism randomizes one value for many users."""

    value: int
    shape: tuple[int, ...]
    words: int
    lines: _Lines


def _require_alike(mechanism: Mechanism, one: _Run, other: _Run) -> None:
    """Nothing observable tells the two values apart."""
    differences = (pair for pair in zip(one.lines, other.lines, strict=False) if pair[0] != pair[1])
    (file, line), (another_file, another_line) = next(differences, (("", 0), ("", 0)))
    for what, found, otherwise in (
        ("returns reports of shape", str(one.shape), str(other.shape)),
        ("draws", f"{one.words} random words", f"{other.words} random words"),
        ("executes", f"{file}:{line}", f"{another_file}:{another_line}"),
        ("executes", f"{len(one.lines)} lines", f"{len(other.lines)} lines"),
    ):
        require(
            found == otherwise,
            f"{mechanism!r} {what} {found} for value {one.value} and {otherwise} for value {other.value}; expected no "
            "difference, since an observer could tell the values apart by it",
        )


class _Tracer:
    """Record the lines that are executed in the files of this library and of the mechanism, while it is entered."""

    def __init__(self, kind: Kind) -> None:
        self.lines: _Lines = []
        library = inspect.getfile(Mechanism).rsplit("mechanisms", 1)[0]
        self._files = (
            library,
            *{file for base in kind.__mro__ if issubclass(base, Mechanism) for file in _files(base)},
        )

    def __enter__(self) -> _Tracer:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(self._files):
            return None
        if event == "line":
            self.lines.append((frame.f_code.co_filename, frame.f_lineno))
        return self._trace


def _files(kind: type) -> set[str]:
    """The files of the methods of a class. A class that was typed into a notebook has some too, unlike its module."""
    methods = (getattr(member, "fget", member) for member in vars(kind).values())
    return {method.__code__.co_filename for method in methods if inspect.isfunction(method)}
