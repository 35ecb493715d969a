"""The statistical audit of the JavaScript client: Node makes the reports, and the checks of the library judge them.

Every report is that of a device of its own, with a key of its own, so a run can be repeated. The faults that are put in
on purpose change one place in a copy of the source.
"""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from localdp.checks import CheckFailure
from localdp.checks.audit import audit
from localdp.checks.sampling import require_channel
from localdp.mechanisms import CHAINS, MECHANISMS, ORDERED_MECHANISMS, Mechanism
from localdp.plan import Plan
from localdp.questions import Scale

FOLDER = Path(__file__).resolve().parent.parent / "js"
NODE = shutil.which("node")
FALSE_ALARMS = 1e-6  # of all mechanisms together
NAMES = (*MECHANISMS, *CHAINS, *ORDERED_MECHANISMS)

_AUDITED_SIZE, _LISTED_SIZE = 16, 6  # items; the channel is listed on the smaller domain
_DBIT_SIZE = 4  # items: of more, a user rarely answers for the one that matters
_BIASED_SIZE = 100  # items: not a power of two, so that remainders are not uniform


@dataclass(frozen=True)
class Mutant:
    """A change of one place below js/src, and the mechanism on which the audit must notice it."""

    name: str
    fault: str
    file: str
    before: str
    after: str
    mechanism: str


MUTANTS = (
    Mutant(
        "true bit kept",
        "The bit of the held item is always set.",
        "mechanisms/unary.js",
        "| (own << bit)",
        "| (1 << bit)",
        "oue",
    ),
    Mutant(
        "bit not cleared",
        "The noise of the held item's bit is not cleared before the bit is set.",
        "mechanisms/unary.js",
        "(lit[index >>> 3] & ~(1 << bit))",
        "lit[index >>> 3]",
        "oue",
    ),
    Mutant(
        "p and q swapped",
        "The held item's bit is set with probability q and the others with probability p.",
        "mechanisms/unary.js",
        "const threshold = halves(keep);\n    const draw = noiseBits(size, noise);",
        "const threshold = halves(noise);\n    const draw = noiseBits(size, keep);",
        "sue",
    ),
    Mutant(
        "modulo bias",
        "A number is drawn as the remainder of a random byte, so that small numbers come up more often.",
        "random.js",
        "if (bound === 1) return 0;",
        "this.next();\n    return (this.low & 255) % bound;",
        "grr",
    ),
    Mutant(
        "batch of one",
        "The first word of every new source is zero, so that a device which makes one report tells the truth.",
        "random.js",
        "this._block = new Uint32Array();",
        "this._block = new Uint32Array(2);",
        "grr",
    ),
    Mutant(
        "truth inverted",
        "Randomized response tells the truth where it should not.",
        "mechanisms/symbols.js",
        "(-truthful & (other ^ symbol))",
        "((truthful - 1) & (other ^ symbol))",
        "llh",
    ),
    Mutant(
        "always in the subset",
        "The held item is in every subset.",
        "mechanisms/subset.js",
        "chosen[drawn * (1 - kept)] = 1;",
        "chosen[0] = 1;",
        "ss",
    ),
    Mutant(
        "wrong sign kept",
        "Hadamard response keeps the column that was drawn, whatever its sign is.",
        "mechanisms/hadamard.js",
        "-(parity(column & row) ^ wanted) & row & -row",
        "0",
        "hr",
    ),
    Mutant(
        "held answer not hidden",
        "dBitFlip always sets the bit of the held item.",
        "mechanisms/dbit.js",
        "(held & (ifHeld ^ ifNot))",
        "(held & (1 ^ ifNot))",
        "dbit",
    ),
    Mutant(
        "no second perturbation",
        "A chain sends its permanent response.",
        "plan.js",
        "this.#mechanism._again(checked, words)",
        "checked",
        "oue+sue",
    ),
    Mutant(
        "fair coins for zeros too",
        "In the second perturbation, bits that are not set get the coin of those that are.",
        "mechanisms/chains.js",
        "(~permanent[i] & lit)",
        "(~permanent[i] & tails[i])",
        "oue+oue",
    ),
    Mutant(
        "near an ordered value only",
        "Square Wave reports an output of the band where it should report any, and the other way round.",
        "mechanisms/wave.js",
        "(-truthful & (any ^ near))",
        "((truthful - 1) & (any ^ near))",
        "wave",
    ),
    Mutant(
        "true entry of a sketch",
        "The Hadamard sketch sends the entry as it is.",
        "mechanisms/sketches.js",
        "^ (1 - words.event(threshold))",
        "^ (0 * words.event(threshold))",
        "hcms",
    ),
    Mutant(
        "one symbol of several",
        "A report that stands for several symbols always stands for the first of them.",
        "mechanisms/hashing.js",
        "^ words.below(among))",
        "^ (0 * words.below(among)))",
        "slh",
    ),
)


def made_by_node(jobs: Iterable[tuple[Plan, int | list[int], int]], folder: Path = FOLDER) -> list[bytes]:
    """The batch that Node makes for each plan, index (or indices of a set) and number of reports."""
    assert NODE is not None, "Node is needed here"
    wanted = list(jobs)
    asked = [
        {"plan": plan.to_json(), "held": held, "count": count, "seed": number.to_bytes(8, "little").hex()}
        for number, (plan, held, count) in enumerate(wanted)
    ]
    program = str(folder / "test" / "make_reports.js")
    made = subprocess.run(  # noqa: S603 (our own program)
        [NODE, program], input=json.dumps(asked).encode(), stdout=subprocess.PIPE, check=True, timeout=3600
    ).stdout
    ends = [0, *itertools.accumulate(24 + count * plan.mechanism.report_bytes for plan, _, count in wanted)]
    assert ends[-1] == len(made), "Node wrote another number of bytes than was asked for"
    return [made[start:end] for start, end in itertools.pairwise(ends)]


