"""Checks of reports as bytes: they survive the wire, nothing else gets in, and they add up in any order."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from localdp.checks.failure import require
from localdp.checks.instances import Kind, instances
from localdp.errors import ChannelTooLargeError, WireCode, WireError
from localdp.formats import bitstrings
from localdp.plan import Aggregate, Plan


def check_wire(kind: Kind, seed: int = 0) -> None:
    """Reports come back as they were sent, and nothing that is not a report gets in."""
    rng = np.random.default_rng(seed)
    for mechanism in instances(kind, sizes=(2, 5, 8, 70)):
        plan = Plan(mechanism.size, mechanism)
        reports = plan.privatize(rng.integers(0, mechanism.size, 50), seed=seed)
        data = reports.to_bytes()
        for twin in (data, reports.to_json()):
            require(
                np.array_equal(plan.read(twin).rows, reports.rows), f"{mechanism!r} does not survive the wire unchanged"
            )
        malformed = [
            (b"LDPX" + data[4:], WireCode.BAD_MAGIC),
            (data[:4] + bytes(16) + data[20:], WireCode.UNKNOWN_PLAN),
            (data[:-1], WireCode.TRUNCATED),
            (data + b"\0", WireCode.TRAILING_BYTES),
        ]
        if mechanism.report_bits % 8:
            malformed.append((data[:-1] + bytes([data[-1] | 0x80]), WireCode.NONZERO_PADDING))
        for batch, code in malformed:
            _require_refused(plan, batch, code)
        _require_only_known_reports(plan, rng)


def check_merging(kind: Kind, seed: int = 0) -> None:
    """Counts agree with the definition of support, and adding up in any order gives the same aggregate."""
    rng = np.random.default_rng(seed)
    for mechanism in instances(kind, sizes=(2, 5, 33)):
        plan = Plan(mechanism.size, mechanism)
        reports = plan.privatize(rng.integers(0, mechanism.size, 60), seed=seed)
        whole = plan.aggregate(reports)
        defined = [int(mechanism.supports(reports.rows, item).sum()) for item in range(mechanism.size)]
        require(whole.counts.tolist() == defined, f"{mechanism!r} does not count what its reports support")
        for order in permutations((reports[:1], reports[1:20], reports[20:])):
            merged = Aggregate(plan)
            for part in order:
                merged.merge(plan.aggregate(part))
            require(merged == whole, f"{mechanism!r} depends on the order in which aggregates are merged")


def _require_refused(plan: Plan, batch: bytes, code: WireCode) -> None:
    try:
        plan.read(batch)
    except WireError as error:
        require(error.code == code, f"{plan!r} refused a batch as {error.code} that is {code}")
    else:
        require(False, f"{plan!r} accepted a batch that is {code}")


def _require_only_known_reports(plan: Plan, rng: np.random.Generator) -> None:
    """Random bytes are refused, or are a report that the channel lists."""
    mechanism = plan.mechanism
    if mechanism.size > 8:
        return
    try:
        listed = set(bitstrings.to_integers(mechanism.channel().reports).tolist())
    except ChannelTooLargeError:
        return
    for report in rng.integers(0, 1 << 8 * mechanism.report_bytes, 300, dtype=np.uint64):
        rows = bitstrings.from_integers(np.array([report]), 8 * mechanism.report_bytes)
        try:
            mechanism.validate(rows)
            accepted = True
        except WireError:
            accepted = False
        require(accepted == (int(report) in listed), f"{mechanism!r} misjudges the report {int(report):#x}")
