"""Batches of reports as they travel: framing only, the reports themselves are rows of bytes.

    offset  bytes  content
    0       4      "LDP1"
    4       16     the first half of the plan's fingerprint
    20      4      the number of reports, little-endian, at least 1
    24      ...    the reports, each of the length the plan gives, and nothing after

The JSON twin is `{"plan": "<fingerprint>", "reports": ["<base64>", ...]}`. Reading is strict: what is not
exactly this is a `WireError` whose `code` says what is wrong.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from typing import Any

import numpy as np

from localdp import canonical
from localdp.bitstrings import Rows
from localdp.errors import WireCode, WireError

MAGIC = b"LDP1"
_HEADER = struct.Struct("<4s16sI")
LARGEST_BATCH = 2**32 - 1


def pack(fingerprint: str, rows: Rows) -> bytes:
    """A batch in bytes."""
    if rows.shape[0] > LARGEST_BATCH:
        raise WireError(WireCode.WRONG_LENGTH, f"a batch holds at most {LARGEST_BATCH} reports: send several")
    return _HEADER.pack(MAGIC, bytes.fromhex(fingerprint)[:16], rows.shape[0]) + rows.tobytes()


def unpack(data: bytes, fingerprint: str, report_bytes: int) -> Rows:
    """The reports of a batch in bytes: a view of them, which nobody can change."""
    view = memoryview(data)
    if bytes(view[:4]) != MAGIC[: len(view)]:
        raise WireError(WireCode.BAD_MAGIC, "this is not a batch of reports: it does not start with LDP1")
    if len(view) < _HEADER.size:
        raise WireError(WireCode.TRUNCATED, f"the batch ends after {len(view)} bytes, inside its header")
    _, plan, count = _HEADER.unpack(view[: _HEADER.size])
    if plan != bytes.fromhex(fingerprint)[:16]:
        raise WireError(
            WireCode.UNKNOWN_PLAN, f"the batch was made under plan {plan.hex()}..., not {fingerprint[:32]}..."
        )
    if count == 0:
        raise WireError(WireCode.EMPTY_BATCH, "the batch holds no reports")
    body = view[_HEADER.size :]
    if len(body) < count * report_bytes:
        raise WireError(
            WireCode.TRUNCATED,
            f"the batch should hold {count} reports of {report_bytes} bytes, but ends too early",
        )
    if len(body) > count * report_bytes:
        raise WireError(
            WireCode.TRAILING_BYTES, f"the batch goes on {len(body) - count * report_bytes} bytes after the last report"
        )
    return np.frombuffer(body, np.uint8).reshape(count, report_bytes)


def pack_json(fingerprint: str, rows: Rows) -> str:
    """A batch as JSON."""
    reports = [base64.b64encode(row.tobytes()).decode("ascii") for row in rows]
    return json.dumps({"plan": fingerprint, "reports": reports})


def unpack_json(text: str | bytes, fingerprint: str, report_bytes: int) -> Rows:
    """The reports of a batch in JSON."""
    try:
        batch = canonical.loads(text)
    except ValueError as error:
        raise WireError(WireCode.BAD_JSON, f"this is not a batch of reports: {error}") from None
    if not isinstance(batch, dict) or set(batch) != {"plan", "reports"} or not isinstance(batch["reports"], list):
        raise WireError(WireCode.BAD_JSON, 'a batch in JSON is {"plan": "<fingerprint>", "reports": ["<base64>", ...]}')
    if batch["plan"] != fingerprint:
        raise WireError(WireCode.UNKNOWN_PLAN, f"the batch was made under plan {batch['plan']!r}, not {fingerprint}")
    if not batch["reports"]:
        raise WireError(WireCode.EMPTY_BATCH, "the batch holds no reports")
    reports = [decode(report, report_bytes) for report in batch["reports"]]
    return np.frombuffer(b"".join(reports), np.uint8).reshape(len(reports), report_bytes)


def decode(report: Any, report_bytes: int) -> bytes:
    """One report from canonical base64."""
    try:
        data = base64.b64decode(report if isinstance(report, str) else "?", validate=True)
    except (binascii.Error, ValueError):
        data = None
    if data is None or base64.b64encode(data).decode("ascii") != report:
        raise WireError(WireCode.BAD_BASE64, f"{str(report)[:40]!r} is not canonical base64")
    if len(data) != report_bytes:
        raise WireError(WireCode.WRONG_LENGTH, f"a report is {len(data)} bytes long, not {report_bytes}")
    return data
