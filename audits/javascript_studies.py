"""The statistical audit of devices in studies, in JavaScript: questionnaires, discoveries and surveys of sets.

Every device has a secret of its own. Its place, drawn from the secret, decides whether a part asks it; the reports of
those that are asked are audited as those of a plan are: two values, and the reports that tell their cells apart. How
many are asked must not depend on the value, and follow from the part's span.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audits.javascript import FALSE_ALARMS, FOLDER, NODE
from localdp.checks.audit import FLOOR, lower_bound
from localdp.plan import Plan
from localdp.questionnaires import Questionnaire
from localdp.questions import Choice

_VECTORS = FOLDER.parent / "vectors" / "v1"
_FARTHEST = 6.0  # standard deviations of the number of devices that are asked: passed once in 5e8


@dataclass(frozen=True)
class Part:
    """A part of a study (without a document if the study alone tells it), and two values with different cells."""

    kind: str
    study: str
    document: str | None
    values: tuple[Any, Any]


@dataclass(frozen=True)
class Answered:
    """What devices that all hold one value answered."""

    plan: Plan
    cell: int
    asked: int
    share: float  # of all devices, that the part asks
    batch: bytes


def parts() -> Iterator[Part]:
    """Parts of each kind of study, with two values each: from the golden vectors, and a questionnaire."""
    form = Questionnaire({"diet": Choice(["everything", "vegan"]), "pet": Choice(["cat", "dog"])}, epsilon=2.0)
    yield Part("questionnaire", form.to_json(), None, ({"diet": "vegan"}, {"diet": "everything", "pet": "dog"}))
    for given in json.loads((_VECTORS / "studies.json").read_text("utf-8"))["parts"]:
        document = json.loads(given["part"] or "{}")
        values = [answer["value"] for answer in given["answers"]]
        for kind in ("discovery", "survey"):
            if kind in document and "set_size" not in document["plan"]:
                for other in values[1:]:
                    yield Part(kind, given["study"], given["part"], (values[0], other))


def chosen(folder: Path = FOLDER) -> dict[str, Part]:
    """Of each kind the part that asks the most devices, with values that have different cells."""
    found: dict[str, tuple[float, Part]] = {}
    for part in parts():
        one, other = answers(part, 1, folder)
        if one.cell != other.cell and one.share > found.get(part.kind, (0.0, part))[0]:
            found[part.kind] = (one.share, part)
    return {kind: part for kind, (_, part) in found.items()}


def answers(part: Part, count: int, folder: Path = FOLDER) -> list[Answered]:
    """What `count` devices answer who all hold the first value, and others who all hold the second."""
    assert NODE is not None, "Node is needed here"
    jobs = [
        {"study": part.study, "part": part.document, "value": value, "count": count, "seed": f"{number:016x}"}
        for number, value in enumerate(part.values, 1)
    ]
    command = [NODE, str(folder / "test" / "make_answers.js")]
    made = subprocess.run(command, input=json.dumps(jobs).encode(), stdout=subprocess.PIPE, check=True).stdout  # noqa: S603
    found, at = [], 0
    for _ in jobs:
        end = made.index(b"\n", at)
        said = json.loads(made[at:end])
        plan = Plan.from_json(json.dumps(said["plan"]))
        at = end + 1 + 24 + said["asked"] * plan.mechanism.report_bytes
        found.append(Answered(plan, said["held"], said["asked"], said["share"], made[end + 1 : at]))
    assert at == len(made)
    return found


@dataclass(frozen=True)
class Finding:
    """What the audit of one part has found: what is wrong, or "" if nothing is."""

    kind: str
    plan: Plan
    asked: tuple[int, int]
    bound: float
    wrong: str


def findings(trials: int, folder: Path = FOLDER) -> Iterator[Finding]:
    """Audit a part of each kind of study with about `trials` reports of each of two values."""
    for part in chosen(folder).values():
        count = math.ceil(trials / answers(part, 1, folder)[0].share)
        likely, unlikely = answers(part, count, folder)
        mechanism = likely.plan.mechanism
        hits = []
        for made in (likely, unlikely):
            rows = made.plan.read(made.batch).rows
            supported = mechanism.supports(rows, likely.cell) & ~mechanism.supports(rows, unlikely.cell)
            hits.append(int(supported.sum()))
        bound = lower_bound(hits[0], hits[1], min(likely.asked, unlikely.asked), FALSE_ALARMS / 3)
        spread = math.sqrt(count * likely.share * (1 - likely.share))
        off = max(abs(made.asked - count * likely.share) for made in (likely, unlikely))
        wrong = ""
        if off > _FARTHEST * spread:
            wrong = "another number of devices is asked than the part says"
        elif bound > mechanism.requested_epsilon:
            wrong = "it leaks"
        elif bound < FLOOR * mechanism.requested_epsilon:
            wrong = "it is over-noised"
        yield Finding(part.kind, likely.plan, (likely.asked, unlikely.asked), bound, wrong)


def run(trials: int) -> bool:
    """Print a line for every kind of study; return whether all is as it should be."""
    if NODE is None:
        return True  # the other audit has said so
    print(f"\nDevices in studies, about {trials:,} reports of each of two values:\n")
    passed = True
    for found in findings(trials):
        passed &= not found.wrong
        realised = found.plan.mechanism.epsilon
        asked = f"{found.asked[0]:,} and {found.asked[1]:,} asked"
        name = f"{found.kind}, {found.plan.mechanism.name}"
        print(f"{name:<22}{realised:>20.15f}{found.bound:>10.4f}  {asked:<32}{found.wrong or 'ok'}", flush=True)
    return passed
