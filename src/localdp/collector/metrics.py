"""What the collector counts about itself, in the text format of Prometheus.

The format is a few lines of text, so no package is needed. Nothing here tells of single plans, because the figures are
open to everybody who can reach the collector.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Mapping

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The upper bounds, in seconds, in which durations are counted."""

COUNTERS = {
    "uploads_stored": "Uploads that were stored and acknowledged.",
    "uploads_repeated": "Uploads that were there already.",
    "uploads_refused": "Uploads that were refused, for any reason.",
    "reports_stored": "Reports in the uploads that were stored.",
    "bytes_stored": "Bytes of the uploads that were stored.",
    "groups": "Transactions that stored uploads.",
    "uploads_folded": "Uploads that were counted.",
    "fold_errors": "Rounds of counting that failed.",
    "storage_errors": "Transactions that failed.",
    "readers_cut": "Connections that were cut because nobody read what was sent.",
    "internal_errors": "Requests that failed because of a mistake in the collector.",
}
DURATIONS = {
    "commit": "How long a transaction that stored uploads took.",
    "fold": "How long it took to count one piece of uploads.",
    "answer": "How long an answer to an analyst took.",
}


class Metrics:
    """Counters that only grow, and durations by size. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters = dict.fromkeys(COUNTERS, 0)
        self._responses: dict[int, int] = {}
        self._durations = {name: [0] * (len(BUCKETS) + 1) for name in DURATIONS}
        self._seconds = dict.fromkeys(DURATIONS, 0.0)

    def add(self, name: str, amount: int = 1) -> None:
        with self._lock:
            self._counters[name] += amount

    def stored(self, reports: int, size: int) -> None:
        """Count an upload that was stored: the hot path, in one go."""
        with self._lock:
            counters = self._counters
            counters["uploads_stored"] += 1
            counters["reports_stored"] += reports
            counters["bytes_stored"] += size

    def response(self, status: int) -> None:
        """Count a response. The event loop alone calls this, so no lock is needed."""
        self._responses[status] = self._responses.get(status, 0) + 1

    def observe(self, name: str, seconds: float) -> None:
        with self._lock:
            self._durations[name][bisect_left(BUCKETS, seconds)] += 1
            self._seconds[name] += seconds

    def value(self, name: str) -> int:
        return self._counters[name]

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """All figures; `gauges` are values of this moment, each with its description."""
        lines: list[str] = []
        with self._lock:
            for name, description in COUNTERS.items():
                lines += _head(f"{name}_total", "counter", description)
                lines.append(f"localdp_{name}_total {self._counters[name]}")
            lines += _head("responses_total", "counter", "Responses by status.")
            lines += [f'localdp_responses_total{{status="{s}"}} {n}' for s, n in sorted(self._responses.items())]
            for name, description in DURATIONS.items():
                lines += _head(f"{name}_seconds", "histogram", description)
                lines += self._histogram(name)
        for name, (description, value) in gauges.items():
            lines += _head(name, "gauge", description)
            lines.append(f"localdp_{name} {value:.15g}")
        return "\n".join(lines) + "\n"

    def _histogram(self, name: str) -> list[str]:
        lines, below = [], 0
        for bound, number in zip((*map(str, BUCKETS), "+Inf"), self._durations[name], strict=True):
            below += number
            lines.append(f'localdp_{name}_seconds_bucket{{le="{bound}"}} {below}')
        return [
            *lines,
            f"localdp_{name}_seconds_sum {self._seconds[name]:.6f}",
            f"localdp_{name}_seconds_count {below}",
        ]


def _head(name: str, kind: str, description: str) -> list[str]:
    return [f"# HELP localdp_{name} {description}", f"# TYPE localdp_{name} {kind}"]
