"""The state of a discovery as text: what it is, and what its rounds have measured so far, as JSON with a checksum."""

from __future__ import annotations

import os
from typing import Any, TypeVar

import numpy as np

from localdp.discovery.belief import Noise
from localdp.discovery.codes import code_named
from localdp.discovery.design import Design
from localdp.discovery.discovery import FORMAT, Discovery
from localdp.discovery.history import History, Measured
from localdp.errors import ArchiveError, LocalDPError
from localdp.formats import sealed_json

_WHAT = "saved discovery"
Kind = TypeVar("Kind", bound=Discovery)


def save(discovery: Discovery, path: str | os.PathLike[str]) -> None:
    """Write a file with the state of the discovery."""
    sealed_json.save(_state(discovery), path)


def load(kind: type[Kind], path: str | os.PathLike[str]) -> Kind:
    """The discovery in a file, as far as it had come."""
    return from_state(kind, sealed_json.read(path, _WHAT), str(path))


def state_of(discovery: Discovery) -> str:
    """The state of the discovery as text."""
    return sealed_json.sealed(_state(discovery))


def _state(discovery: Discovery) -> dict[str, Any]:
    history = discovery._history
    return {
        "discovery": discovery.document(),
        "round": discovery.number,
        "used": discovery._used,
        "short": discovery._short,
        "over": discovery._over,
        "unfinished": list(discovery._unfinished),
        "history": None if history is None else _written(history),
    }


def from_state(kind: type[Kind], saved: str, name: str = "this text") -> Kind:
    """The discovery with this state. Text that is not one, or was altered, is an `ArchiveError`."""
    state = sealed_json.unsealed(saved, _WHAT, name)
    try:
        start = _started(kind, state["discovery"])
        if state["history"] is None:
            return start
        history = _read(state["history"], start)
        flags = {"short": state["short"], "over": state["over"]}
        return start._at(state["round"], history, state["used"], tuple(state["unfinished"]), **flags)
    except (LocalDPError, KeyError, TypeError, ValueError) as error:
        raise ArchiveError(f"{name} is not a usable discovery: {type(error).__name__} {error}") from None


def _started(kind: type[Kind], document: dict[str, Any]) -> Kind:
    if document["format"] != FORMAT:
        raise ValueError(f"its format is not {FORMAT}")
    planned = document["design"]
    design = Design(tuple(planned["shares"]), tuple(planned["bits"]), planned["reach"])
    code, parts = code_named(document["values"]), (document["users"], document["top"], document["name"])
    return kind.designed(code, document["epsilon"], *parts, design)


def _written(history: History) -> dict[str, Any]:
    return {
        "rows": [row.tobytes().hex() for row in history.rows],
        "position": history.position,
        "estimates": history.estimates.tolist(),
        "since": history.since.tolist(),
        "prior": history.prior.tolist(),
        "rounds": [
            {
                "users": measured.noise.users,
                "variance": measured.noise.variance,
                "excess": measured.noise.excess,
                "theta": measured.theta,
                "extensions": measured.extensions,
            }
            for measured in history.rounds
        ],
    }


def _read(state: dict[str, Any], discovery: Discovery) -> History:
    rounds = tuple(
        Measured(Noise(one["users"], one["variance"], one["excess"]), one["theta"], one["extensions"])
        for one in state["rounds"]
    )
    count = len(state["rows"])
    octets = b"".join(bytes.fromhex(row) for row in state["rows"])
    return History(
        np.frombuffer(octets, np.uint8).reshape(count, discovery.code.row_bytes),
        state["position"],
        np.array(state["estimates"], np.float64).reshape(count, len(rounds)),
        np.array(state["since"], np.int64),
        rounds,
        np.array(state["prior"], np.float64),
    )
