"""Throw damaged plans, batches, aggregates and data files at the library, and see that it answers with its own errors.

    python audits/fuzz.py [cases of each kind] [seed]              # 100,000 and 0 if not given
    python audits/fuzz.py --worker data_files 0 17 18              # case 17 of seed 0 again, in this process

Every case starts from something valid and is damaged at random: bytes altered, cut, repeated or inserted, JSON values
replaced by hostile ones, checksums made to fit. The library must answer within ten seconds, with a `LocalDPError` of
one line and at most 1,000 characters, or with a result that holds what was read: what is written again is the same,
and a file gives the number of reports that it has. Anything else is a finding, and so is a process that dies.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

import localdp as ldp
from localdp import files

CASES = 100_000
LONGEST_MESSAGE = 1_000  # characters
LONGEST_SECONDS = 10.0
LONGEST_START = 120.0  # seconds until a process begins with its first case, on a busy machine
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 (a folder with a random name is made in it)

HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 16, 17, 2**31, 2**32, 2**53, 2**64, 10**310, -(10**40), 0.1, 1e-300, 1e308, -0.0,
    "", "x", "\x00", "a" * 5000, "NaN", "é", "1", "\ud800", [], [[]], {}, {"items": []}, {"size": 3}, {"size": 10**310},
    ["a"] * 50, "llh", "auto", "ss", "localdp-plan/1", "localdp-plan/2",
)  # fmt: skip
RUNS = (b"[", b"{", b'"', b"9", b"\0", b"\xff", b"\n", b",", b"A", b'{"a":')
MECHANISMS = (("grr", 1.0), ("oue", 4.0), ("ss", 0.5), ("olh", 2.0), ("llh", 1.0), ("hr", 0.5), ("auto", 8.0))


class WrongResultError(AssertionError):
    """The library accepted something, and what came out is not what went in."""


@cache
def plans_to_damage() -> list[ldp.Plan]:
    """Small plans of every kind of domain and mechanism."""
    domains: tuple[Any, ...] = (["tea", "coffee", "water"], 12, ["a", 1, 2.5, "é\U0001f600", False])
    made = [ldp.Plan(domain, name, epsilon) for domain in domains for name, epsilon in MECHANISMS]
    return [*made, ldp.Plan(["tea", "coffee"], "grr", 1.0, other="something else"), ldp.Plan(9, "oue", 1.0, other=8)]


@cache
def reports_to_damage() -> list[tuple[ldp.Plan, ldp.Reports]]:
    """Reports of twenty users under each plan."""
    rng = np.random.default_rng(0)
    return [(plan, plan.privatize_indices(rng.integers(0, plan.domain.size, 20), seed=1)) for plan in plans_to_damage()]


@cache
def aggregates_to_damage() -> list[bytes]:
    """Saved aggregates."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        paths = [Path(folder) / f"{number}.agg" for number in range(len(reports_to_damage()))]
        for path, (plan, reports) in zip(paths, reports_to_damage(), strict=True):
            plan.aggregate(reports).save(path)
        return [path.read_bytes() for path in paths]


@cache
def files_to_damage() -> list[tuple[ldp.Plan, str, bytes]]:
    """Files of twenty reports and of twenty values, in two batches or row groups where the format has them."""
    return list(_written())


