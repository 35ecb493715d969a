"""Vectors of discoveries: the form, the document of a round, and the cell that a device finds for each value."""

from __future__ import annotations

from typing import Any

import numpy as np

from localdp.discovery import Discovery
from localdp.discovery.codes import Code, Keys, Text, text_code
from localdp.discovery.design import Design
from localdp.discovery.prefixes import Candidates, in_order, prefix_rows
from localdp.discovery.rounds import Round
from localdp.studies.places import PLACES, Span

TEXTS = [
    "", "tea", "teapot", "chicken curry", "0123456789ab", "0123456789AB", "192.168.10.25", "https://docs.python.org/3/",
    "na\u00efve", "\u7535\u5f71", "\u0645\u0631\u062d\u0628\u0627", "\u043f\u0440\u0438\u0432\u0435\u0442",
    "\U0001f602\U0001f44d\U0001f3fd", "iPhone 15 \u624b\u673a", "x" * 40, "\ud800", None,
]  # fmt: skip
KEYS = ["0", "7", "40000", "65535", "65536", "-1", None]
CODES: list[tuple[Code, list[Any]]] = [
    (Text(32), TEXTS),
    (text_code(32), TEXTS),
    (text_code(16, alphabet="0123456789abcdef"), TEXTS),
    (text_code(32, examples=["green tea", "black tea", "white tea"], known=["tea", "milk", "na\u00efve"]), TEXTS),
    (Keys(16), KEYS),
    (Keys(16, known=[40_000, 7]), KEYS),
]


def discovery_vectors() -> list[dict[str, Any]]:
    """For every code: its form, and rounds that ask for the first bits, for later ones, and for whole values only."""
    made = []
    for code, values in CODES:
        held = [int(value) if value is not None and not code.alike else value for value in values]
        study = Discovery.designed(code, 2.0, 100_000, 5, "vectors", Design((40, 30, 30), (9, 7), 0.05))
        rounds = []
        for number, (position, bits) in enumerate(((0, 9), (9, 7), (16, 0))):
            candidates = _candidates(code, held, position, bits)
            asked = Round.make(study.fingerprint, number, candidates, 2.0, Span(0, PLACES), code)
            cells = asked.question.read(held).items.tolist()
            rounds.append({"document": asked.to_json(), "fingerprint": asked.fingerprint, "cells": cells})
        form = {"form": study.to_json(), "fingerprint": study.fingerprint}
        made.append({**form, "values": [_shown(value) for value in values], "rounds": rounds})
    return made


def _candidates(code: Code, values: list[Any], position: int, bits: int) -> Candidates:
    """Every other value as a candidate: open if it goes on behind the position, and bits are asked for."""
    encoded = code.encode(values[::2])
    inside = ~encoded.outside & (encoded.known < 0)
    ended = encoded.lengths <= position
    opened = _rows(code, encoded.rows[inside & ~ended], position) if bits else encoded.rows[:0]
    finished = _rows(code, encoded.rows[inside & ended], position) if position else encoded.rows[:0]
    return Candidates(position, bits, opened, finished, len(code.known))


def _rows(code: Code, rows: np.ndarray, position: int) -> np.ndarray:
    short = np.unique(prefix_rows(rows, position), axis=0) if position else rows[:1, :0]
    padded = np.zeros((len(short), code.row_bytes), np.uint8)
    padded[:, : short.shape[1]] = short
    return padded[in_order(padded)]


def _shown(value: Any) -> Any:
    """A value for JSON: half a character, which no file in UTF-8 can hold, as None, which has the same cell."""
    return None if value == "\ud800" else value
