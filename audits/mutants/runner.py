"""Run every mutant against the check or test that must catch it.

A class mutant is given to its public check in this process. For a source mutant, the library is copied to a temporary
folder, changed there, and its check or test runs in a new process on the copy. The same check or test must pass on an
unchanged copy first. Copies keep the times of files, so the machine code that Numba has kept stays valid.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from audits.mutants.mutant import ClassMutant, Mutant, SourceMutant
from localdp.checks import CheckFailure

ROOT = Path(__file__).resolve().parents[2]
_LONGEST = 300  # seconds that one test or check may take
# A test that fails like this has not noticed the fault: the change has broken the code.
_CRASHES = re.compile(r"\b(SyntaxError|NameError|ImportError|ModuleNotFoundError|AttributeError|TypingError)\b")
_RUN_CHECK = """
import re, sys
import localdp
from localdp.checks import MECHANISM_CHECKS, CheckFailure
from localdp.mechanisms import MECHANISMS

name, mechanism = re.fullmatch(r"(\\w+)\\((\\w+)\\)", sys.argv[1]).groups()
assert localdp.__file__.startswith(sys.argv[2]), localdp.__file__
try:
    {check.__name__: check for check in MECHANISM_CHECKS}[name](MECHANISMS[mechanism], 0)
except CheckFailure as failure:
    print(failure)
    sys.exit(1)
"""


class OutOfDateError(Exception):
    """The list of mutants no longer fits the library or its tests."""


@dataclass(frozen=True)
class Outcome:
    """Whether the mutant was caught, how long that took, and what the check or test said."""

    mutant: Mutant
    caught: bool
    seconds: float
    message: str


def run(mutants: Iterable[Mutant], root: Path = ROOT) -> Iterator[Outcome]:
    """The outcome of every mutant, as they are run: first the class mutants, then the source mutants."""
    mutants = list(mutants)
    for mutant in mutants:
        if isinstance(mutant, ClassMutant):
            yield _run_class(mutant)
    source = [mutant for mutant in mutants if isinstance(mutant, SourceMutant)]
    if source:
        with _copied(root / "src" / "localdp") as clean:
            _require_passing(source, clean, root)
            for mutant in source:
                yield _run_source(mutant, clean, root)


def changed(mutant: SourceMutant, package: Path) -> str:
    """The text of the mutant's file with the change made."""
    text = (package / mutant.file).read_text("utf-8")
    if text.count(mutant.before) != 1:
        raise OutOfDateError(
            f"mutant {mutant.name!r}: expected {mutant.before!r} once in {mutant.file}, found it "
            f"{text.count(mutant.before)} times; bring the list of mutants up to date"
        )
    return text.replace(mutant.before, mutant.after)


def _run_class(mutant: ClassMutant) -> Outcome:
    started = time.perf_counter()
    try:
        mutant.check(mutant.kind, 0)
        caught, message = False, ""
    except CheckFailure as failure:
        caught, message = bool(re.search(mutant.says, str(failure))), str(failure)
    return Outcome(mutant, caught, time.perf_counter() - started, message)


def _run_source(mutant: SourceMutant, clean: Path, root: Path) -> Outcome:
    with _copied(clean) as package:
        text = changed(mutant, package)
        (package / mutant.file).write_text(text, "utf-8")
        started = time.perf_counter()
        code, output = _run_checker([mutant.caught_by], package, root)
    if code not in (0, 1) or (code == 1 and _CRASHES.search(output)):
        raise OutOfDateError(f"mutant {mutant.name!r}: {mutant.caught_by} could not be run:\n{output}")
    return Outcome(mutant, code == 1, time.perf_counter() - started, _reason(output))


def _require_passing(mutants: list[SourceMutant], clean: Path, root: Path) -> None:
    """All tests and checks pass on the unchanged copy. This also compiles what has not been compiled yet."""
    tests = sorted({mutant.caught_by for mutant in mutants if mutant.is_test})
    checks = sorted({mutant.caught_by for mutant in mutants if not mutant.is_test})
    for together in (*([tests] if tests else []), *([check] for check in checks)):
        code, output = _run_checker(together, clean, root)
        if code:
            raise OutOfDateError(f"{', '.join(together)}: must pass on the library as it is\n{output}")


def _run_checker(names: list[str], package: Path, root: Path) -> tuple[int, str]:
    """The exit code and the output of these tests, or of one check, on the package; 1 means that it failed."""
    if names[0].startswith("tests/"):
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=line", "-p", "no:cacheprovider", *names]
    else:
        command = [sys.executable, "-c", _RUN_CHECK, names[0], str(package)]
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(  # noqa: S603 (our own tests)
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=_LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return 2, f"it took more than {_LONGEST} s"
    crashed = "Traceback" in done.stderr  # pytest shows its failures on stdout, and the script above exits without one
    return 2 if crashed else done.returncode, done.stdout + done.stderr


def _reason(output: str) -> str:
    """The message of a check, or pytest's line about the failure."""
    lines = output.strip().splitlines() or [""]
    return next((line for line in lines if re.match(r"(E +|/\S+:\d+: )", line)), lines[0])


@contextmanager
def _copied(package: Path) -> Iterator[Path]:
    """A copy of the package in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="localdp-mutant-") as folder:
        copy = Path(folder).resolve() / "localdp"
        shutil.copytree(package, copy)
        yield copy
