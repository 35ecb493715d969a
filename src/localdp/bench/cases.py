"""What is compared with whom: our steps under both kinds of kernels, and the same protocol in other libraries."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

import localdp as ldp
from localdp.bench.peers import Peer
from localdp.bench.timing import Steps, interleaved, seconds
from localdp.kernels import dispatch, threads

KERNELS = ("fast", "numpy")
ALONE = "one thread"


@dataclass(frozen=True)
class Case:
    """A mechanism on a domain: how many users we take, and what the peers call it and take.

    Peers run one user at a time and are measured on fewer; seconds a user are compared.
    """

    mechanism: str
    size: int
    epsilon: float
    users: int
    peers: dict[str, tuple[str, int]]

    @property
    def name(self) -> str:
        """The case in a few words."""
        return f"{self.mechanism}, d = {self.size:,}, epsilon {self.epsilon:g}"


BOTH = ("pure-ldp", "multi-freq-ldpy")
CASES = (
    *(Case("oue", 1_024, e, 200_000, dict.fromkeys(BOTH, ("oue", 2_000))) for e in (1.0, 4.0)),
    *(Case("oue", 16_470, e, 8_000, dict.fromkeys(BOTH, ("oue", 200))) for e in (1.0, 4.0)),
    *(Case("olh", 1_024, e, 20_000, dict.fromkeys(BOTH, ("olh", 50))) for e in (1.0, 4.0)),
    *(Case("olh", 16_470, e, 4_000, dict.fromkeys(BOTH, ("olh", 5))) for e in (1.0, 4.0)),
    Case("grr", 1_024, 4.0, 1_000_000, dict.fromkeys(BOTH, ("grr", 5_000))),
    Case("ss", 1_024, 1.0, 20_000, {"multi-freq-ldpy": ("ss", 1_000)}),
)
LARGE = tuple(
    Case(
        "llh",
        16_470,
        epsilon,
        1_000_000,
        {"hadamard response": ("hadamard response", 20_000), "fast local hashing": ("fast local hashing", 20_000)},
    )
    for epsilon in (1.0, 4.0)
)


def values_of(size: int, users: int) -> np.ndarray:
    """Everybody's item."""
    return np.random.default_rng(0).integers(0, size, users)


def ours(case: Case, kernels: str, threads: int) -> Callable[[], Steps]:
    """A run of ours, in seconds a user."""
    plan, values = ldp.Plan(case.size, case.mechanism, case.epsilon), values_of(case.size, case.users)

    def run() -> Steps:
        with dispatch.kernels(kernels), _threads(threads):
            made: list[ldp.Reports] = []
            privatizing = seconds(lambda: made.append(plan.privatize(values)))
            aggregating = seconds(lambda: plan.aggregate(made[0]))
        return {"privatize": privatizing / case.users, "aggregate": aggregating / case.users}

    run()  # compiles, or loads what was compiled
    return run


@contextmanager
def _threads(number: int) -> Iterator[None]:
    before = os.environ.get("LOCALDP_THREADS")
    os.environ["LOCALDP_THREADS"] = str(number)
    try:
        yield
    finally:
        del os.environ["LOCALDP_THREADS"]
        if before is not None:
            os.environ["LOCALDP_THREADS"] = before


def theirs(case: Case, peer: Peer, protocol: str, users: int) -> Callable[[], Steps]:
    """A run of a peer, in seconds a user; what it does once for all users is shared among as many as we have."""

    def run() -> Steps:
        steps = peer.run(protocol, users, case.size, case.epsilon)
        aggregating = steps["aggregate"] / users + steps["decode"] / case.users
        return {"privatize": steps["privatize"] / users, "aggregate": aggregating}

    return run


def measure(case: Case, peers: dict[str, Peer], times: int) -> dict[str, Steps]:
    """Seconds a user of each step, for `fast`, `numpy`, both on one thread, and every peer, interleaved."""
    sides = {kind: ours(case, kind, threads.workers()) for kind in KERNELS}
    sides |= {f"{kind}, {ALONE}": ours(case, kind, 1) for kind in KERNELS}
    for name, (protocol, users) in case.peers.items():
        sides[name] = theirs(case, peers.get(name, peers["pure-ldp"]), protocol, users)
    best = interleaved(sides, times)
    for steps in best.values():
        steps["both"] = steps["privatize"] + steps["aggregate"]
    return best
