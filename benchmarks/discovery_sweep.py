"""Discoveries with random settings: does anything break, is anything invented, and do intervals hold the truth?

Every draw has 100 to 10 million users, keys of 8 to 64 bits, words or addresses, a top of 1 to 200, epsilon from 0.2 to
8, and values of one of these shapes: Zipf, one value that everybody holds, all different, a few heavy values among many
light ones, or two heavy values that share all bits but the last. What we ask for, over all draws:

- no error except `TooFewReportsError`, which says that there are too few users for so many bits;
- *invented* values, which nobody holds, among the listed ones: below 1%;
- 90% intervals hold the true number of users of a listed value 85% to 97% of the time, and of no kind of draw with 50
  intervals or more below 75%;
- when everybody holds one value and 20,000 users or more take part, it is found.

`python benchmarks/discovery_sweep.py` takes about an hour for 300 draws; `--draws 40 --most-users 100000` two minutes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import localdp as ldp
from localdp.errors import TooFewReportsError

SHAPES = ("zipf", "one", "different", "few", "twins")
KINDS = ("keys", "words", "addresses")


def drawn(rng: np.random.Generator, most_users: int) -> dict[str, Any]:
    """The settings of one draw."""
    return {
        "kind": str(rng.choice(KINDS, p=[0.6, 0.25, 0.15])),
        "shape": str(rng.choice(SHAPES)),
        "users": int(10 ** rng.uniform(2, np.log10(most_users))),
        "bits": int(rng.integers(8, 65)),
        "top": int(np.round(10 ** rng.uniform(0, np.log10(200)))),
        "epsilon": float(f"{10 ** rng.uniform(np.log10(0.2), np.log10(8)):.3g}"),
        "exponent": float(f"{rng.uniform(1.05, 2.0):.3g}"),
        "seed": int(rng.integers(1 << 30)),
    }


def numbers(setting: dict[str, Any]) -> np.ndarray:
    """One whole number for each user, below 2^bits for keys, by the shape."""
    rng, users = np.random.default_rng(setting["seed"]), setting["users"]
    bits = setting["bits"] if setting["kind"] == "keys" else 20
    light = rng.integers(0, 1 << bits, users, dtype=np.uint64)
    heavy = rng.integers(0, 1 << bits, 12, dtype=np.uint64)
    match setting["shape"]:
        case "one":
            return np.full(users, heavy[0])
        case "different":
            return light
        case "zipf":
            ranks = np.minimum(rng.zipf(setting["exponent"], users), 1 << 40).astype(np.uint64)
            return (ranks * np.uint64(0x9E3779B97F4A7C15) + np.uint64(setting["seed"])) >> np.uint64(64 - bits)
        case "few":
            return np.where(rng.random(users) < 0.6, heavy[rng.integers(0, 12, users)], light)
    return np.where(rng.random(users) < 0.5, heavy[0] ^ rng.integers(0, 2, users, dtype=np.uint64), light)


def values_of(setting: dict[str, Any]) -> Any:
    """One value for each user."""
    found = numbers(setting)
    if setting["kind"] == "keys":
        return found
    beginning = "https://docs.example.org/en/latest/" if setting["kind"] == "addresses" else ""
    distinct, places = np.unique(found, return_inverse=True)
    names = [beginning + _word(int(number)) for number in distinct]
    return [names[place] for place in places.tolist()]


def _word(number: int) -> str:
    """A word for a number: syllables, so that many words begin alike."""
    syllables = ["ta", "re", "in", "con", "mo", "sel", "er", "per", "li", "da", "ton", "si", "an", "ber", "ge", "ru"]
    parts = []
    while True:
        number, place = divmod(number, 16)
        parts.append(syllables[place])
        if not number:
            return "".join(parts)


def measured(setting: dict[str, Any]) -> dict[str, Any]:
    """One discovery: what was listed, and how true it is."""
    values = values_of(setting)
    counted = Counter(values if isinstance(values, list) else values.tolist())
    options = {"keys": {"bits": setting["bits"]}, "words": {}, "addresses": {"most_bytes": 64}}[setting["kind"]]
    start = time.perf_counter()
    try:
        found = ldp.discover(
            values, epsilon=setting["epsilon"], top=setting["top"], seed=setting["seed"] + 1, **options
        )
    except TooFewReportsError:
        return {"refused": True}
    except Exception as error:  # every other error is a finding of the sweep
        return {"error": f"{type(error).__name__}: {error}"}
    low, high = found.interval(0.9)
    true = {item for item, _ in counted.most_common(setting["top"])}
    return {
        "listed": len(found),
        "hits": len(true & set(found.items)),
        "wanted": min(setting["top"], len(counted)),
        "invented": sum(counted[item] == 0 for item in found.items),
        "inside": sum(bool(low[place] <= counted[item] <= high[place]) for place, item in enumerate(found.items)),
        "in_top": round(float(found.probabilities.sum()), 2),
        "seconds": round(time.perf_counter() - start, 2),
        "finds_the_one": setting["shape"] != "one" or len(found) == 1,
    }


def summary(lines: list[dict[str, Any]]) -> list[str]:
    """What the sweep has shown, and the worst kinds of draws."""
    done = [line for line in lines if "listed" in line]
    total = {key: sum(line[key] for line in done) for key in ("listed", "hits", "invented", "inside", "in_top")}
    listed, refused = max(total["listed"], 1), sum("refused" in line for line in lines)
    errors = sum("error" in line for line in lines)
    hits, promised, inside = (total[key] / listed for key in ("hits", "in_top", "inside"))
    text = [
        f"{len(lines)} draws: {len(done)} discoveries, {refused} refused for too few users, {errors} errors.",
        f"{total['listed']:,} values listed: {hits:.3f} of them in the true top (promised {promised:.3f}).",
        f"{total['invented']} of them invented, {inside:.3f} in their 90% intervals.",
        f"Slowest: {max((line['seconds'] for line in done), default=0):.1f} seconds.",
        "",
        "| kind | shape | draws | listed | in the top | promised | invented | in intervals |",
        "|---|---|---|---|---|---|---|---|",
    ]
    cells: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in done:
        cells[line["kind"], line["shape"]].append(line)
    for (kind, shape), some in sorted(cells.items()):
        number = sum(line["listed"] for line in some)
        share = {key: sum(line[key] for line in some) / max(number, 1) for key in ("hits", "in_top", "inside")}
        text.append(
            f"| {kind} | {shape} | {len(some)} | {number:,} | {share['hits']:.2f} | {share['in_top']:.2f} | "
            f"{sum(line['invented'] for line in some)} | {share['inside']:.2f} |"
        )
    missed = [line for line in done if not line["finds_the_one"] and line["users"] >= 20_000]
    text += ["", f"Everybody held one value, and it was not found: {len(missed)} draws of 20,000 users or more."]
    text += [f"- error: {line['error']} ({line})" for line in lines if "error" in line]
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--most-users", type=int, default=10_000_000)
    parser.add_argument(
        "--keep", type=Path, help="a file with a line of JSON for each draw; those in it are not redone"
    )
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    settings = [drawn(rng, arguments.most_users) for _ in range(arguments.draws)]
    kept = arguments.keep.read_text().splitlines() if arguments.keep and arguments.keep.exists() else []
    known = {json.dumps({key: line[key] for key in settings[0]}): line for line in map(json.loads, kept)}
    lines = []
    for setting in settings:
        line = known.get(json.dumps(setting))
        if line is None:
            line = setting | measured(setting)
            if arguments.keep:
                with arguments.keep.open("a") as file:
                    file.write(json.dumps(line) + "\n")
        lines.append(line)
    print("\n".join(summary(lines)))


if __name__ == "__main__":
    main()
