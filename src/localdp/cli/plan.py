"""`localdp plan`: write the plan, which says which items there are and how reports are protected."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from localdp.cli import questionnaires
from localdp.cli.options import MECHANISMS, ONE_REPORT, Column, Force, Header, among, budget_of, numeric

if TYPE_CHECKING:
    from localdp.items import Item
    from localdp.questions import Scale


def command(
    items: Annotated[
        Path | None,
        typer.Argument(
            help="A .csv, .parquet or .arrow file with the items, a .txt file with one item on each line, or - for CSV "
            "on standard input."
        ),
    ] = None,
    size: Annotated[
        str | None, numeric("Instead of a file: the number of items, which are then 0, 1, 2 and so on.")
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="LOW:HIGH[:STEP]",
            help="Instead of items: a number from LOW to HIGH, as whole numbers (1:5) or in bins (0:120:5).",
        ),
    ] = None,
    questionnaire: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead of items: a .toml or .json file that describes several questions, with their epsilon.",
        ),
    ] = None,
    epsilon: Annotated[str, ONE_REPORT] = "1",
    once: Annotated[
        str | None,
        numeric("Ask again and again: --epsilon is then for all reports of a device, and this smaller budget for one."),
    ] = None,
    mechanism: Annotated[
        str,
        among(
            (*MECHANISMS, "oue+sue", "sue+oue", "privset", "wave"),
            f"{', '.join(MECHANISMS[:-1])} or {MECHANISMS[-1]}. "
            "With --once: auto, grr, sue, oue, oue+sue or sue+oue. With --set-size: also privset. With --scale: also "
            "wave.",
            "--mechanism",
            "-m",
        ),
    ] = "auto",
    answers: Annotated[str | None, numeric("For dbit: the number of items that each user answers for.")] = None,
    set_size: Annotated[str | None, numeric("Every user holds a set of items, usually of at most this many.")] = None,
    other: Annotated[
        str | None,
        typer.Option(
            help="A catch-all item, which stands for every value that is not listed; with --scale, for every value "
            "that is missing or no number."
        ),
    ] = None,
    column: Column = None,
    header: Header = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The plan file to write, or - for standard output.")] = Path(
        "plan.json"
    ),
    force: Force = False,
) -> None:
    """Write a plan: the items that people may hold, the mechanism and the privacy budget.

    The plan is public, and so are its items: take them from a catalogue, not from
    people's data. With --other, a value that is not listed counts as that item;
    without it, nobody whose value is missing can answer.

    Example: localdp plan items.csv --other "something else" -o plan.json
    """
    from localdp.cli.output import WIDTH, is_standard, say, shown, write_text
    from localdp.errors import InvalidInputError
    from localdp.formats.atomic_write import check_writable
    from localdp.plan import Plan
    from localdp.reading import optional_number, whole_number
    from localdp.table import printable

    if questionnaire is not None:
        elsewhere = (items, size, scale, once, answers, set_size, other, column, header)
        if any(option is not None for option in elsewhere) or epsilon != "1" or mechanism != "auto":
            raise InvalidInputError("the file of --questionnaire has the questions and epsilon: give nothing else")
        questionnaires.write_form(questionnaire, out, force)
        return
    if (items is not None) + (size is not None) + (scale is not None) != 1:
        raise InvalidInputError("a plan needs a file with the items, --size or --scale: give exactly one of them")
    if items is None and (column is not None or header is not None):
        raise InvalidInputError(
            "--column and --header are about the file with the items, and there is none here: leave them out"
        )
    if not is_standard(out):
        check_writable(out, replace=force)
    budget = budget_of(epsilon)
    options: dict[str, Any] = {
        "once": optional_number(once, "--once"),
        "answers": whole_number(answers, "--answers"),
        "set_size": whole_number(set_size, "--set-size"),
    }
    count = whole_number(size, "--size", least=0)
    if scale is not None:
        if options.pop("set_size") is not None:
            raise InvalidInputError("--set-size is for items, and everybody has one number on a scale: leave it out")
        plan, heading = Plan(scale_of(scale, other), mechanism, budget, **options), ""
    elif count is not None:
        plan, heading = Plan(count, mechanism, budget, other=number_of(other), **options), ""
    else:
        listed, heading = items_in(items, column, header)  # type: ignore[arg-type]
        if len(listed) == 1 and other is None:
            raise InvalidInputError(
                f"{items} has one item only, {listed[0]!r:.60}: write each item on a line of its own, or add --other"
            )
        plan = Plan(listed, mechanism, budget, other=other, **options)
    if (options.get("set_size") or 0) > plan.domain.size:
        raise InvalidInputError(
            f"nobody holds more than the {plan.domain.size} items there are, and a larger --set-size adds noise: give "
            f"at most {plan.domain.size}"
        )
    write_text(plan.to_json(), out, replace=force)
    made = plan.mechanism
    place = f" (column {printable(heading)!r})" if heading else ""
    for_one = f" and {made.epsilon_once:.6g} for one report" if made.perturbs_again else ""
    asked = plan.question.describe(place)
    say(f"{shown(out)}: {asked}, {made.name}, epsilon {made.epsilon:.6g}{for_one}", out)
    say(fill(f"{plan.why}.", WIDTH), out)
    say(f"fingerprint {plan.fingerprint}", out)


def scale_of(text: str, other: str | None) -> Scale:
    """The scale that was typed as LOW:HIGH or LOW:HIGH:STEP.

    >>> scale_of("0:120:5", "no answer").cells.size
    25
    """
    from localdp.errors import InvalidInputError
    from localdp.questions import Scale
    from localdp.reading import number

    parts = text.split(":")
    if len(parts) not in (2, 3):
        raise InvalidInputError(f"--scale is LOW:HIGH or LOW:HIGH:STEP, such as 1:5 or 0:120:5, not {text!r:.40}")
    expected = "LOW:HIGH or LOW:HIGH:STEP in numbers, such as 1:5 or 0:120:5"
    low, high, step = [*(number(part, "--scale", expected) for part in parts), 1.0][:3]
    return Scale(low, high, step, other)


def number_of(other: str | None) -> int | None:
    """The catch-all item where the items are numbers."""
    from localdp.errors import InvalidInputError

    if other is None:
        return None
    if not other.isdecimal():
        raise InvalidInputError(f"with --size the items are numbers, so --other must be one of them, not {other!r:.40}")
    return int(other)


def items_in(path: Path, column: str | None, header: bool | None) -> tuple[list[Item], str]:
    """The items in a file, and the name of their column if it is known."""
    from localdp import files
    from localdp.cli.output import check_inputs, check_kind
    from localdp.errors import DataFileError, InvalidInputError

    check_kind(path, ".txt")
    check_inputs(path)
    if path.suffix.lower() != ".txt":
        return files.items(path, column, header=header)
    if column is not None or header is not None:
        raise InvalidInputError("a .txt file has one item on each line and no columns: leave out --column and --header")
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise DataFileError(f"{path} is not a text file in UTF-8: save it as UTF-8 and try again") from None
    rows: dict[Item, int] = {}
    for row, line in enumerate(lines, 1):
        item = line.strip()
        if item and rows.setdefault(item, row) != row:
            raise DataFileError(f"lines {rows[item]} and {row} of {path} are the same item, {item!r:.40}")
    return list(rows), ""
