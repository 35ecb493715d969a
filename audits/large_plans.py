"""Audit what a device spends on reading a plan that asks for too much: `python audits/large_plans.py`.

A plan comes from somebody else, and a text of a kilobyte can name four billion items. Whatever it says, it must be
accepted or refused at once, in both languages: with less than 100 MB and, on an idle machine, in less than a second.
Every field of a plan gets numbers at and past every limit, alone and together with the others, also under limits that
the owner of a device has raised as far as they go. Rounds of surveys and of discoveries are read in Python as well.
"""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import localdp as ldp
from localdp.errors import LocalDPError
from localdp.mechanisms import CHAINS, MECHANISMS
from localdp.sets import Survey
from localdp.sets.rounds import Round as SetsRound
from localdp.studies import study_in

LONGEST = 1_024
"""Bytes of a document."""
MOST_MEMORY = 100_000_000
"""Bytes that reading all documents, one after the other, may add to a process."""
MOST_SECONDS = 1.0
"""Of a processor, for one document."""
READER = Path(__file__).parents[1] / "js" / "testing" / "plan_costs.js"

_HUGE = 10**300
_SIZES = (
    2,
    3,
    100_000,
    100_001,
    2**20,
    2**27,
    2**27 + 1,
    2**31,
    2**32 - 65_536,
    2**32 - 1,
    2**32,
    2**32 + 1,
    2**53,
    _HUGE,
)
_EPSILONS = (5e-324, 1e-18, 1e-9, 0.01, 0.5, 4, 16, 1e308, _HUGE)
_SET_SIZES = (1, 2, 256, 257, 2**16, 2**16 + 1, 2**32, _HUGE)
_ANSWERS = (1, 2, 4_096, 4_097, 2**32, _HUGE)
_STRANGE = (
    None,
    True,
    -1,
    0,
    0.5,
    "4294967296",
    [],
    {},
    [[[[[[]]]]]],
    [2**32],
    {"size": 2**32},
    "x" * 500,
    -_HUGE,
    1e308,
)
_NAMES = (*MECHANISMS, *CHAINS, "auto", "nothing")


def documents() -> Iterator[str]:
    """Plans that ask for too much, and things that are no plans, each of at most a kilobyte."""
    for document in _plans():
        text = json.dumps(document, separators=(",", ":"))
        if len(text) <= LONGEST:
            yield text


def _plans() -> Iterator[dict[str, Any]]:
    base = {"format": "localdp-plan/1", "domain": {"size": 2**32}, "epsilon": 0.5, "width": 64, "parameters": {}}
    options: list[dict[str, Any]] = [{}, *({"set_size": size} for size in _SET_SIZES)]
    for name, size, epsilon in product(_NAMES, _SIZES, _EPSILONS):
        for option in options if epsilon in (1e-18, 0.5, 16) else options[:1]:
            yield base | {"mechanism": name, "domain": {"size": size}, "epsilon": epsilon} | option
        if "+" in name or name in ("grr", "sue", "oue", "auto"):
            yield base | {"mechanism": name, "domain": {"size": size}, "epsilon": 4, "once": epsilon}
    for size, answers in product(_SIZES, _ANSWERS):
        yield base | {"mechanism": "dbit", "domain": {"size": size}, "answers": answers}
    for name, key, value in product(_NAMES, (*base, "mechanism", "once", "answers", "set_size", "other"), _STRANGE):
        yield base | {"mechanism": name, key: value}
    for name, key, value in product(_NAMES, ("size", "items", "other", "more"), (*_STRANGE, *_SIZES)):
        yield base | {"mechanism": name, "domain": {"size": 2**32, key: value}}
        yield base | {"mechanism": name, "domain": {key: value}}
    for name, width in product(_NAMES, (1, 63, 65, 2**20, 2**32, _HUGE)):
        yield base | {"mechanism": name, "width": width}
    for name, option in product(_NAMES, options):
        yield base | {"mechanism": name, "domain": {"items": [f"{place}" for place in range(150)]}} | option
        yield base | {"mechanism": name, "domain": {"items": list(range(2**50, 2**50 + 40))}} | option