def audited(name: str) -> Mechanism:
    """The mechanism whose epsilon is bounded from below. One report of a chain has half of the epsilon of all."""
    return _made(name, _DBIT_SIZE if name == "dbit" else _AUDITED_SIZE, 0.5 if name == "hr" else 2.0)


def listed(name: str) -> Mechanism | None:
    """The mechanism whose reports are compared with its channel; None for those with seeds of 32 bits."""
    if name in ("olh", "blh"):
        return None
    size = _BIASED_SIZE if name == "grr" else _LISTED_SIZE
    return _made(name, size, 0.5)


@dataclass(frozen=True)
class Finding:
    """What the audit of one mechanism has found: the bound on epsilon, and what is wrong, or "" if nothing is."""

    mechanism: Mechanism
    bound: float
    wrong: str


def findings(names: Iterable[str], trials: int, folder: Path = FOLDER) -> Iterator[Finding]:
    """Audit two values of each mechanism with `trials` reports, and compare a value on fewer items with the channel."""
    for name in names:
        mechanism, small = audited(name), listed(name)
        plan, alpha = _plan(mechanism), FALSE_ALARMS / (2 * len(NAMES))
        values = (0, mechanism.size - 1)
        jobs: list[tuple[Plan, int | list[int], int]] = [(plan, value, trials) for value in values]
        if small is not None:
            jobs.append((_plan(small), 1, trials // 4))
        made = made_by_node(jobs, folder)
        numbered = bytes.fromhex(Plan(mechanism.size, mechanism).fingerprint[:32])  # the plan that `audit` reads
        by_value = {value: one[:4] + numbered + one[20:] for value, one in zip(values, made, strict=False)}
        found = audit(mechanism, trials, alpha, lambda plan, value, trials: by_value[value])  # noqa: ARG005, B023
        wrong = "it leaks" if found.leaks else "it is over-noised" if found.wastes else ""
        if small is not None and not wrong:
            try:
                require_channel(small, (1,), lambda _: jobs[2][0].read(made[2]).rows, alpha)  # noqa: B023
            except CheckFailure as failure:
                wrong = str(failure)
        yield Finding(mechanism, found.bound, wrong)


class Change(Protocol):
    """What every fault in the client has."""

    @property
    def name(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def before(self) -> str: ...
    @property
    def after(self) -> str: ...


@contextmanager
def mutated(mutant: Change) -> Iterator[Path]:
    """A copy of the client with this fault."""
    with tempfile.TemporaryDirectory(prefix="localdp-mutant-") as folder:
        copy = Path(folder) / "js"
        for part in ("src", "test", "testing"):
            shutil.copytree(FOLDER / part, copy / part)
        (Path(folder) / "vectors").symlink_to(FOLDER.parent / "vectors")
        shutil.copy(FOLDER / "package.json", copy)
        file = copy / "src" / mutant.file
        text = file.read_text("utf-8")
        assert text.count(mutant.before) == 1, f"mutant {mutant.name!r} no longer fits {mutant.file}"
        file.write_text(text.replace(mutant.before, mutant.after), "utf-8")
        yield copy


def caught(mutant: Mutant, trials: int) -> str:
    """What the audit says about the mutant; "" if it survives."""
    with mutated(mutant) as folder:
        return next(findings([mutant.mechanism], trials, folder)).wrong


def run(trials: int, mutant_trials: int) -> bool:
    """Print a line for every mechanism and every mutant; return whether all is as it should be."""
    if NODE is None:
        print("\nJavaScript: Node is not installed, so the JavaScript client is not audited")
        return True
    print(f"\nThe JavaScript client in Node, {trials:,} reports of each of two values out of {_AUDITED_SIZE} items:\n")
    passed = True
    for found in findings(NAMES, trials):
        passed &= not found.wrong
        once = found.mechanism.epsilon_once
        print(f"{found.mechanism.name:<10}{once:>20.15f}{found.bound:>10.4f}  {found.wrong or 'ok'}", flush=True)
    print(f"\n{len(MUTANTS)} faults put into it on purpose:\n")
    for mutant in MUTANTS:
        message = caught(mutant, mutant_trials)
        passed &= bool(message)
        print(f"{'caught' if message else 'SURVIVED':<9} {mutant.name:<26}{mutant.mechanism:<9} {message}", flush=True)
    return passed


def _made(name: str, size: int, once: float) -> Mechanism:
    """The mechanism as the other audits make it; of a chain, all reports together have twice the budget of one."""
    kind = (MECHANISMS | CHAINS | ORDERED_MECHANISMS)[name]
    return next(kind.examples(size, 2 * once if kind.perturbs_again else once))


def _plan(mechanism: Mechanism) -> Plan:
    """A plan with this mechanism: its items are numbers, which have an order where the mechanism needs one."""
    ordered = mechanism.name in ORDERED_MECHANISMS
    return Plan(Scale(0, mechanism.size - 1) if ordered else mechanism.size, mechanism)
