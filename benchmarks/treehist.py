"""TreeHist beside ours, at the sizes that an implementation of it can do.

TreeHist (R. Bassily, K. Nissim, U. Stemmer and A. Thakurta, Practical Locally Private Heavy Hitters, NeurIPS 2017) asks
every user for one random prefix and for the whole value, each with half of epsilon, and then walks down the tree of
prefixes. The one implementation that can be had from the package index is in pure-ldp 1.2.0. It counts every report for
every value of the domain in a Python loop, so 2^48 keys are out of its reach; keys of 12 bits and a few thousand users
take minutes. It is installed into an environment of its own under benchmarks/.peers, as for the other comparisons.

Keys follow a Zipf distribution with exponent 1.2 over 2^bits keys. `python benchmarks/treehist.py` prints the table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from pathlib import Path

import numpy as np
from discovery import scores

import localdp as ldp
from localdp.bench import peers

HERE = Path(__file__).parent
PEER, TOP, FRAGMENT = "pure-ldp", 8, 2


def zipf(users: int, bits: int, seed: int) -> np.ndarray:
    """One key for each user; the key of a rank is a random one."""
    rng = np.random.default_rng(seed)
    shares = np.arange(1, (1 << bits) + 1) ** -1.2
    return rng.permutation(1 << bits)[rng.choice(1 << bits, users, p=shares / shares.sum())]


def run(bits: int, users: int, epsilon: float, seed: int) -> tuple[float, float, float, float]:
    """The F-scores of both, and their seconds."""
    keys = zipf(users, bits, seed)
    counted = np.bincount(keys, minlength=1 << bits)
    true = set(np.argsort(-counted, kind="stable")[:TOP].tolist())
    start = time.perf_counter()
    ours = ldp.discover(keys, epsilon=epsilon, top=TOP, bits=bits, seed=seed).items
    seconds = time.perf_counter() - start
    task = {"keys": keys.tolist(), "bits": bits, "epsilon": epsilon, "top": TOP, "fragment": FRAGMENT}
    python = peers.environment(PEER, HERE / ".peers" / PEER)
    done = subprocess.run(
        [python, "-W", "ignore", HERE / "peer_treehist.py"],
        input=json.dumps(task), capture_output=True, text=True, check=True,
    )  # fmt: skip
    theirs = json.loads(done.stdout)
    return scores(ours, true)[2], seconds, scores(theirs["found"], true)[2], theirs["seconds"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--users", type=int, nargs="*", default=[2_000])
    parser.add_argument("--bits", type=int, default=12)
    arguments = parser.parse_args()
    print("| bits | users | epsilon | ours: F | seconds | TreeHist: F | seconds | runs |")
    print("|---|---|---|---|---|---|---|---|")
    for users in arguments.users:
        for epsilon in (2.0, 4.0):
            found = [run(arguments.bits, users, epsilon, seed) for seed in range(arguments.runs)]
            ours, seconds, theirs, longer = np.mean(found, axis=0)
            print(
                f"| {arguments.bits} | {users:,} | {epsilon:g} | {ours:.2f} | {seconds:.1f} | {theirs:.2f} | "
                f"{longer:.0f} | {arguments.runs} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