def valid(step: int = 1) -> Iterator[str]:
    """Plans that this library makes: what is derived from them is right, so nothing but a limit refuses them."""
    options = ({}, {"once": 0.2}, {"answers": 4_096}, {"set_size": 256}, {"set_size": 2**16})
    for name, size, epsilon, option in list(product(_NAMES, _SIZES, _EPSILONS, options))[::step]:
        try:
            text = ldp.Plan(size, name, epsilon, **option).to_json()
        except LocalDPError:
            continue
        if len(text) <= LONGEST:
            yield text


def memory() -> int:
    """The most bytes that this process has held.

    `getrusage` includes, on Linux, what the process held that started this one, so that growth could hide behind it.
    """
    with suppress(FileNotFoundError):
        held = re.search(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
        if held:
            return int(held[1]) * 1_024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1_024)


def measured(texts: list[str], read: Callable[[str], object]) -> dict[str, Any]:
    """What reading these texts took: bytes added to the process, and the longest of all times with its text."""
    longest, slowest, accepted = 0.0, "", 0
    before = memory()
    for text in texts:
        start = time.process_time()
        try:
            read(text)
            accepted += 1
        except LocalDPError:
            pass
        taken = time.process_time() - start
        if taken > longest:
            longest, slowest = taken, text
    return {
        "bytes": memory() - before,
        "seconds": longest,
        "slowest": slowest,
        "accepted": accepted,
        "read": len(texts),
    }


def rounds() -> Iterator[tuple[str, Callable[[str], object]]]:
    """Documents of surveys and discoveries in which one number is too large, each with what reads it."""
    survey, discovery = Survey(2**32, epsilon=2.0, users=10_000), ldp.Discovery(epsilon=4.0, users=100_000)
    read: list[tuple[Any, Callable[[str], object]]] = [
        (survey, study_in),
        (discovery, study_in),
        (discovery.round, type(discovery.round).from_json),
        *((SetsRound.of_sizes("0" * 64, 0, None, size, 2.0), SetsRound.from_json) for size in (100, 2**20, 2**32)),
        *((SetsRound.of_sets("0" * 64, 1, None, 2**31, 2.0, size), SetsRound.from_json) for size in (2, 64)),
    ]
    for made, reads in read:
        for document in _altered(json.loads(made.to_json())):
            yield json.dumps(document), reads


def _altered(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The document with something else in every one of its places, also inside of it."""
    for key, value in document.items():
        yield from (document | {key: other} for other in (*_STRANGE, *_SIZES))
        if isinstance(value, dict):
            yield from (document | {key: inside} for inside in _altered(value))


def in_python(texts: list[str]) -> dict[str, Any]:
    """What Python spends, with the library's own limits, which are the widest."""
    others = dict(rounds())
    ldp.Plan.from_json(ldp.Plan(10, "privset", 1.0, set_size=2).to_json())  # loads what has to be loaded
    return measured([*texts, *others], lambda text: others.get(text, ldp.Plan.from_json)(text))


def in_javascript(texts: list[str]) -> dict[str, Any]:
    """What JavaScript spends, with the limits that pages get, and with all limits raised as far as they go."""
    line = [shutil.which("node") or "node", str(READER)]
    done = subprocess.run(line, input=json.dumps(texts), capture_output=True, text=True, check=True)  # noqa: S603
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    """Print what was spent in each language; return 0 if it was within the bounds."""
    texts, passed = [*documents(), *valid()], True
    for language, measure in (("Python", in_python), ("JavaScript", in_javascript)):
        if language == "JavaScript" and shutil.which("node") is None:
            print("Node is not installed, so plans are not read in JavaScript")
            continue
        found = measure(texts)
        passed &= found["bytes"] < MOST_MEMORY and found["seconds"] < MOST_SECONDS
        print(
            f"{language}: {found['read']:,} documents of up to {LONGEST:,} bytes read, {found['accepted']:,} accepted; "
            f"{found['bytes'] / 1e6:.0f} MB more, at most {found['seconds']:.3f} s for one of them:\n"
            f"    {found['slowest'][:160]}"
        )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
