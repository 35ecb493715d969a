"""Find the top 20 of 2 million users among unlisted keys, words and addresses: our rule and PEM, in one harness.

Keys are drawn from a Zipf distribution with exponent 1.2 over 2^48 or 2^64 keys: the key of rank r is a fixed
scrambling of r, so that keys look random. Words are drawn from the words of `pydoc_data.topics`, the English text of
Python's own help, which comes with every CPython: 2 million users draw a word each, in proportion to how often it
occurs. Addresses are those of the pages of Python's documentation about the modules of its standard library, such as
https://docs.python.org/3/library/collections.html, in proportion to how often the source of that library, as it is
installed, imports the module.

PEM (T. Wang, N. Li and S. Jha, Locally Differentially Private Heavy Hitter Identification, IEEE TDSC 2021) divides the
users into equal groups, asks each for a longer prefix and keeps the candidates with the largest estimates. Its authors
advise as few groups as can be computed; it gets the same 2^22 cells for a round as ours, the same mechanism and the
same code for text. It keeps k candidates, the number that is wanted, and for a second column the best of k, 4k and 16k,
chosen afterwards by the mean F-score, which is more than it could know.

`python benchmarks/discovery.py` writes a section of docs/discovery.md in about an hour on two idle cores. Every run is
kept in benchmarks/.discovery.jsonl as soon as it is done, and a run that is there is not done again, unless the
source has changed. `--kept` writes the table from what is there, without running anything; `--only "words 2"` runs some
lines, `--runs 1 --quick` prints a table for 200,000 users.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import sys
import sysconfig
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import localdp as ldp
from localdp.discovery.codes import Encoded
from localdp.discovery.design import CELLS
from localdp.discovery.huffman import IMPOSSIBLE
from localdp.discovery.prefixes import Candidates, in_order, with_bits
from localdp.discovery.rounds import Round, first_candidates
from localdp.randomness import keystream
from localdp.studies.places import PLACES, Span

PAGE = Path(__file__).parent.parent / "docs" / "discovery.md"
USERS, TOP, EXPONENT = 2_000_000, 20, 1.2
HEAD = 1 << 20  # ranks that are drawn exactly; beyond them the distribution is nearly continuous
KEPT = (1, 4, 16)
RUNS = Path(__file__).with_name(".discovery.jsonl")


class Cell(NamedTuple):
    """One line of the table."""

    values: str
    epsilon: float


CELLS_OF_THE_TABLE = [
    Cell(values, epsilon) for values in ("48", "64", "words", "addresses") for epsilon in (2.0, 1.0, 4.0)
]


def zipf_keys(users: int, bits: int, seed: int) -> np.ndarray:
    """One key for each user."""
    rng = np.random.default_rng(seed)
    ranks = np.arange(1, HEAD + 1) ** -EXPONENT
    power = 1 - EXPONENT
    beyond = ((HEAD + 0.5) ** power - 2.0 ** (bits * power)) / -power
    cumulative = np.cumsum(ranks)
    drawn = rng.random(users) * (cumulative[-1] + beyond)
    rank = np.searchsorted(cumulative, drawn) + 1.0
    far = drawn > cumulative[-1]
    rank[far] = ((HEAD + 0.5) ** power + (drawn[far] - cumulative[-1]) * power) ** (1 / power)
    mixed = rank.astype(np.uint64) + np.uint64(seed << 40)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        mixed = (mixed ^ mixed >> np.uint64(shift)) * np.uint64(factor)
    return mixed >> np.uint64(64 - bits)


def words(users: int, seed: int) -> list[str]:
    """One word for each user, from the text of Python's help."""
    from pydoc_data.topics import topics

    counted = Counter(re.findall(r"[a-z]+", " ".join(topics.values()).lower()))
    names = sorted(counted)
    shares = np.array([counted[name] for name in names], np.float64)
    drawn = np.random.default_rng(seed).choice(len(names), users, p=shares / shares.sum())
    return [names[place] for place in drawn.tolist()]


def imported() -> Counter[str]:
    """How often the source of the standard library imports each of its modules, without private ones and tests."""
    found: Counter[str] = Counter()
    for folder, folders, files in os.walk(sysconfig.get_paths()["stdlib"]):
        folders[:] = [one for one in folders if one not in ("site-packages", "dist-packages", "test", "idlelib")]
        for name in files:
            if name.endswith(".py"):
                text = Path(folder, name).read_text("utf-8", "ignore")
                found.update(re.findall(r"^\s*(?:import|from)\s+([a-zA-Z][\w.]*)", text, re.MULTILINE))
    return Counter({name: n for name, n in found.items() if name.split(".")[0] in sys.stdlib_module_names})


