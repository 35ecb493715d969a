"""Audit every mechanism, catch every mutant, refuse damaged input, kill clients and collectors: `make audit` runs this.

python audits/run.py                        the whole audit
python audits/run.py --mutants              the mutants only
python audits/run.py --mutants --markdown   the same, and write the list into docs/results/mutants.md
python audits/run.py --javascript           the JavaScript client only
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from audits import javascript, javascript_client, javascript_sets, javascript_studies
from audits.fuzz import fuzz
from audits.mutants import MUTANTS, page, runner
from localdp.checks.audit import FLOOR, audit
from localdp.errors import ImpureMechanismError
from localdp.mechanisms import BUCKET_CHAINS, CHAINS, MECHANISMS, ORDERED_MECHANISMS, Mechanism

EPSILONS = (0.5, 1.0, 2.0, 4.0)
SIZE = 16  # items
TRIALS = 1_000_000  # reports of each of two values
SET_TRIALS = 1_000_000  # reports of each of two sets
MUTANT_TRIALS = 50_000  # reports of each value of a JavaScript client with a fault
KILLS = 1_000  # clients killed at different lines
TOTAL_ERROR = 1e-6  # the probability that any of the bounds is wrong


def audit_all() -> bool:
    """Print a line for each mechanism and epsilon; return whether all passed."""
    kinds: dict[str, type[Mechanism]] = MECHANISMS | CHAINS | BUCKET_CHAINS | ORDERED_MECHANISMS
    error = TOTAL_ERROR / (len(kinds) * len(EPSILONS))
    print(f"Lower bounds on epsilon, from {TRIALS:,} reports of each of two values out of {SIZE} items.")
    print(f"With probability 1 - {TOTAL_ERROR:g} all bounds are right. A bound above epsilon is a leak;")
    print(f"one below the floor, {FLOOR:g} of epsilon, means more noise than needed. Of the chains,")
    print("one report alone is audited, with half of the epsilon of all reports together.\n")
    print(f"{'mechanism':<10}{'epsilon':>8}{'realised':>20}{'at least':>10}{'floor':>8}  verdict")
    passed = True
    for name, kind in kinds.items():
        for epsilon in EPSILONS:
            try:
                # One report of a chain has half of the epsilon of all its reports together.
                mechanism = next(kind.examples(SIZE, 2 * epsilon if kind.perturbs_again else epsilon))
            except ImpureMechanismError:
                print(f"{name:<10}{epsilon:>8g}{'':>38}  not offered: not pure at this epsilon")
                continue
            found = audit(mechanism, TRIALS, error)
            verdict = "LEAKS" if found.leaks else "OVER-NOISED" if found.wastes else "ok"
            passed &= verdict == "ok"
            bounds = f"{mechanism.epsilon_once:>20.15f}{found.bound:>10.4f}{found.floor:>8.2f}"
            print(f"{name:<10}{epsilon:>8g}{bounds}  {verdict}", flush=True)
    return passed


def audit_sets() -> bool:
    """The same where users hold sets: a full one beside the empty one, and four sets beside the exact channel."""
    print(f"\nSets, {SET_TRIALS:,} reports of {javascript_sets.SET_SIZE} items and of no item:\n")
    passed = True
    for found in javascript_sets.findings(javascript_sets.NAMES, SET_TRIALS, make=javascript_sets.made_here):
        passed &= not found.wrong
        print(f"{found.mechanism.name:<10}{found.mechanism.epsilon:>20.15f}{found.bound:>10.4f}  {found.wrong or 'ok'}")
    return passed


def catch_all() -> list[runner.Outcome]:
    """Print what catches each mutant and how long it takes."""
    print(f"\n{len(MUTANTS)} faults put in on purpose, and what catches them:\n")
    outcomes = []
    for outcome in runner.run(MUTANTS):
        outcomes.append(outcome)
        verdict = "caught" if outcome.caught else "SURVIVED"
        print(
            f"{verdict:<9} {outcome.mutant.name:<34}{outcome.seconds:>6.1f} s  {outcome.mutant.caught_by}", flush=True
        )
    return outcomes


def audit_javascript() -> bool:
    """Audit the JavaScript client: users with one item or a set, devices in studies, faults that tests notice."""
    audits = (javascript.run, javascript_sets.run)
    passed = [audited(TRIALS, MUTANT_TRIALS) for audited in audits]
    return all([*passed, javascript_studies.run(TRIALS), javascript_client.run()])


def kill_clients() -> bool:
    """Kill clients, in a process without other threads; return whether no store knew of less than was released."""
    program = Path(__file__).with_name("killed_clients.py")
    return subprocess.run([sys.executable, program, "--runs", str(KILLS)], check=False).returncode == 0  # noqa: S603


def read_large_plans() -> bool:
    """Read plans that ask for too much; return whether each is accepted or refused at once, with little memory."""
    program = Path(__file__).with_name("large_plans.py")
    return subprocess.run([sys.executable, program], check=False).returncode == 0  # noqa: S603


def attack_collectors() -> bool:
    """Kill collectors, cut their power, send them damaged requests; return whether nothing was lost or unforeseen."""
    programs = ("killed_collectors.py", "power_loss.py", "hostile_requests.py")
    lines = [[sys.executable, str(Path(__file__).with_name(name))] for name in programs]
    return all([subprocess.run(line, check=False).returncode == 0 for line in lines])  # noqa: C419, S603 (run them all)


def main() -> int:
    """Run what was asked for; return 0 if no mechanism leaks, no mutant survives and no damaged input gets in."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", action="store_true", help="run the mutants only")
    parser.add_argument("--markdown", action="store_true", help="write the list into docs/results/mutants.md")
    parser.add_argument("--javascript", action="store_true", help="audit the JavaScript client only")
    asked = parser.parse_args()
    started = time.perf_counter()
    if asked.javascript:
        return 0 if audit_javascript() else 1
    audited = asked.mutants or all([audit_all(), audit_sets()])
    outcomes = catch_all()
    caught = all(outcome.caught for outcome in outcomes)
    if asked.markdown and caught:
        page.write(outcomes)
    print()
    refused = asked.mutants or fuzz()
    remembered = asked.mutants or kill_clients()
    same = asked.mutants or audit_javascript()
    kept = asked.mutants or attack_collectors()
    cheap = asked.mutants or read_large_plans()
    passed = audited and caught and refused and remembered and same and kept and cheap
    print(f"\n{'passed' if passed else 'FAILED'} in {time.perf_counter() - started:.0f} s")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
