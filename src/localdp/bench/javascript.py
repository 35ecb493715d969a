"""How many reports a second the JavaScript client makes in Node, and how long it keeps a page waiting at the most.

Every plan is measured in a process of its own, because the first call is the slowest: nothing is compiled yet then.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import localdp as ldp
from localdp.bench import timing

PROGRAM = Path(__file__).parents[3] / "js" / "bench" / "node.js"
_CASES: tuple[tuple[str, int, float, dict[str, Any]], ...] = (
    ("grr", 100, 1.0, {}),
    ("oue", 100, 1.0, {}),
    ("oue", 1_024, 1.0, {}),
    ("oue", 16_470, 1.0, {}),
    ("oue", 16_470, 4.0, {}),
    ("ss", 16_470, 1.0, {}),
    ("llh", 16_470, 1.0, {}),
    ("oue+sue", 16_470, 2.0, {"once": 1.0}),
)


@dataclass(frozen=True)
class InJavaScript:
    """Milliseconds of one mechanism in Node: of the first parse and report, and the best ones of two ways to report."""

    mechanism: str
    size: int
    epsilon: float
    parse: float
    first: float
    fresh: float
    derived: float


def measure_javascript(rounds: int) -> list[InJavaScript]:
    """Measure every case; nothing if Node or the folder js/ is missing."""
    node = shutil.which("node")
    if node is None or not PROGRAM.exists():
        return []
    return [_measured(node, *case, rounds) for case in _CASES]


def _measured(node: str, name: str, size: int, epsilon: float, options: dict[str, Any], rounds: int) -> InJavaScript:
    plan = ldp.Plan([f"item {number}" for number in range(size)], name, epsilon, **options)
    turn = str(1000 * timing.TURN_SECONDS * rounds)
    line = [node, str(PROGRAM), turn]
    done = subprocess.run(line, check=True, input=plan.to_json(), stdout=subprocess.PIPE, text=True)  # noqa: S603
    return InJavaScript(name, size, epsilon, **json.loads(done.stdout))