def addresses(users: int, seed: int) -> list[str]:
    """One address for each user."""
    counted = imported()
    names = sorted(counted)
    shares = np.array([counted[name] for name in names], np.float64)
    drawn = np.random.default_rng(seed).choice(len(names), users, p=shares / shares.sum())
    pages = [f"https://docs.python.org/3/library/{name}.html" for name in names]
    return [pages[place] for place in drawn.tolist()]


def values_of(cell: Cell, users: int, seed: int) -> Any:
    """The values of all users."""
    if cell.values in ("words", "addresses"):
        return (words if cell.values == "words" else addresses)(users, seed)
    return zipf_keys(users, int(cell.values), seed)


def options_of(cell: Cell) -> dict[str, int]:
    """How the kind of values is said to the library."""
    if cell.values == "addresses":
        return {"most_bytes": 64}
    return {} if cell.values == "words" else {"bits": int(cell.values)}


def pem_bits(total: int, kept: int) -> list[int]:
    """The bits of each round of PEM: as many as fit into the cells."""
    bits, most = [CELLS.bit_length() - 2], (CELLS - 1) // kept
    while sum(bits) < total:
        bits.append(min(most.bit_length() - 1, total - sum(bits)))
    return bits


def pem(discovery: ldp.Discovery, encoded: Encoded, kept: int, seed: int) -> list[Any]:
    """The items that PEM finds if it keeps this number of candidates in every round."""
    code, source = discovery.code, keystream.seeded(seed)
    bits = pem_bits(sum(discovery.design.bits), kept)
    groups = source.below(len(bits), len(encoded))
    candidates = first_candidates(code, bits[0])
    for number in range(len(bits)):
        current = Round.make("00" * 32, number, candidates, discovery.epsilon, Span(0, PLACES))
        part = encoded[np.flatnonzero(groups == number)]
        rows = current.plan.mechanism.privatize(candidates.indices(part), source.branch())
        aggregate = ldp.Aggregate(current.plan, current.plan.mechanism.tally(rows), len(part))
        following = bits[number + 1] if number + 1 < len(bits) else 0
        candidates, largest = extended(code, candidates, aggregate.estimate().frequencies, kept, following)
    position = candidates.position
    found = [code.decode(row.tobytes(), position) for row in largest]
    return [item for item in found if item is not None][:TOP]


def extended(
    code: Any, candidates: Candidates, estimates: np.ndarray, kept: int, following: int
) -> tuple[Candidates, np.ndarray]:
    """The candidates with the largest estimates, for the next round, and their rows, the largest first."""
    count, bits = len(candidates.open), candidates.bits
    states = [code.extended(code.state_of(row.tobytes(), candidates.position), bits) for row in candidates.open]
    ends = np.concatenate(states) if states else np.zeros(0, np.int16)
    usable = np.append(ends != IMPOSSIBLE, np.ones(len(candidates.finished), np.bool_))
    scores = np.where(usable, estimates[:-1], -np.inf)
    best = np.argsort(-scores, kind="stable")[:kept]
    parents = np.concatenate([candidates.open, candidates.finished])
    inside = best < count << bits
    parent = np.where(inside, best >> bits, count + best - (count << bits))
    extension = np.where(inside, best & ((1 << bits) - 1), 0)
    rows = with_bits(parents[parent], candidates.position, extension, bits, code.row_bytes)
    position = candidates.position + bits
    final = np.ones(len(best), np.bool_)
    final[inside] = code.is_final(ends[best[inside]], position)
    opened, finished = rows[~final], rows[final]
    opened, finished = opened[in_order(opened)], finished[in_order(finished)]
    return Candidates(position, following if len(opened) else 0, opened, finished), rows


def scores(found: list[Any], true: set[Any]) -> tuple[float, float, float]:
    """Precision, recall and F-score."""
    hits = len(true & set(found))
    precision, recall = hits / max(len(found), 1), hits / len(true)
    return precision, recall, 2 * hits / (len(found) + len(true))