def _written() -> Iterator[tuple[ldp.Plan, str, bytes]]:
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder = Path(name)
        for plan, reports in reports_to_damage():
            for ending in ("csv", "parquet", "arrow", "csv.gz"):
                path = folder / f"reports.{ending}"
                with files.reports_writer(path, plan, replace=True) as write:
                    write(reports[:12])
                    write(reports[12:])
                yield plan, path.name, path.read_bytes()
        for plan, columns in (
            (plans_to_damage()[0], {"item": ["tea", "water", "tea", "milk"] * 5}),
            (plans_to_damage()[7], {"user": list(range(20)), "item": [3, 0, 11, 12, 7] * 4}),
        ):
            for ending in ("csv", "parquet", "arrow", "csv.gz"):
                path = folder / f"values.{ending}"
                files.write_table(ldp.Table(columns), path, replace=True)
                yield plan, path.name, path.read_bytes()


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The bytes with one to four things wrong."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        where = rng.randrange(len(changed) + 1)
        kind = rng.randrange(7)
        if kind == 0 and where < len(changed):
            changed[where] = rng.randrange(256)
        elif kind == 1 and where < len(changed):
            changed[where] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del changed[where:]
        elif kind == 3:
            del changed[where : where + rng.randint(1, 16)]
        elif kind == 4:
            changed[where:where] = rng.randbytes(rng.randint(1, 16))
        elif kind == 5:
            start = rng.randrange(len(changed) + 1)
            changed[where:where] = changed[start : start + rng.randint(1, 64)]
        elif rng.random() < 0.2:
            changed[where:where] = rng.choice(RUNS) * rng.randint(1, 5_000)
    return bytes(changed)


def replaced(document: Any, rng: random.Random) -> Any:
    """A JSON value in which some part, at any depth, is another value."""
    if rng.random() < 0.15 or not isinstance(document, dict | list) or not document:
        return rng.choice(HOSTILE)
    if isinstance(document, list):
        place = rng.randrange(len(document))
        return [*document[:place], replaced(document[place], rng), *document[place + 1 :]]
    key = rng.choice(list(document))
    choice = rng.random()
    if choice < 0.1:
        return {name: value for name, value in document.items() if name != key}
    if choice < 0.2:
        return {**document, rng.choice(["extra", "", "items", "size", "other"]): rng.choice(HOSTILE)}
    return {**document, key: replaced(document[key], rng)}


def plans(rng: random.Random, _: Path) -> None:
    """Documents that are not plans; one that is read must be written alike, and must give a report."""
    text, choice = rng.choice(plans_to_damage()).to_json(), rng.random()
    if choice < 0.6:
        document = replaced(json.loads(text), rng)
        if choice < 0.2 and isinstance(document, dict):
            document = replaced(document, rng)
        given = json.dumps(document, sort_keys=rng.random() < 0.5, ensure_ascii=True).encode()
    else:
        given = damaged(text.encode(), rng)
    plan = ldp.Plan.from_json(given)
    if json.loads(plan.to_json()) != json.loads(given):
        raise WrongResultError(f"{given[:80]!r} was read as another plan")
    if plan.mechanism.report_bytes < 1 << 12 and len(plan.privatize_indices(np.zeros(1, np.int64), seed=1)) != 1:
        raise WrongResultError("a plan gave no report")


def binary_batches(rng: random.Random, _: Path) -> None:
    """Bytes that are not a batch; those that are read must be written alike."""
    plan, reports = rng.choice(reports_to_damage())
    data = reports.to_bytes()
    if rng.random() < 0.5:
        given = damaged(data, rng)
    else:  # a header that is right, and any bytes as reports
        rows = damaged(data[24:], rng)
        count = len(rows) // plan.mechanism.report_bytes
        given = data[:20] + struct.pack("<I", count) + rows[: count * plan.mechanism.report_bytes]
    if plan.read(given).to_bytes() != given:
        raise WrongResultError(f"{given[:40]!r} was read as another batch")


def json_batches(rng: random.Random, _: Path) -> None:
    """Text that is not a batch; what is read must be written alike."""
    plan, reports = rng.choice(reports_to_damage())
    text = reports.to_json()
    batch, choice = json.loads(text), rng.randrange(3)
    given: str | bytes = damaged(text.encode(), rng) if choice == 0 else json.dumps(replaced(batch, rng))
    if choice == 1:  # base64 that is right, of any bytes
        rows = [base64.b64encode(damaged(row.tobytes(), rng) if rng.random() < 0.1 else row) for row in reports.rows]
        given = json.dumps({**batch, "reports": [row.decode() for row in rows]})
    found = plan.read(given)
    if json.loads(found.to_json()) != json.loads(given):
        raise WrongResultError(f"{given[:40]!r} was read as another batch")
    plan.aggregate(found).estimate()


