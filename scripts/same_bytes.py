"""Digests of what must not change from one version to the next: documents, files, reports and seeded results.

    python scripts/same_bytes.py > before        # with the old version on the path
    python scripts/same_bytes.py --against before  # with the new one: prints what differs, and ends with 1 if anything

Every artefact is one line: its name and the SHA-256 of its bytes. Numbers of results are compared to 9 digits, so that
another processor gives the same lines. A new kind of thing that must stay is one function here, which yields names and
bytes, in `ARTEFACTS`.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import localdp as ldp
from localdp.client.record import Record
from localdp.item_sets import ItemSets
from localdp.sets import Survey, SurveyClient

Artefact = tuple[str, bytes]
DEVICES = 12
WORDS = ["tea", "coffee", "hot chocolate", "milk", "https://example.org/tea", "https://example.org/coffee"]
ITEMS = ["tea", "milk", "bread", "rice", "soap", "beans", "beer"]
BASKETS = [["tea", "milk"], ["milk"], ["bread", "milk", "tea"], [], ["rice", "beans", "soap"], ["beer"]]


def rounded(numbers: Any) -> bytes:
    """Numbers to 9 digits, as text."""
    return " ".join(f"{number:.9g}" for number in np.ravel(numbers).tolist()).encode()


def discoveries() -> Iterator[tuple[str, Any, Any]]:
    """Discoveries with the values of their users."""
    rng = np.random.default_rng(7)
    keys = np.where(rng.random(30_000) < 0.6, 40_000, rng.integers(0, 1 << 16, 30_000))
    words = rng.choice(WORDS, 30_000, p=[0.4, 0.3, 0.1, 0.1, 0.06, 0.04]).tolist()
    yield "keys", ldp.Discovery(bits=16, epsilon=4.0, users=30_000, top=3), keys
    yield "words", ldp.Discovery(epsilon=3.0, users=30_000, top=4, name="words"), words
    yield "addresses", ldp.Discovery(epsilon=4.0, users=30_000, top=4, most_bytes=40, rounds=7), words


def surveys() -> Iterator[tuple[str, Any, Any]]:
    """Surveys of sets with the sets of their users."""
    for name, largest, other in (("items", 1, None), ("itemsets", 3, "something else")):
        domain = ldp.Domain(ITEMS, other)
        yield name, Survey(domain, epsilon=3.0, users=12_000, top=3, largest=largest, name=name), BASKETS * 2_000


def stages(study: Any, values: Any) -> Iterator[Any]:
    """A study in all its states, where everybody answers every round."""
    while not study.done:
        yield study
        asked = study.round
        if isinstance(study, Survey):
            reports = asked.privatize(ItemSets.read(values, study.domain), seed=study.number)
        else:
            cells = asked.candidates.indices(study.code.encode(values))
            reports = asked.plan.privatize_indices(cells, seed=study.number)
        study = study.advance(asked.plan.aggregate(reports), asked)
    yield study


def of_stages(name: str, study: Any, values: Any, folder: Path) -> Iterator[Artefact]:
    """Documents, states, fingerprints and the result of one study."""
    yield f"{name} document", study.to_json().encode()
    for stage in stages(study, values):
        stage.save(folder / "state")
        yield f"{name} state {stage.number}", (folder / "state").read_bytes()
        assert type(study).load(folder / "state").fingerprint == study.fingerprint  # noqa: S101
        if not stage.done:
            yield f"{name} round {stage.number}", stage.round.to_json().encode()
            yield f"{name} round {stage.number} fingerprint", stage.round.fingerprint.encode()
            yield f"{name} shown {stage.number}", f"{stage!r} {stage.round!r}".encode()
        else:
            yield from of_result(name, stage.result())


def of_result(name: str, found: Any) -> Iterator[Artefact]:
    """What was found, as data and as people see it."""
    yield f"{name} items", repr(found.items).encode()
    yield f"{name} frequencies", rounded(found.frequencies)
    yield f"{name} chances", rounded(found.probabilities)
    yield f"{name} interval", rounded(found.interval(0.8))
    yield f"{name} printed", f"{found} {found!r} {found.notes}".encode()


def store(folder: Path, number: int) -> Path:
    """The store of a device whose secret is known."""
    folder.mkdir(mode=0o700)
    data = Record(1, hashlib.sha256(f"device {number}".encode()).digest(), {}).to_bytes()
    for name in ("device", "device.copy"):
        (folder / name).write_bytes(data)
    return folder


def files_in(folder: Path) -> bytes:
    """The names and the contents of all files of a store, but for those that hold a moment."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in ("pause", "diary"))
    return b"".join(f"\n{path.relative_to(folder)}\n".encode() + path.read_bytes() for path in found)


def devices(name: str, study: Any, values: Any, folder: Path) -> Iterator[Artefact]:
    """The reports of devices with known secrets, and what is in their stores afterwards."""
    sets = isinstance(study, Survey)
    text, rounds = study.to_json(), [stage.round for stage in stages(study, values) if not stage.done]
    for number in range(DEVICES):
        here = store(folder / f"{name}{number}", number)
        sent: list[bytes] = []

        def upload(body: bytes, upload_id: bytes, sent: list[bytes] = sent) -> int:
            sent.append(upload_id + body)
            return 503 if len(sent) == 1 else 201

        if sets:
            client: Any = SurveyClient(text, store=here)
            drawn = client.group
        else:
            client = ldp.DiscoveryClient(text, store=here, upload=upload)
            drawn = client.place
        yield f"{name} device {number} drawn", str(drawn).encode()
        for asked in rounds:
            report = client.report(values[number * 37], asked.to_json())
            yield f"{name} device {number} round {asked.number}", b"none" if report is None else report
            if report is not None and not sets:
                client.send(values[number * 37], asked.to_json())
        yield f"{name} device {number} sent", b"\n".join(sent)
        yield f"{name} device {number} store", files_in(here)
        yield f"{name} device {number} spent", f"{client.spent} {client!r}".encode()


