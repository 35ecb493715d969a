"""Checks of reports as bytes: they are read back unchanged, anything else is refused, and order does not matter."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from localdp.checks.failure import require
from localdp.checks.instances import Kind, instances
from localdp.errors import ChannelTooLargeError, WireCode, WireError
from localdp.formats import bitstrings
from localdp.plan import Aggregate, Plan


def check_wire(kind: Kind, seed: int = 0) -> None:
    """Reports must be read back as they were sent, and everything that is not a report must be refused.

    Catches a wrong `report_bits` and a `validate` that accepts impossible reports or refuses possible ones.
    """
    rng = np.random.default_rng(seed)
    for mechanism in instances(kind, sizes=(2, 5, 8, 70)):
        plan = Plan(mechanism.size, mechanism)
        reports = plan.privatize_indices(rng.integers(0, mechanism.size, 50), seed=seed)
        data = reports.to_bytes()
        for twin in (data, reports.to_json()):
            form = "JSON" if isinstance(twin, str) else "binary"
            require(
                np.array_equal(plan.read(twin).rows, reports.rows),
                f"50 reports of {mechanism!r}, written as a {form} batch and read back, have changed; expected the "
                "same bytes",
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
    """Counts must be what `supports` says, and adding up in any order must give the same aggregate.

    Catches a fast `count` that disagrees with `supports`, and counting that depends on how reports are grouped.
    """
    rng = np.random.default_rng(seed)
    for mechanism in instances(kind, sizes=(2, 5, 33)):
        plan = Plan(mechanism.size, mechanism)
        reports = plan.privatize_indices(rng.integers(0, mechanism.size, 60), seed=seed)
        whole = plan.aggregate(reports)
        defined = [int(mechanism.supports(reports.rows, item).sum()) for item in range(mechanism.outcomes)]
        for item, (count, expected) in enumerate(zip(whole.counts.tolist(), defined, strict=True)):
            require(
                count == expected,
                f"{mechanism!r} counts {count} of 60 reports for item {item}; by supports() there are {expected}",
            )
        for order in permutations((reports[:1], reports[1:20], reports[20:])):
            merged = Aggregate(plan)
            for part in order:
                merged.merge(plan.aggregate(part))
            require(
                merged == whole,
                f"{mechanism!r} gives other counts when the reports are counted in three parts and merged; expected "
                "the same as in one part",
            )
        sums = np.zeros(mechanism.partial_size, np.int64)
        for part in (reports[:1], reports[1:20], reports[20:]):
            sums += mechanism.count_partial(part.rows)
        require(
            np.array_equal(mechanism.complete(sums, 60), whole.counts),
            f"{mechanism!r}: complete() of the sums of count_partial() over three parts gives other counts "
            "than count()",
        )


def _require_refused(plan: Plan, batch: bytes, code: WireCode) -> None:
    """Reading the batch raises a `WireError` with this code."""
    expected = f"expected a WireError with the code {code.value!r}"
    try:
        plan.read(batch)
    except WireError as error:
        require(
            error.code == code, f"{plan!r} refused a malformed batch with the code {error.code.value!r}; {expected}"
        )
    else:
        require(False, f"{plan!r} accepted a malformed batch; {expected}")


def _require_only_known_reports(plan: Plan, rng: np.random.Generator) -> None:
    """Of 300 random byte strings, `validate` accepts exactly those that the channel lists as reports."""
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
        known = int(report) in listed
        require(
            accepted == known,
            f"{mechanism!r}: validate() {'accepts' if accepted else 'refuses'} the report {int(report):#x}, which "
            f"channel() {'lists' if known else 'does not list'}; expected it to accept exactly the listed reports",
        )
