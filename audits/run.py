"""Audit every mechanism statistically, and show that the checks catch three published bugs. Run by `make audit`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mutants import MUTANTS

from localdp.checks import MECHANISM_CHECKS, CheckFailure
from localdp.checks.audit import FLOOR, audit
from localdp.errors import ImpureMechanismError
from localdp.mechanisms import MECHANISMS, Mechanism

EPSILONS = (0.5, 1.0, 2.0, 4.0)
SIZE = 16
TRIALS = 1_000_000
TOTAL_ERROR = 1e-6


def audit_all() -> bool:
    """A line for each mechanism and epsilon; whether all passed."""
    error = TOTAL_ERROR / (len(MECHANISMS) * len(EPSILONS))
    print(f"Lower bounds on epsilon from {TRIALS:,} reports of either value through the wire, {SIZE} items;")
    print(f"all of them hold at once with probability 1 - {TOTAL_ERROR:g}. Floor: {FLOOR:g} of epsilon.\n")
    print(f"{'mechanism':<10}{'epsilon':>8}{'realised':>20}{'at least':>10}{'floor':>8}  verdict")
    passed = True
    for name, kind in MECHANISMS.items():
        for epsilon in EPSILONS:
            try:
                mechanism = kind(SIZE, epsilon)
            except ImpureMechanismError:
                print(f"{name:<10}{epsilon:>8g}{'':>38}  not offered: not pure at this epsilon")
                continue
            found = audit(mechanism, TRIALS, error)
            verdict = "LEAKS" if found.leaks else "OVER-NOISED" if found.wastes else "ok"
            passed &= verdict == "ok"
            print(
                f"{name:<10}{epsilon:>8g}{mechanism.epsilon:>20.15f}{found.bound:>10.4f}{found.floor:>8.2f}  {verdict}",
                flush=True,
            )
    return passed


def catch_all() -> bool:
    """A few lines for each published bug: which checks catch it."""
    print("\nPublished bugs, put back in:")
    caught_all = True
    for mutant in MUTANTS:
        caught = [message for check in MECHANISM_CHECKS if (message := _failure(check, mutant))]
        caught_all &= bool(caught)
        print(f"\n{mutant.__name__} ({mutant.name}): {'caught' if caught else 'NOT CAUGHT'}")
        for message in caught:
            print(f"  - {message}")
    return caught_all


def _failure(check: object, mutant: type[Mechanism]) -> str | None:
    try:
        check(mutant, 0)  # type: ignore[operator]
    except CheckFailure as failure:
        return f"{check.__name__}: {failure}"  # type: ignore[attr-defined]
    return None


if __name__ == "__main__":
    started = time.perf_counter()
    audited, caught = audit_all(), catch_all()
    print(f"\n{'passed' if audited and caught else 'FAILED'} in {time.perf_counter() - started:.0f} s")
    sys.exit(0 if audited and caught else 1)