def run(cell: Cell, users: int, seed: int) -> dict[str, float]:
    """One run of both."""
    values = values_of(cell, users, seed)
    counted = Counter(values if isinstance(values, list) else values.tolist())
    true = {item for item, _ in counted.most_common(TOP)}
    start = time.perf_counter()
    found = ldp.discover(values, epsilon=cell.epsilon, top=TOP, seed=seed, **options_of(cell))
    seconds = time.perf_counter() - start
    low, high = found.interval(0.9)
    inside = [low[place] <= counted[item] <= high[place] for place, item in enumerate(found.items)]
    measured = dict(zip(("precision", "recall", "ours"), scores(found.items, true), strict=True))
    measured |= {"seconds": seconds, "inside": float(np.mean(inside)) if inside else float("nan")}
    measured["GiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{cell.values}, epsilon {cell.epsilon:g}, run {seed}: {', '.join(map(str, found.items[:5]))}, ..", flush=True
    )
    discovery = ldp.Discovery(epsilon=cell.epsilon, users=users, top=TOP, **options_of(cell))
    encoded = discovery.code.encode(values)
    for times in KEPT:
        measured[f"pem {times}"] = scores(pem(discovery, encoded, times * TOP, seed), true)[2]
    return measured


def line(cell: Cell, runs: list[dict[str, float]]) -> str:
    """One line of the table."""
    mean = {key: float(np.nanmean([one[key] for one in runs])) for key in runs[0]}
    best = max(mean[f"pem {times}"] for times in KEPT)
    what = f"{cell.values}-bit keys" if cell.values.isdecimal() else cell.values
    figures = [mean["precision"], mean["recall"], mean["ours"], mean["pem 1"], best, mean["inside"]]
    ends = f"{mean['seconds']:.0f} | {len(runs)}"
    return f"| {what} | {cell.epsilon:g} | {' | '.join(f'{x:.2f}' for x in figures)} | {ends} |"


@cache
def source() -> str:
    """A digest of what a run depends on: this file, and the folder `discovery` without devices and saved states."""
    others = ("__init__.py", "device.py", "delivery.py", "saved.py")
    folder = Path(ldp.discovery.__file__).parent
    files = [Path(__file__), *sorted(path for path in folder.glob("*.py") if path.name not in others)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def kept_run(cell: Cell, users: int, seed: int, may_run: bool) -> dict[str, float] | None:
    """A run, from the file of runs if it is there; None if it is not and nothing may be run."""
    key = [cell.values, cell.epsilon, users, seed, source()]
    for text in RUNS.read_text().splitlines() if RUNS.exists() else ():
        entry = json.loads(text)
        if entry["key"] == key:
            return entry["measured"]  # type: ignore[no-any-return]
    if not may_run:
        return None
    measured = run(cell, users, seed)
    with RUNS.open("a") as file:
        file.write(json.dumps({"key": key, "measured": measured}) + "\n")
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="200,000 users, printed instead of written")
    parser.add_argument("--only", default="", help="only lines whose label has this part, such as 48; printed")
    parser.add_argument("--kept", action="store_true", help="the table of the runs that are kept, and no new ones")
    arguments = parser.parse_args()
    users = USERS // 10 if arguments.quick else USERS
    lines = [
        "| values | epsilon | precision | recall | F | PEM keeps k: F | PEM best: F | in intervals | seconds | runs |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    cells = [cell for cell in CELLS_OF_THE_TABLE if arguments.only in f"{cell.values} {cell.epsilon:g}"]
    runs: dict[Cell, list[dict[str, float]]] = {cell: [] for cell in cells}
    for seed in range(arguments.runs):  # one run of every line, then the next: a table can be made at any time
        for cell in cells:
            done = kept_run(cell, users, seed, not arguments.kept)
            runs[cell] += [] if done is None else [done]
    lines += [line(cell, runs[cell]) for cell in cells if runs[cell]]
    peak = max(one["GiB"] for of_cell in runs.values() for one in of_cell)
    lines += ["", f"Means over the runs, {users:,} users; at most {peak:.2f} GiB of memory."]
    text = "\n".join(lines)
    if arguments.quick or arguments.only:
        print(text)
        return
    page = PAGE.read_text("utf-8")
    before, rest = page.split("<!-- begin table -->")
    after = rest.split("<!-- end table -->")[1]
    PAGE.write_text(f"{before}<!-- begin table -->\n\n{text}\n\n<!-- end table -->{after}", "utf-8")


if __name__ == "__main__":
    main()
