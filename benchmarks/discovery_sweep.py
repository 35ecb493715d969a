"""Discoveries with random settings: does anything break, is anything invented, and do promises hold?

Every draw has 1,000 to 10 million users, keys or one of seven kinds of text, a top of 1 to 200, epsilon from 0.5 to
6, and values of one of these shapes: Zipf, one value that everybody holds, all different, a few heavy values among many
light ones, or two heavy values that are neighbours. What we ask for, over all draws:

- no error except `TooFewReportsError`, which says that there are too few users;
- *precision*, the share of listed values that belong to the true top, 0.95 or more, and within 0.05 of what the
  probabilities promise; values that nobody holds below 1% of the listed ones;
- 90% intervals hold the true number of users of a listed value, and of everybody else, 86% to 95% of the time;
- values are found as often as `reach` says, within 0.05 over all values of the true top;
- when everybody holds one value and 20,000 users or more take part, it is found.

`python benchmarks/discovery_sweep.py` takes some hours for 300 draws; `--draws 40 --most-users 100000` some minutes.
The draws of a seed come in the same order, whatever their number.
"""

from __future__ import annotations

import argparse
import secrets
import time
from collections import Counter, defaultdict
from typing import Any

import numpy as np

import localdp as ldp
from localdp.errors import TooFewReportsError

SHAPES = ("zipf", "one", "different", "few", "twins")
KINDS = ("keys", "words", "addresses", "hexadecimal", "numbers", "arabic", "chinese", "emoji")
SIGNS = {"arabic": (0x0627, 30), "chinese": (0x4E00, 3_000), "emoji": (0x1F600, 64)}
"""The first character of a kind of text, and how many there are."""


def drawn(rng: np.random.Generator, most_users: int) -> dict[str, Any]:
    """The settings of one draw."""
    return {
        "kind": str(rng.choice(KINDS)),
        "shape": str(rng.choice(SHAPES)),
        "users": int(10 ** rng.uniform(3, np.log10(most_users))),
        "bits": int(rng.integers(8, 65)),
        "top": int(np.round(10 ** rng.uniform(0, np.log10(200)))),
        "epsilon": float(f"{10 ** rng.uniform(np.log10(0.5), np.log10(6)):.3g}"),
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
    distinct, places = np.unique(found, return_inverse=True)
    names = [_text(setting["kind"], int(number)) for number in distinct]
    return [names[place] for place in places.tolist()]


def _text(kind: str, number: int) -> str:
    """A text for a number below 2^20, other for every number."""
    if kind == "hexadecimal":
        return f"{number * 0x9E3779B97F4A7C15 % (1 << 48):012x}"
    if kind == "numbers":
        return str(10_000_000 + number * 61 % 90_000_000)
    if kind in SIGNS:
        first, count = SIGNS[kind]
        signs = []
        while number or not signs:
            number, place = divmod(number, count)
            signs.append(chr(first + place))
        return "".join(signs)
    return _word(number) if kind == "words" else f"https://docs.example.org/en/latest/{_word(number)}"


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
    options = {"keys": {"bits": setting["bits"]}, "addresses": {"most_bytes": 64}}.get(setting["kind"], {})
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
    other, rest = found.other(0.9), len(values) - sum(counted[item] for item in found.items)
    reach = ldp.Discovery(epsilon=setting["epsilon"], users=len(values), top=setting["top"], **options).reach
    true = {item for item, _ in counted.most_common(setting["top"])}
    return {
        "listed": len(found),
        "hits": len(true & set(found.items)),
        "wanted": min(setting["top"], len(counted)),
        "invented": sum(counted[item] == 0 for item in found.items),
        "inside": sum(bool(low[place] <= counted[item] <= high[place]) for place, item in enumerate(found.items)),
        "rest": bool(other.low <= rest <= other.high) if not found.beginnings else None,
        "within_reach": round(sum(reach.chance(counted[item] / len(values)) for item in true), 2),
        "in_top": round(float(found.probabilities.sum()), 2),
        "seconds": round(time.perf_counter() - start, 2),
        "finds_the_one": setting["shape"] != "one" or len(found) == 1,
    }


def summary(lines: list[dict[str, Any]]) -> list[str]:
    """What the sweep has shown, and the worst kinds of draws."""
    done = [line for line in lines if "listed" in line]
    keys = ("listed", "hits", "invented", "inside", "in_top", "within_reach")
    total = {key: sum(line[key] for line in done) for key in keys}
    rests = [line["rest"] for line in done if line["rest"] is not None]
    listed, refused = max(total["listed"], 1), sum("refused" in line for line in lines)
    errors = sum("error" in line for line in lines)
    hits, promised, inside = (total[key] / listed for key in ("hits", "in_top", "inside"))
    text = [
        f"{len(lines)} draws: {len(done)} discoveries, {refused} refused for too few users, {errors} errors.",
        f"{total['listed']:,} values listed: {hits:.3f} of them in the true top (promised {promised:.3f}).",
        f"{total['invented']} of them invented, {inside:.3f} in their 90% intervals.",
        f"Everybody else: {np.mean(rests):.3f} of {len(rests)} in the 90% interval.",
        f"Of the true top, {total['hits']:,} were found, and `reach` expected {total['within_reach']:,.0f}.",
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
    parser.add_argument("--seed", type=int, help="drawn anew without")
    parser.add_argument("--most-users", type=int, default=10_000_000)
    arguments = parser.parse_args()
    seed = secrets.randbelow(1 << 30) if arguments.seed is None else arguments.seed
    print(f"`--draws {arguments.draws} --most-users {arguments.most_users} --seed {seed}`")
    rng = np.random.default_rng(seed)
    settings = [drawn(rng, arguments.most_users) for _ in range(arguments.draws)]
    print("\n".join(summary([setting | measured(setting) for setting in settings])))


if __name__ == "__main__":
    main()