def aggregates(rng: random.Random, folder: Path) -> None:
    """Files that are not an aggregate, three quarters of them with a checksum that fits."""
    content, change = rng.choice(aggregates_to_damage()), rng.choice((None, damaged, _another_header, _other_counts))
    if change is None:
        content = damaged(content, rng)
    else:
        content = change(content[:-32], rng)
        content += hashlib.sha256(content).digest()
    path = folder / "some.agg"
    path.write_bytes(content)
    found = ldp.Aggregate.load(path)
    if found.counts.min() < 0 or found.counts.max() > found.n:
        raise WrongResultError(f"counts from {found.counts.min()} to {found.counts.max()} of {found.n} reports")
    if found.n:
        found.estimate()


def _other_counts(content: bytes, rng: random.Random) -> bytes:
    (length,) = struct.unpack_from("<I", content, 8)
    return content[: 12 + length] + damaged(content[12 + length :], rng)


def _another_header(content: bytes, rng: random.Random) -> bytes:
    (length,) = struct.unpack_from("<I", content, 8)
    header = json.dumps(replaced(json.loads(content[12 : 12 + length]), rng)).encode()
    return content[:8] + struct.pack("<I", len(header)) + header + content[12 + length :]


def data_files(rng: random.Random, folder: Path) -> None:
    """Files of reports and of values that are damaged anywhere, and must not be read as another number of them."""
    plan, name, content = rng.choice(files_to_damage())
    given = damaged(content, rng)
    path = folder / name
    path.unlink(missing_ok=True)  # so that a file is not changed while a part of it may still be mapped
    path.write_bytes(given)
    if name.startswith("values"):
        column = None if plan.domain.size == 3 else "item"
        pieces = list(files.indices(path, column, plan.domain))
        if any(piece.min(initial=0) < files.UNKNOWN or piece.max(initial=0) >= plan.domain.size for piece in pieces):
            raise WrongResultError("an index is outside the domain")
        found = sum(map(len, pieces))
    else:
        found = sum(plan.aggregate(reports).n for reports in files.read_reports(path, plan))
    holds = _lines(given) if name.endswith(".csv") else _lines(gzip.decompress(given)) if name.endswith(".gz") else 20
    if found != holds:
        raise WrongResultError(f"{name} was read as {found} rows, and holds {holds}")


def _lines(text: bytes) -> int:
    """The rows after the first line, without empty ones at the end. A line break between quotes ends no row."""
    body = _without_quoted(text).partition(b"\n")[2].rstrip(b"\r\n")
    return body.count(b"\n") + 1 if body else 0


def _without_quoted(text: bytes) -> bytes:
    """CSV with "" for every quoted cell. A quote opens at the beginning of a cell only, and "" inside is a quote."""
    return re.sub(rb'(^|[,;\t\n])"(?:[^"]|"")*"', rb'\1""', text)


KINDS: dict[str, Callable[[random.Random, Path], None]] = {
    function.__name__: function for function in (plans, binary_batches, json_batches, aggregates, data_files)
}


def finding(kind: str, seed: int, case: int, folder: Path) -> str | None:
    """Run one case; what is wrong with the answer, or None."""
    rng = random.Random(f"{kind} {seed} {case}")  # noqa: S311 (nothing secret)
    started = time.perf_counter()
    wrong = None
    try:
        KINDS[kind](rng, folder)
    except ldp.LocalDPError as error:
        if len(str(error)) > LONGEST_MESSAGE or len(str(error).splitlines()) != 1:
            wrong = f"a message of {len(str(error))} characters, {len(str(error).splitlines())} lines: {error!r:.80}"
    except Exception as error:
        wrong = f"{type(error).__name__}: {error!s:.200}"
    seconds = time.perf_counter() - started
    if wrong is None and seconds > LONGEST_SECONDS:
        wrong = f"took {seconds:.1f} s"
    return wrong and f"{kind} {seed} {case}: {wrong}"


