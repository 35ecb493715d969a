"""Chains and dbit beside the longitudinal protocols of multi-freq-ldpy: writes docs/results/asking-again.md.

On Retail (16,470 items): the variance of every protocol, its error, and its error after Calibrate. The other library
makes a list of all items for every report, so its counts on all of Retail are simulated, with the probabilities that
its own aggregator uses (they are read from the library while it runs) and with the same random numbers as ours. On the
100 most frequent items of Retail with 10,000 users, its own client makes every report.

`python benchmarks/asking_again.py` takes about ten minutes on two idle cores (and installs the library the first time,
into benchmarks/.peers); `--runs 1 --quick` takes a minute. `asking_again.py chains` and `asking_again.py dbit` write
one section alone; the second does not need the other library, since its probabilities are published.
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from runs import Measurements
from worst import deliver, measure, parser, table

import localdp as ldp
from localdp.bench import peers
from localdp.mechanisms import independent_counts

PEER = "multi-freq-ldpy"
HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "results" / "asking-again.md"
BUDGETS = ((2.0, 1.0), (4.0, 1.0), (4.0, 2.0))
ANSWERS = (1, 16)
"""Of dBitFlip on the small data."""
MORE_ANSWERS = (16, 256)
"""Of dBitFlip on all of Retail."""
ITEMS, USERS = 100, 10_000
NAMES = {"grr+grr": "L-GRR", "sue+sue": "RAPPOR", "oue+oue": "L-OUE", "oue+sue": "L-OSUE", "sue+oue": "L-SOUE"}


class Chain(NamedTuple):
    """A chain on all of Retail, with the probabilities p* and q* that the other library has for it."""

    name: str
    epsilon: float
    once: float
    p: float
    q: float


class Dbit(NamedTuple):
    """dBitFlip on all of Retail."""

    name: str
    epsilon: float
    answers: int


def retail() -> np.ndarray:
    """The frequencies of all items."""
    return ldp.datasets.load("retail").frequencies


def small() -> np.ndarray:
    """The most frequent items, with fewer users in the same proportions."""
    most = np.sort(retail())[::-1][:ITEMS]
    return np.diff(np.round(np.cumsum(most) / most.sum() * USERS), prepend=0).astype(np.int64)


def errors(estimate: Any, truth: np.ndarray, whose: str) -> Measurements:
    """The mean squared errors of estimates, as they are and after Calibrate."""
    found = {"raw": estimate, "calibrated": estimate.calibrate()}
    return {f"{whose} {key}": ldp.metrics.estimation_error(f.frequencies, truth) for key, f in found.items()}


def run_chain(task: tuple) -> Measurements:
    """One seeded run on all of Retail: theirs simulated from their probabilities, and ours."""
    *fields, seed = task
    cell, truth, rng = Chain(*fields), retail(), np.random.default_rng(seed)
    n = int(truth.sum())
    if cell.name == "grr+grr":
        kept = rng.binomial(truth, cell.p - cell.q)
        counts = kept + rng.multinomial(n - kept.sum(), np.full(truth.size, 1 / truth.size))
    else:
        counts = rng.binomial(truth, cell.p) + rng.binomial(n - truth, cell.q)
    theirs = ldp.Estimate.from_counts(counts, n=n, p_star=cell.p, q_star=cell.q)
    ours = ldp.Plan(truth.size, cell.name, cell.epsilon, once=cell.once).simulate(truth, seed=seed).estimate()
    return errors(theirs, truth, "theirs") | errors(ours, truth, "ours")


def published(epsilon: float) -> tuple[float, float]:
    """The probabilities of a set bit in dBitFlipPM, for a holder and for others."""
    return 1 / (1 + math.exp(-epsilon / 2)), 1 / (1 + math.exp(epsilon / 2))


def debiased(lit: np.ndarray, asked: np.ndarray, n: int, answers: int, epsilon: float) -> Any:
    """The estimates of dBitFlipPM, which know how many users were asked for each item."""
    (p, q), share = published(epsilon), answers / lit.size
    variance = n / share * q * (1 - q) / (p - q) ** 2
    return ldp.Estimate((lit - q * asked) / (p - q) / share, n=n, variance=variance)


def run_dbit(task: tuple) -> Measurements:
    """One seeded run on all of Retail: theirs simulated from the published probabilities, and ours."""
    *fields, seed = task
    cell, truth, rng = Dbit(*fields), retail(), np.random.default_rng((12, seed))
    n, share, (p, q) = int(truth.sum()), cell.answers / truth.size, published(cell.epsilon)
    holders, others = rng.binomial(truth, share), rng.binomial(n - truth, share)
    lit = rng.binomial(holders, p) + rng.binomial(others, q)
    theirs = debiased(lit, holders + others, n, cell.answers, cell.epsilon)
    made = ldp.Plan(truth.size, "dbit", cell.epsilon, answers=cell.answers).mechanism
    counts = independent_counts(made, truth, seed)  # each item's law is exact; only the items of a user are independent
    ours = ldp.Estimate.from_counts(counts, n=n, p_star=made.p_star, q_star=made.q_star)
    return errors(theirs, truth, "theirs") | errors(ours, truth, "ours")


def peer_run(runs: int, budgets: tuple[tuple[float, float], ...]) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """What the other library does: its probabilities, and the counts and estimates of its reports on the small data."""
    python = peers.environment(PEER, HERE / ".peers" / PEER)
    task = {"budgets": budgets, "answers": ANSWERS, "runs": runs, "size": retail().size}
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "truth.npy"), Path(folder, "reports.npz")
        np.save(given, small())
        script = HERE / "peer_chains.py"
        subprocess.run([python, "-W", "ignore", script, given, made, json.dumps(task)], check=True)
        with np.load(made) as found:
            arrays = {key: found[key] for key in found.files}
    return json.loads(str(arrays.pop("probabilities"))), arrays


def composed(four: list[float]) -> tuple[float, float]:
    """p* and q* of two perturbations, by their probabilities p1, q1, p2 and q2."""
    p1, q1, p2, q2 = four
    return p1 * p2 + (1 - p1) * q2, q1 * p2 + (1 - q1) * q2


def spent(name: str, p: float, q: float) -> float:
    """The epsilon of one report."""
    return math.log(p / q) if name == "grr+grr" else math.log(p * (1 - q) / (q * (1 - p)))


def small_errors(found: dict[str, Any], exact: dict[str, list[float]], key: str, runs: int) -> Measurements:
    """Mean errors on the small data, where the other library made every report: its own estimates too."""
    truth, trials = small(), []
    name, first, second = key.split()
    for seed in range(runs):
        counts = found[f"{key} {seed} counts"]
        own = found[f"{key} {seed} own"] * USERS
        if name == "dbit":
            theirs = debiased(counts, found[f"{key} {seed} asked"], USERS, int(second), float(first))
            plan = ldp.Plan(ITEMS, name, float(first), answers=int(second))
        else:
            p, q = composed(exact[f"{key} {ITEMS}"])
            theirs = ldp.Estimate.from_counts(counts.astype(np.int64), n=USERS, p_star=p, q_star=q)
            plan = ldp.Plan(ITEMS, name, float(first), once=float(second))
        ours = plan.aggregate(plan.privatize(np.repeat(np.arange(ITEMS), truth), seed=seed)).estimate()
        measured = errors(theirs, truth, "theirs") | errors(ours, truth, "ours")
        trials.append(measured | {"own": ldp.metrics.estimation_error(own, truth)})
    return {name: float(np.mean([trial[name] for trial in trials])) for name in trials[0]}


def show_chains(cells: dict[Chain, Measurements]) -> tuple[list[str], float]:
    """The table of the chains on all of Retail, and the largest ratio of our variance to theirs."""
    head = ("epsilon, once", "theirs", "ours", "one report spends: theirs", "ours", "variance, ours / theirs")
    head += ("error: theirs", "ours", "calibrated: theirs", "ours")
    rows, ratios = [], []
    for cell, measured in cells.items():
        mechanism = ldp.Plan(retail().size, cell.name, cell.epsilon, once=cell.once).mechanism
        ratios.append(mechanism.variance(1) / (cell.q * (1 - cell.q) / (cell.p - cell.q) ** 2))
        budgets = f"{cell.epsilon:g}, {cell.once:g}"
        used = (f"{spent(cell.name, cell.p, cell.q):.4f}", f"{mechanism.epsilon_once:.4f}", f"{ratios[-1]:.6g}")
        rows.append((budgets, NAMES[cell.name], cell.name, *used, *_shown(measured)))
    return table(head, rows), max(ratios)


def show_dbit(cells: dict[Dbit, Measurements]) -> tuple[list[str], float]:
    """The table of dBitFlip on all of Retail, and the largest ratio of our variance to theirs."""
    head = ("epsilon", "answers", "variance, ours / theirs", "error: theirs", "ours", "calibrated: theirs", "ours")
    rows, ratios = [], []
    for cell, measured in cells.items():
        (p, q), share = published(cell.epsilon), cell.answers / retail().size
        mechanism = ldp.Plan(retail().size, "dbit", cell.epsilon, answers=cell.answers).mechanism
        ratios.append(mechanism.variance(1) / (q * (1 - q) / (p - q) ** 2 / share))
        rows.append((f"{cell.epsilon:g}", str(cell.answers), f"{ratios[-1]:.6g}", *_shown(measured)))
    return table(head, rows), max(ratios)


def show_small(results: dict[str, Measurements]) -> list[str]:
    """The table of the small data."""
    head = ("protocol", "epsilon, once", "its own estimates", "unbiased: theirs", "ours", "calibrated: theirs", "ours")
    rows = []
    for key, measured in results.items():
        name, first, second = key.split()
        protocol = f"dBitFlipPM, {second} answer{'s' * (second != '1')}" if name == "dbit" else NAMES[name]
        rows.append(
            (protocol, first if name == "dbit" else f"{first}, {second}", f"{measured['own']:,.0f}", *_shown(measured))
        )
    return table(head, rows)


def _shown(measured: Measurements) -> tuple[str, ...]:
    """Errors of theirs and ours, raw and calibrated, with four digits at least."""
    keys = (f"{whose} {what}" for what in ("raw", "calibrated") for whose in ("theirs", "ours"))
    return tuple(f"{measured[key]:,.0f}" if measured[key] < 1e9 else f"{measured[key]:.3g}" for key in keys)


def chains(given: Any) -> list[str]:
    """The chains on all of Retail, and everything on the small data, where the other library runs."""
    budgets = BUDGETS[:1] if given.quick else BUDGETS
    exact, found = peer_run(given.runs, budgets)
    size, n = retail().size, int(retail().sum())
    pairs = [(name, *pair, f"{name} {pair[0]:g} {pair[1]:g}") for pair in budgets for name in NAMES]
    cells = [Chain(name, epsilon, once, *composed(exact[f"{key} {size}"])) for name, epsilon, once, key in pairs]
    keys = [key for *_, key in pairs]
    keys += [f"dbit {epsilon:g} {answers}" for epsilon in epsilons(budgets) for answers in ANSWERS]
    results = {key: small_errors(found, exact, key, given.runs) for key in keys}
    shown, largest = show_chains(measure(cells, given, run_chain))
    note = math.sqrt(2 / (ITEMS * given.runs))
    version, whole = peers.versions(PEER).split(",")[0], f"({size:,} items, {n:,} users)"
    return [
        f"Beside {version}, mean squared errors over {runs_of(given)}. Chains on all of Retail {whole}:",
        "",
        *shown,
        f"The largest ratio of our variance to theirs: {largest:.6g}.",
        "",
        f"The {ITEMS} most frequent items with {USERS:,} users. Here the other library made every report.",
        "Its own estimates are clipped at 0 and divided by their sum.",
        f"Unbiased errors are known to {note:.0%} (one standard error):",
        "",
        *show_small(results),
    ]


def flips(given: Any) -> list[str]:
    """dBitFlip on all of Retail."""
    budgets = BUDGETS[:1] if given.quick else BUDGETS
    cells = [Dbit("dbit", epsilon, answers) for epsilon in epsilons(budgets) for answers in MORE_ANSWERS]
    shown, largest = show_dbit(measure(cells, given, run_dbit))
    return [
        f"dBitFlipPM on all of Retail, where one report spends all of epsilon, over {runs_of(given)}:",
        "",
        *shown,
        f"The largest ratio of our variance to theirs: {largest:.6g}.",
    ]


def epsilons(budgets: tuple[tuple[float, float], ...]) -> list[float]:
    """The different epsilons."""
    return sorted({epsilon for epsilon, _ in budgets})


def runs_of(given: Any) -> str:
    """The number of runs, in words."""
    return "1 run" if given.runs == 1 else f"{given.runs} runs"


def main() -> None:
    """Write the tables that were asked for, or all of them."""
    options = parser(__doc__, runs=10)
    options.add_argument("part", nargs="?", choices=["chains", "dbit"], help="write only this section")
    given = options.parse_args()
    for part, section, write in (("chains", "asking_again", chains), ("dbit", "asking_again_dbit", flips)):
        if given.part in (None, part):
            deliver(section, write(given), given, PAGE)


if __name__ == "__main__":
    main()
