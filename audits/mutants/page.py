"""The list of mutants in docs/results/mutants.md, written from the list itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from audits.mutants.mutant import Mutant
from audits.mutants.runner import Outcome

PAGE = Path(__file__).resolve().parents[2] / "docs" / "results" / "mutants.md"
_BEGIN, _END = "<!-- The list of mutants: written by audits/run.py --markdown -->\n", "<!-- End of the list -->\n"


def row(mutant: Mutant) -> str:
    """The beginning of the mutant's line in the table; the seconds come after it."""
    caught_by = mutant.caught_by.rpartition("/")[2].replace("::", ": ")
    return f"| {mutant.name} | {mutant.fault} | `{caught_by}` |"


def write(outcomes: Iterable[Outcome], page: Path = PAGE) -> None:
    """Put the table of these outcomes into the page, in place of the one that is there."""
    outcomes = list(outcomes)
    lines = ["| mutant | the fault | what catches it | seconds |", "|---|---|---|---:|"]
    lines += [f"{row(outcome.mutant)} {outcome.seconds:.1f} |" for outcome in outcomes]
    seconds = sum(outcome.seconds for outcome in outcomes)
    summary = f"All {len(outcomes)} are caught, in {seconds:.0f} seconds on two processors.\n"
    before, _, rest = page.read_text("utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    page.write_text(f"{before}{_BEGIN}\n" + "\n".join(lines) + f"\n\n{summary}{_END}{after}", "utf-8")