def run(
    kind: str, seed: int, cases: range, begun: Callable[[int], object] | None = None, place: str | None = MEMORY
) -> Iterator[str]:
    """Run cases in this process and yield the findings.

    `begun` is told each case before it starts. Files are put in a temporary folder at `place`.
    """
    files_to_damage()  # compiles what has to be compiled, so that no case waits for it
    with tempfile.TemporaryDirectory(dir=place) as folder:
        for case in cases:
            if begun is not None:
                begun(case)
            if wrong := finding(kind, seed, case, Path(folder)):
                yield wrong


def worker_command(kind: str, seed: int, cases: range, status: Path) -> list[str]:
    """The command that runs cases in a process of its own."""
    numbers = map(str, (seed, cases.start, cases.stop))
    return [sys.executable, __file__, "--worker", kind, *numbers, str(status)]


def supervise(kind: str, seed: int, cases: range) -> list[str]:
    """Run cases in a process of its own and return the findings. If it dies or hangs, go on after that case."""
    findings: list[str] = []
    while cases:
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            status, printed = Path(folder) / "case", Path(folder) / "findings"
            status.write_bytes(b"")
            with printed.open("wb") as output:
                process = subprocess.Popen(worker_command(kind, seed, cases, status), stdout=output)  # noqa: S603
                answered = _wait(process, status)
            findings += printed.read_text("utf-8", "replace").splitlines()
            if answered and process.returncode == 0:
                return findings
            case = _case(status)
            if case is None:
                return [*findings, f"{kind} {seed}: the process ended before its first case"]
        how = f"the process died with {process.returncode}" if answered else f"no answer in {LONGEST_SECONDS:g} s"
        findings.append(f"{kind} {seed} {case}: {how}")
        cases = range(case + 1, cases.stop)
    return findings


def _wait(process: subprocess.Popen[bytes], status: Path) -> bool:
    """Wait until the process ends; if it hangs in one case, kill it and return False."""
    last, since = _case(status), time.monotonic()
    while True:
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            case, now = _case(status), time.monotonic()
            if case != last:
                last, since = case, now
            elif now - since > (LONGEST_START if case is None else LONGEST_SECONDS + 2):
                process.kill()
                process.wait()
                return False
        else:
            return True


def _case(status: Path) -> int | None:
    """The case that a process has begun; None if it has begun none."""
    octets = status.read_bytes()
    return int.from_bytes(octets, "little") if len(octets) == 8 else None


def _worker(kind: str, seed: str, first: str, stop: str, status: str = os.devnull) -> None:
    """Run cases and print the findings. The case that has begun is kept in the file `status`."""
    # The supervisor removes the folder of `status`, and with it the files of a process that died.
    place = MEMORY if status == os.devnull else str(Path(status).parent)
    with open(status, "wb", buffering=0) as file:  # noqa: PTH123 (a number is written over and over)

        def begun(case: int) -> None:
            if status != os.devnull:
                os.pwrite(file.fileno(), case.to_bytes(8, "little"), 0)

        for wrong in run(kind, int(seed), range(int(first), int(stop)), begun, place):
            print(wrong.encode("unicode_escape").decode(), flush=True)


def fuzz(cases: int = CASES, seed: int = 0) -> bool:
    """Run that many cases of each kind on all processors and print a line for each kind; whether nothing was found."""
    passed, share = True, -(-cases // (os.cpu_count() or 1))
    print(f"Damaged input: {cases:,} cases of each kind, seed {seed}")
    for kind in KINDS:
        started = time.perf_counter()
        with ThreadPoolExecutor() as pool:
            parts = [range(first, min(first + share, cases)) for first in range(0, cases, share)]
            supervised = pool.map(supervise, repeat(kind), repeat(seed), parts)
            found = [wrong for part in supervised for wrong in part]
        passed &= not found
        seconds, verdict = time.perf_counter() - started, f"{len(found)} FINDINGS" if found else "ok"
        print(f"{kind:<16}{cases:>9,} cases{seconds:>7.0f} s  {verdict}", flush=True)
        for wrong in found[:10]:
            print(f"  - {wrong}")
    return passed


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        _worker(*sys.argv[2:])
    else:
        sys.exit(0 if fuzz(*map(int, sys.argv[1:])) else 1)
