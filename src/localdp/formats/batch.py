"""Batches: a header and reports, as they are sent. A report is a row of bytes that the mechanism understands.

    offset  bytes  content
    0       4      "LDP1"
    4       16     the first half of the plan's fingerprint
    20      4      the number of reports, little-endian, at least 1
    24      ...    the reports, all of the length that the plan gives, and nothing after them

In JSON a batch is `{"plan": "<fingerprint>", "reports": ["<base64>", ...]}`. Reading is strict: anything else is a
`WireError`, and its `code` gives the reason.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.errors import WireCode, WireError
from localdp.formats import canonical_json
from localdp.types import Rows
from localdp.validation import shown

MAGIC = b"LDP1"
_HEADER = struct.Struct("<4s16sI")
HEADER_BYTES = _HEADER.size
LARGEST_BATCH = 2**32 - 1
_LONGEST_ECHO = 60  # characters of a field in an error: a sender must not fill the receiver's memory or log
_PADDING, _ZERO = ord("="), ord("A")


def pack(fingerprint: str, rows: Rows) -> bytes:
    """A binary batch of these rows."""
    if rows.shape[0] > LARGEST_BATCH:
        raise WireError(WireCode.WRONG_LENGTH, f"a batch holds at most {LARGEST_BATCH} reports: send several")
    return _HEADER.pack(MAGIC, bytes.fromhex(fingerprint)[:16], rows.shape[0]) + rows.tobytes()


def measured(data: bytes, identity: bytes, report_bytes: int) -> int:
    """The number of reports in a binary batch whose header and length are right; 0 for anything else.

    `identity` is the plan's fingerprint as bytes. This takes about a microsecond, and the reports are not looked at.
    """
    count = int.from_bytes(data[20:HEADER_BYTES], "little")
    right = data[:20] == MAGIC + identity[:16] and len(data) == HEADER_BYTES + count * report_bytes
    return count if right else 0


def unpack(data: bytes, fingerprint: str, report_bytes: int) -> Rows:
    """The rows of a binary batch, as a read-only view of `data`."""
    count = measured(data, bytes.fromhex(fingerprint), report_bytes)
    if count == 0:
        raise _not_a_batch(memoryview(data), fingerprint, report_bytes)
    return np.frombuffer(data, np.uint8, offset=HEADER_BYTES).reshape(count, report_bytes)


def _not_a_batch(view: memoryview, fingerprint: str, report_bytes: int) -> WireError:
    """What is wrong with a binary batch whose header or length is not right."""
    if bytes(view[:4]) != MAGIC[: len(view)]:
        return WireError(WireCode.BAD_MAGIC, "this is not a batch of reports: it does not start with LDP1")
    if len(view) < _HEADER.size:
        return WireError(WireCode.TRUNCATED, f"the batch ends after {len(view)} bytes, inside its header")
    _, plan, count = _HEADER.unpack(view[: _HEADER.size])
    if plan != bytes.fromhex(fingerprint)[:16]:
        return WireError(
            WireCode.UNKNOWN_PLAN, f"the batch was made under plan {plan.hex()}..., not {fingerprint[:32]}..."
        )
    if count == 0:
        return WireError(WireCode.EMPTY_BATCH, "the batch holds no reports")
    body = view[_HEADER.size :]
    if len(body) < count * report_bytes:
        return WireError(
            WireCode.TRUNCATED,
            f"the batch should hold {count} reports of {report_bytes} bytes, but ends too early",
        )
    return WireError(
        WireCode.TRAILING_BYTES, f"the batch goes on {len(body) - count * report_bytes} bytes after the last report"
    )


def pack_json(fingerprint: str, rows: Rows) -> str:
    """A batch of these rows in JSON."""
    characters = encode(rows)
    text, length = characters.tobytes().decode("ascii"), characters.shape[1]
    reports = [text[start : start + length] for start in range(0, len(text), length)]
    return json.dumps({"plan": fingerprint, "reports": reports})


def unpack_json(text: str | bytes, fingerprint: str, report_bytes: int) -> Rows:
    """The rows of a batch in JSON."""
    try:
        batch = canonical_json.loads(text)
    except ValueError as error:
        raise WireError(WireCode.BAD_JSON, f"this is not a batch of reports: {error}") from None
    if not isinstance(batch, dict) or set(batch) != {"plan", "reports"} or not isinstance(batch["reports"], list):
        raise WireError(WireCode.BAD_JSON, 'a batch in JSON is {"plan": "<fingerprint>", "reports": ["<base64>", ...]}')
    if batch["plan"] != fingerprint:
        raise WireError(
            WireCode.UNKNOWN_PLAN, f"the batch was made under plan {_echo(batch['plan'])}, not {fingerprint}"
        )
    if not batch["reports"]:
        raise WireError(WireCode.EMPTY_BATCH, "the batch holds no reports")
    return decode(batch["reports"], report_bytes)


def encode(rows: Rows) -> NDArray[np.uint8]:
    """Each row in base64, as a row of ASCII characters.

    All rows are encoded in one call: each is filled with zeros to a multiple of three bytes, and then the characters
    that stand only for filling are replaced by the padding sign.
    """
    count, length = rows.shape
    padding = -length % 3
    triples = np.zeros((count, length + padding), np.uint8)
    triples[:, :length] = rows
    text = bytearray(base64.b64encode(triples.data))
    characters = np.frombuffer(text, np.uint8).reshape(count, text_length(length))
    characters[:, characters.shape[1] - padding :] = _PADDING
    return characters


def decode(reports: list[Any], report_bytes: int) -> Rows:
    """The rows behind a list of canonical base64; `WireError` names the first element that is anything else."""
    length = text_length(report_bytes)
    if all(isinstance(report, str) and len(report) == length and report.isascii() for report in reports):
        characters = np.frombuffer("".join(reports).encode("ascii"), np.uint8).reshape(-1, length)
        rows = decode_characters(characters, report_bytes)
        if rows is not None:
            return rows
    return np.stack([_decode_one(report, report_bytes) for report in reports])


def decode_characters(characters: NDArray[np.uint8], report_bytes: int) -> Rows | None:
    """The rows behind rows of ASCII characters, decoded in one call; None if a row is not canonical base64."""
    padding = -report_bytes % 3
    if padding and (characters[:, -padding:] != _PADDING).any():
        return None
    triples = characters.copy()
    triples[:, characters.shape[1] - padding :] = _ZERO
    try:
        data = base64.b64decode(triples.data, validate=True)
    except binascii.Error:
        return None
    rows = np.frombuffer(data, np.uint8)
    if rows.size != len(characters) * (report_bytes + padding):
        return None
    rows = rows.reshape(len(characters), -1)
    return None if rows[:, report_bytes:].any() else np.ascontiguousarray(rows[:, :report_bytes])


def text_length(report_bytes: int) -> int:
    """The number of base64 characters of a report."""
    return -(-report_bytes // 3) * 4


def _decode_one(report: Any, report_bytes: int) -> Rows:
    """The row behind one report in base64, or the `WireError` that says what is wrong with it."""
    try:
        data = base64.b64decode(report if isinstance(report, str) else "?", validate=True)
    except (binascii.Error, ValueError):
        data = None
    if data is None or base64.b64encode(data).decode("ascii") != report:
        raise WireError(WireCode.BAD_BASE64, f"{_echo(report)} is not canonical base64")
    if len(data) != report_bytes:
        raise WireError(WireCode.WRONG_LENGTH, f"a report is {len(data)} bytes long, not {report_bytes}")
    return np.frombuffer(data, np.uint8)


def _echo(field: Any) -> str:
    """A field as an error shows it. Long text is cut first, and lists and objects are not written out at all."""
    if isinstance(field, dict | list):
        return "an object" if isinstance(field, dict) else "a list"
    return shown(field[:_LONGEST_ECHO] if isinstance(field, str) else field, _LONGEST_ECHO)
