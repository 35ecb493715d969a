"""Nothing but the report may depend on the value: not its length, not the randomness drawn, not the path taken."""

from __future__ import annotations

import inspect
import sys
from itertools import pairwise
from types import FrameType
from typing import Any

import numpy as np

from localdp.checks.failure import require
from localdp.checks.instances import SMALL_SIZES, Kind, instances, telling_values
from localdp.mechanisms import Mechanism
from localdp.randomness.keystream import secure, seeded

_USERS = 500


def check_value_independence(kind: Kind, seed: int = 0) -> None:
    """Same report length, same number of random words and same lines executed for every value; no repeated noise."""
    for mechanism in instances(kind, sizes=(*SMALL_SIZES, 130)):
        mechanism.randomize(np.zeros(_USERS, np.int64), seeded(seed))  # fills caches and makes room, which happens once
        seen = []
        for value in telling_values(mechanism):
            source = seeded(seed)
            with _Tracer(kind) as tracer:
                rows = mechanism.randomize(np.full(_USERS, value, np.int64), source)
            seen.append((value, rows.shape, source.drawn, tracer.lines))
        for (value, *one), (another, *other) in pairwise(seen):
            which = f"for value {another} than for {value}"
            require(one[0] == other[0], f"the report of {mechanism!r} has another length {which}")
            require(one[1] == other[1], f"{mechanism!r} draws another amount of randomness {which}")
            require(one[2] == other[2], f"{mechanism!r} takes another path {which}")
        once, twice = (mechanism.randomize(np.zeros(_USERS, np.int64), secure()).tobytes() for _ in range(2))
        require(once != twice, f"{mechanism!r} repeats its noise under secure randomness")


class _Tracer:
    """Record the lines that run in this library's files and in those of the mechanism."""

    def __init__(self, kind: Kind) -> None:
        self.lines: list[tuple[str, int]] = []
        library = inspect.getfile(Mechanism).rsplit("mechanisms", 1)[0]
        self._files = (library, *{inspect.getfile(base) for base in kind.__mro__ if issubclass(base, Mechanism)})

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
