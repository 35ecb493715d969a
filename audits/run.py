"""Audit every mechanism statistically, and show that the checks catch three published bugs. `make audit` runs this."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mutants import MUTANTS

from localdp.checks import MECHANISM_CHECKS, CheckFailure
from localdp.checks.audit import FLOOR, audit
from localdp.errors import ImpureMechanismError
from localdp.mechanisms import MECHANISMS, Mechanism

EPSILONS = (0.5, 1.0, 2.0, 4.0)
SIZE = 16  # items
TRIALS = 1_000_000  # reports of each of two values
TOTAL_ERROR = 1e-6  # the probability that any of the bounds is wrong


def audit_all() -> bool:
    """Print a line for each mechanism and epsilon; return whether all passed."""
    error = TOTAL_ERROR / (len(MECHANISMS) * len(EPSILONS))
    print(f"Lower bounds on epsilon, from {TRIALS:,} reports of each of two values out of {SIZE} items.")
    print(f"With probability 1 - {TOTAL_ERROR:g} all bounds are right. A bound above epsilon is a leak;")
    print(f"one below the floor, {FLOOR:g} of epsilon, means more noise than needed.\n")
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
    """Print which checks catch each published bug; return whether each bug is caught by at least one."""
    print("\nPublished bugs, put back on purpose:")
    caught_all = True
    for mutant in MUTANTS:
        caught = [message for check in MECHANISM_CHECKS if (message := _failure(check, mutant))]
        caught_all &= bool(caught)
        print(f"\n{mutant.__name__} ({mutant.name}): {'caught' if caught else 'NOT CAUGHT'}")
        for message in caught:
            print(f"  - {message}")
    return caught_all


def _failure(check: Callable[[type[Mechanism], int], None], mutant: type[Mechanism]) -> str | None:
    """The message of the check if it fails, or None."""
    try:
        check(mutant, 0)
    except CheckFailure as failure:
        return f"{check.__name__}: {failure}"
    return None


if __name__ == "__main__":
    started = time.perf_counter()
    audited, caught = audit_all(), catch_all()
    print(f"\n{'passed' if audited and caught else 'FAILED'} in {time.perf_counter() - started:.0f} s")
    sys.exit(0 if audited and caught else 1)
