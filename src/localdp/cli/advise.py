"""`localdp advise`: compare mechanisms, epsilons and numbers of users before anything is collected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from localdp.cli.options import Force, Json, Plot

if TYPE_CHECKING:
    from localdp.advice import Advice

Epsilon = Annotated[float | None, typer.Option("--epsilon", "-e", help="The privacy budget of one report, in (0, 16].")]


def command(
    items: Annotated[int, typer.Option(help="The number of items.")],
    users: Annotated[int | None, typer.Option(help="The number of users; each holds one item.")] = None,
    epsilon: Epsilon = None,
    target_error: Annotated[
        str | None,
        typer.Option(help="A target: the standard error of a raw estimate, as a share of the users, such as 0.1%."),
    ] = None,
    up_to: Annotated[
        str | None,
        typer.Option(
            help="The target error is meant for items that up to this share of the users hold, such as 10%; for every "
            "item if it is not given."
        ),
    ] = None,
    smallest_share: Annotated[
        str | None,
        typer.Option(
            help="A target: items held by this share of the users, such as 1%, must stand out from the noise."
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            help="How frequencies are distributed: equal, exponential, zipf-0.5, zipf, zipf-1.5, held-30%, held-10%, "
            "held-3%, held-1%, held-0.3%, held-0.1%, retail, power-law, kosarak-100k, kosarak, or a FIMI file. "
            "Without it, several are tried."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write the table to a .csv, .parquet or .arrow file, or everything to a .json file."
        ),
    ] = None,
    json: Json = False,
    plot: Plot = None,
    force: Force = False,
) -> None:
    """Compare the mechanisms before anything is collected, and say which one to choose and why.

    With --epsilon, all mechanisms are compared at that budget; without it, the
    best one is shown at epsilon 0.5, 1, 2 and 4. With a target (an error or a
    share), the answer is the smallest epsilon that reaches it; with a target
    and --epsilon, it is the number of users that are needed.

    Example: localdp advise --items 5000 --users 200000 --smallest-share 1%
    """
    from localdp.advice import advise
    from localdp.cli.output import check_outputs, save_plot

    check_outputs(force, out, plot)
    advice = advise(
        items,
        users,
        epsilon=epsilon,
        target_error=target_error,
        up_to=up_to,
        smallest_share=smallest_share,
        like=like,
    )
    _compute(advice)
    if out is not None:
        _write(advice, out)
    if plot is not None:
        save_plot(advice.plot(), plot)
    print(advice.to_json() if json else advice)


def _compute(advice: Advice) -> None:
    """Compute the expected errors, which take a moment each, with a progress bar. The advice keeps them."""
    from localdp.cli.output import progress

    with progress("expected errors") as update:
        for done, option in enumerate(advice.options):
            update(done, len(advice.options) + 1)
            _ = option.calibrated
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
