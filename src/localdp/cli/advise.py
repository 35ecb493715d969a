"""`localdp advise`: which epsilon, which mechanism, how many users, before anything is collected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from localdp.cli.options import Force, Json, Plot

if TYPE_CHECKING:
    from localdp.advice import Advice

Epsilon = Annotated[float | None, typer.Option("--epsilon", "-e", help="The privacy budget of a report, in (0, 16].")]


def command(
    items: Annotated[int, typer.Option(help="How many items there are.")],
    users: Annotated[int | None, typer.Option(help="How many users there are, each with one item.")] = None,
    epsilon: Epsilon = None,
    target_error: Annotated[
        str | None,
        typer.Option(help="A target: the standard error of a raw frequency, as a share of the users such as 0.1%."),
    ] = None,
    smallest_share: Annotated[
        str | None,
        typer.Option(
            help="A target: items that this share of the users hold, such as 1%, are to stand out of the noise."
        ),
    ] = None,
    like: Annotated[
        str,
        typer.Option(
            help="How unequal the items are: zipf, power-law, retail, kosarak-100k, kosarak, or a file (FIMI)."
        ),
    ] = "zipf",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the table to a .csv, .parquet or .arrow file, or all to a .json."),
    ] = None,
    json: Json = False,
    plot: Plot = None,
    force: Force = False,
) -> None:
    """Compare the mechanisms before anything is collected, and say which to take and why.

    With --epsilon, all of them at that budget; without, the best at 0.5, 1, 2
    and 4. With a target (an error or a share), the least epsilon that reaches it;
    with a target and --epsilon, the number of users it takes.

    Example: localdp advise --items 5000 --users 200000 --smallest-share 1%
    """
    from localdp.advice import advise
    from localdp.cli.output import check_outputs, save_plot

    check_outputs(force, out, plot)
    advice = advise(items, users, epsilon=epsilon, target_error=target_error, smallest_share=smallest_share, like=like)
    _work_out(advice)
    if out is not None:
        _write(advice, out)
    if plot is not None:
        save_plot(advice.plot(), plot)
    print(advice.to_json() if json else advice)


def _work_out(advice: Advice) -> None:
    """The expected errors take a moment each; results remember them."""
    from localdp.cli.output import progress

    with progress("expected errors") as update:
        for done, option in enumerate(advice.options):
            update(done, len(advice.options) + 1)
            _ = option.calibrated_error
        update(len(advice.options), len(advice.options) + 1)
        _ = advice.curve


def _write(advice: Advice, path: Path) -> None:
    from localdp.cli.output import write
    from localdp.formats.atomic_write import atomic_write

    if path.suffix.lower() != ".json":
        write(advice.table(), path)
        return
    with atomic_write(path) as unfinished:
        unfinished.write_text(advice.to_json() + "\n", "utf-8")
