"""The comparisons: our steps with compiled and with NumPy kernels, and the same protocol in other libraries."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

import localdp as ldp
from localdp.bench.peers import Peer
from localdp.bench.timing import Timings, interleaved, seconds
from localdp.kernels import dispatch, threads
from localdp.types import Indices

KERNELS = ("fast", "numpy")
ONE_THREAD = "one thread"


@dataclass(frozen=True)
class PeerProtocol:
    """A protocol of a peer: its label on the page, the peer, the protocol's name there, and the number of users."""

    label: str
    library: str
    protocol: str
    users: int


@dataclass(frozen=True)
class Case:
    """A mechanism on a domain, the number of users we run it on, and the peers it is compared with.

    Other libraries handle one user at a time and are measured on fewer users; seconds for each user are compared.
    """

    mechanism: str
    size: int
    epsilon: float
    users: int
    peers: tuple[PeerProtocol, ...]


def _in_both(protocol: str, users: int) -> tuple[PeerProtocol, ...]:
    return tuple(PeerProtocol(library, library, protocol, users) for library in ("pure-ldp", "multi-freq-ldpy"))


CASES = (
    *(Case("oue", 1_024, epsilon, 200_000, _in_both("oue", 2_000)) for epsilon in (1.0, 4.0)),
    *(Case("oue", 16_470, epsilon, 8_000, _in_both("oue", 200)) for epsilon in (1.0, 4.0)),
    *(Case("olh", 1_024, epsilon, 20_000, _in_both("olh", 50)) for epsilon in (1.0, 4.0)),
    *(Case("olh", 16_470, epsilon, 4_000, _in_both("olh", 5)) for epsilon in (1.0, 4.0)),
    Case("grr", 1_024, 4.0, 1_000_000, _in_both("grr", 5_000)),
    Case("ss", 1_024, 1.0, 20_000, (PeerProtocol("multi-freq-ldpy", "multi-freq-ldpy", "ss", 1_000),)),
)
LARGE = tuple(
    Case(
        "llh",
        16_470,
        epsilon,
        1_000_000,
        tuple(PeerProtocol(name, "pure-ldp", name, 20_000) for name in ("hadamard response", "fast local hashing")),
    )
    for epsilon in (1.0, 4.0)
)


def values_of(size: int, users: int) -> Indices:
    """The index of the item that each user holds, drawn uniformly and always the same."""
    return np.random.default_rng(0).integers(0, size, users)


def pipeline(plan: ldp.Plan, users: int, units: int) -> Callable[[], Timings]:
    """A function that privatizes and aggregates once and returns the seconds for each unit."""
    values = values_of(plan.domain.size, users)

    def run() -> Timings:
        made: list[ldp.Reports] = []
        privatizing = seconds(lambda: made.append(plan.privatize(values)))
        aggregating = seconds(lambda: plan.aggregate(made[0]))
        return {"privatize": privatizing / units, "aggregate": aggregating / units}

    return run


def our_run(case: Case, kernels: str, thread_count: int) -> Callable[[], Timings]:
    """A function that runs the case once and returns the seconds for each user."""
    once = pipeline(ldp.Plan(case.size, case.mechanism, case.epsilon), case.users, case.users)

    def run() -> Timings:
        with dispatch.kernels(kernels), _limited_to(thread_count):
            return once()

    run()  # the first run compiles the kernels or loads them from disk, and is not counted
    return run


@contextmanager
def _limited_to(thread_count: int) -> Iterator[None]:
    before = os.environ.get("LOCALDP_THREADS")
    os.environ["LOCALDP_THREADS"] = str(thread_count)
    try:
        yield
    finally:
        del os.environ["LOCALDP_THREADS"]
        if before is not None:
            os.environ["LOCALDP_THREADS"] = before


def peer_run(case: Case, peer: PeerProtocol, library: Peer) -> Callable[[], Timings]:
    """A function that runs the peer once and returns the seconds for each user.

    "decode" is work that a library does once, whatever the number of users. It is divided by our number of users, which
    is larger: the peer would otherwise look slower than it is.
    """

    def run() -> Timings:
        took = library.run(peer.protocol, peer.users, case.size, case.epsilon)
        aggregating = took["aggregate"] / peer.users + took["decode"] / case.users
        return {"privatize": took["privatize"] / peer.users, "aggregate": aggregating}

    return run


def measure(case: Case, libraries: Mapping[str, Peer], rounds: int) -> dict[str, Timings]:
    """Seconds for each user, by side and step.

    The sides are: compiled kernels, NumPy kernels, each of these on one thread, and every peer by its label. The step
    "both" is the sum of the best times of the two steps.
    """
    sides = {kind: our_run(case, kind, threads.workers()) for kind in KERNELS}
    sides |= {f"{kind}, {ONE_THREAD}": our_run(case, kind, 1) for kind in KERNELS}
    for peer in case.peers:
        sides[peer.label] = peer_run(case, peer, libraries[peer.library])
    best = interleaved(sides, rounds)
    for timings in best.values():
        timings["both"] = timings["privatize"] + timings["aggregate"]
    return best