def studies() -> Iterator[Artefact]:
    """Discoveries and surveys of sets."""
    with tempfile.TemporaryDirectory() as folder:
        for kind in (discoveries, surveys):
            for name, study, values in kind():
                full = f"{kind.__name__} {name}"
                yield from of_stages(full, study, values, Path(folder))
                yield from devices(full, study, values, Path(folder))


def results() -> Iterator[Artefact]:
    """Whole discoveries and surveys with a seed."""
    for name, study, values in discoveries():
        bits = 16 if name == "keys" else None
        found = ldp.discover(values, epsilon=study.epsilon, top=study.top, bits=bits, seed=5)
        yield from of_result(f"discover {name}", found)
    yield from of_result("survey", ldp.sets.survey(BASKETS * 2_000, ITEMS, epsilon=2.0, top=3, seed=5))
    yield from of_result("itemsets", ldp.sets.itemsets(BASKETS * 2_000, ITEMS, epsilon=3.0, top=4, seed=5))


def clients() -> Iterator[Artefact]:
    """The reports of ordinary clients with known secrets, and their stores."""
    plans = {
        "one": (ldp.Plan(ITEMS, epsilon=1.0), ["tea", "soap", "tea"]),
        "sets": (ldp.Plan(ITEMS, epsilon=2.0, set_size=2), [["tea", "milk"], [], ["soap"]]),
        "other": (ldp.Plan(ITEMS, "llh", 1.0, other="else"), ["tea", "unheard of"]),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, (plan, values) in plans.items():
            for number in range(DEVICES):
                here = store(Path(folder) / f"{name}{number}", number)
                client = ldp.Client(plan, store=here)
                yield f"client {name} {number}", b"".join(client.report(value) for value in values)
                yield f"client {name} {number} store", files_in(here)


def every_plan() -> Iterator[tuple[str, ldp.Plan, Any]]:
    """Plans of every mechanism, with catch-alls, chains and sets, and the values of their users."""
    rng = np.random.default_rng(3)
    values = rng.integers(0, 20, 500)
    sets = [sorted(set(rng.integers(0, 20, size).tolist())) for size in rng.integers(0, 5, 500)]
    for mechanism in ("grr", "sue", "oue", "ss", "olh", "blh", "llh", "hr", "dbit", "auto"):
        yield mechanism, ldp.Plan(20, mechanism, 0.5, **({"answers": 3} if mechanism == "dbit" else {})), values
    for mechanism in ("grr", "sue", "oue", "oue+sue", "sue+oue", "auto"):
        yield f"{mechanism} once", ldp.Plan(20, mechanism, 2.0, once=1.0), values
    for mechanism in ("grr", "oue", "ss", "llh", "privset", "auto"):
        yield f"{mechanism} of sets", ldp.Plan(20, mechanism, 2.0, set_size=3), sets
    yield "catch-all", ldp.Plan(ITEMS, epsilon=1.0, other="else"), rng.choice([*ITEMS, "cocoa"], 500).tolist()
    yield "numbered catch-all", ldp.Plan(20, epsilon=1.0, other=7), values
    yield "numbers", ldp.Plan([3, 2.5, True, "tea"], epsilon=3.0), [3, 2.5, True, "tea"] * 100


def plans() -> Iterator[Artefact]:
    """Documents, seeded reports, saved aggregates and estimates of plans."""
    for name, plan, values in every_plan():
        yield f"plan {name}", plan.to_json().encode()
        yield f"plan {name} shown", f"{plan!r} {plan.why} {plan._repr_html_()}".encode()
        assert ldp.Plan.from_json(plan.to_json()).fingerprint == plan.fingerprint  # noqa: S101
        reports = plan.privatize(values, seed=11)
        yield f"plan {name} reports", reports.to_bytes() + reports.to_json().encode()
        aggregate = plan.aggregate(reports)
        yield f"plan {name} aggregate", aggregate.to_bytes()
        estimate = aggregate.estimate()
        yield f"plan {name} estimate", rounded(estimate.frequencies) + f" {estimate.variance!r} {estimate!r}".encode()
        laws = (estimate.excess_variance, estimate.total, estimate.probabilities)
        yield f"plan {name} noise", f"{laws} {estimate.significance_threshold()!r}".encode()


def simulations() -> Iterator[Artefact]:
    """Seeded aggregates of frequencies."""
    for mechanism in ("grr", "sue", "oue", "ss", "llh", "hr", "dbit", "blh"):
        plan = ldp.Plan(50, mechanism, 0.5, **({"answers": 2} if mechanism == "dbit" else {}))
        yield f"simulated {mechanism}", plan.simulate(np.arange(50) * 3, seed=5).to_bytes()


ARTEFACTS = (plans, simulations, studies, results, clients)


def lines() -> Iterator[str]:
    for artefacts in ARTEFACTS:
        for name, data in artefacts():
            yield f"{hashlib.sha256(data).hexdigest()}  {name}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, help="the lines of the other version")
    given = parser.parse_args()
    found = list(lines())
    if given.against is None:
        print("\n".join(found))
        return 0
    before = given.against.read_text("utf-8").splitlines()
    changed = sorted({line.split("  ", 1)[1] for line in set(before) ^ set(found)})
    print("\n".join([*changed, f"{len(found)} artefacts, {len(changed)} differ from {given.against}"]))
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
