"""Faults in the JavaScript client that the tests must notice: Node's tests, or those in Chromium.

Each changes one place in a copy of the client. The test that must notice it passes on the client itself, and fails
there. `python -m audits.javascript_client` runs them all; `python audits/run.py` does so too.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from audits.javascript import FOLDER, NODE, mutated
from audits.javascript_client_mutants import IN_CHROMIUM, MUTANTS, ClientMutant

_LONGEST = 900  # seconds that one test may take
# A test that fails like this has not noticed the fault: the change has broken the code.
_CRASHES = re.compile(r"\b(SyntaxError|ReferenceError|is not a function)\b")


def failure(mutant: ClientMutant, folder: Path) -> str:
    """What the mutant's test says with the client in this folder; "" if it passes."""
    file, name = mutant.caught_by
    if file.startswith(IN_CHROMIUM):
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", f"{file}::{name}"]
    else:
        assert NODE is not None, "Node is needed here"
        command = [NODE, "--test", f"--test-name-pattern=^{re.escape(name)}", f"test/{file}"]
    done = subprocess.run(  # noqa: S603 (our own tests)
        command,
        cwd=FOLDER.parent if file.startswith(IN_CHROMIUM) else folder,
        env={**os.environ, "LOCALDP_JS": str(folder)},
        capture_output=True,
        text=True,
        timeout=_LONGEST,
        check=False,
    )
    said = done.stdout + done.stderr
    if not re.search(r"^# pass [1-9]|\b[1-9]\d* passed", said, re.MULTILINE) and done.returncode == 0:
        raise AssertionError(f"mutant {mutant.name!r}: no test ran\n{said[-2_000:]}")
    if done.returncode not in (0, 1) or (done.returncode and _CRASHES.search(said)):
        raise AssertionError(f"mutant {mutant.name!r}: its test could not be run\n{said[-4_000:]}")
    return (_reason(said) or "it failed") if done.returncode else ""


def caught(mutant: ClientMutant) -> str:
    """What the test says about the mutant; "" if it survives."""
    with mutated(mutant) as folder:
        return failure(mutant, folder)


def run() -> bool:
    """Print a line for every mutant; return whether each was caught, by a test that passes on the client as it is."""
    if NODE is None:
        return True  # the audit of the reports has said so
    print(f"\n{len(MUTANTS)} faults in what it stores, sends and asks, and the tests that notice them:\n")
    passed = True
    for mutant in MUTANTS:
        before = failure(mutant, FOLDER)
        message = "" if before else caught(mutant)
        passed &= bool(message)
        verdict = "caught" if message else "SURVIVED" if not before else "FAILS WITHOUT THE FAULT"
        print(f"{verdict:<9} {mutant.name:<36}{mutant.caught_by[1][:44]:<46}{before or message}"[:160], flush=True)
    return passed


def _reason(said: str) -> str:
    """The line of a test's output that says what is wrong."""
    lines = [line.strip() for line in said.splitlines()]
    return next((line for line in lines if re.match(r"(error: |E +assert|E +\w*Error|E +\w*Timeout)", line)), "")


if __name__ == "__main__":
    sys.exit(not run())
