"""`localdp advise`: compare mechanisms, epsilons and numbers of users before anything is collected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from localdp.cli.options import ONE_REPORT, Column, Force, Header, Json, Plot, among, budget_of, numeric

if TYPE_CHECKING:
    from localdp.advice import Advice

_HELD = tuple(f"held-{share}%" for share in ("30", "10", "3", "1", "0.3", "0.1"))
SHAPES = (
    *("equal", "exponential", "zipf-0.5", "zipf", "zipf-1.5"),
    *_HELD,
    *("retail", "power-law", "kosarak-100k", "kosarak"),
)


def command(
    data: Annotated[
        Path | None,
        typer.Argument(
            help="A file with earlier answers (.csv, .parquet, .arrow, or - for CSV on standard input), one for each "
            "user: the numbers of items and users, and how frequent the items are, are taken from it. Empty cells are "
            "left out."
        ),
    ] = None,
    column: Column = None,
    header: Header = None,
    items: Annotated[str | None, numeric("The number of items.")] = None,
    users: Annotated[str | None, numeric("The number of users; each holds one item.")] = None,
    epsilon: Annotated[str | None, ONE_REPORT] = None,
    once: Annotated[
        str | None,
        numeric(
            "For people who are asked again and again: the privacy budget of one report alone, below --epsilon, "
            "which then holds for all their reports together."
        ),
    ] = None,
    set_size: Annotated[str | None, numeric("For people who hold sets of items, usually of at most this many.")] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="LOW:HIGH[:STEP]",
            help="For numbers from LOW to HIGH, as in localdp plan: how well the mean and the median will be known.",
        ),
    ] = None,
    unlisted: Annotated[
        bool,
        typer.Option(help="For texts that nobody listed: which shares of the users localdp discover finds."),
    ] = False,
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
        among(
            SHAPES,
            f"How frequencies are distributed: {', '.join(SHAPES)}, or a FIMI file. Without it, several are tried.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the table to a .csv, .parquet or .arrow file, or everything to a .json file; - writes CSV to "
            "standard output.",
        ),
    ] = None,
    json: Json = False,
    plot: Plot = None,
    force: Force = False,
) -> None:
    """Compare the mechanisms before anything is collected, and say which one to choose and why.

    With a target (an error or a share), the answer is the smallest epsilon that
    reaches it; without one, the target is to detect an item that 1% of the users
    hold. With a target and --epsilon, the answer is the number of users that are
    needed. With --epsilon alone, all mechanisms are compared at that budget; with
    --once as well, those for people who are asked again and again, and with
    --set-size those for people who hold sets. With --scale, people answer with a
    number, and with --unlisted with a text that nobody listed.

    Example: localdp advise --items 5000 --users 200000 --smallest-share 1%
    """
    from localdp.advice import advise
    from localdp.cli.output import check_outputs, is_standard, read_answers, save_plot, write
    from localdp.errors import InvalidInputError
    from localdp.reading import optional_number, whole_number

    d, n = whole_number(items, "--items"), whole_number(users, "--users", least=0)
    budget = None if epsilon is None else budget_of(epsilon)
    if scale is not None:
        others = (data, column, header, items, once, set_size, target_error, up_to, smallest_share, like, plot)
        if unlisted or any(other is not None for other in others):
            raise InvalidInputError("--scale goes with --users, --epsilon, --out and --json, and with nothing else")
        _show_scale(scale, n, budget, out, json, force)
        return
    if unlisted:
        _show_unlisted(n, budget, json)
        return
    if data is None and d is None:
        raise InvalidInputError("say how many items there are with --items, or name a file with earlier answers")
    if data is None and (column is not None or header is not None):
        raise InvalidInputError("--column and --header are about a file with earlier answers: name the file, too")
    if up_to is not None and target_error is None:
        raise InvalidInputError("--up-to says for which items a target error is meant: give --target-error, too")
    check_outputs(force, out, plot)
    known = None if data is None else read_answers(data, column, header)
    advice = advise(
        d or known.d,  # type: ignore[union-attr]
        n if n is not None or known is None else known.n,
        epsilon=budget,
        once=optional_number(once, "--once"),
        set_size=whole_number(set_size, "--set-size"),
        target_error=target_error,
        up_to=up_to,
        smallest_share=smallest_share,
        like=known if like is None else like,
    )
    _compute(advice)
    if out is not None:
        write(advice.table(), out, advice.to_json())
    if plot is not None:
        save_plot(advice.plot(), plot)
    if out is None or not is_standard(out):
        print(advice.to_json() if json else advice)


def _show_scale(text: str, users: int | None, epsilon: float | None, out: Path | None, json: bool, force: bool) -> None:
    """How well the mean and the median of a scale will be known."""
    from localdp.advice import advise
    from localdp.cli.output import as_json, check_outputs, is_standard, write
    from localdp.cli.plan import scale_of
    from localdp.errors import InvalidInputError

    if users is None or epsilon is None:
        raise InvalidInputError("say how many people answer with --users, and with which --epsilon")
    check_outputs(force, out)
    advice = advise(scale_of(text, None), users, epsilon=epsilon)
    if out is not None:
        write(advice.table(), out)
    if out is None or not is_standard(out):
        print(as_json(advice.table()) if json else advice)


def _show_unlisted(users: int | None, epsilon: float | None, json: bool) -> None:
    """What a discovery of texts finds, at one epsilon or at several."""
    import numpy as np

    from localdp.cli.output import show
    from localdp.discovery import Discovery
    from localdp.errors import InvalidInputError, TooFewReportsError
    from localdp.table import Table

    if users is None:
        raise InvalidInputError("say how many users there are with --users")
    tried = (0.5, 1.0, 2.0, 4.0) if epsilon is None else (epsilon,)
    found, notes = [], []
    for one in tried:
        try:
            discovery = Discovery(epsilon=one, users=users)
        except TooFewReportsError as error:
            notes.append(str(error))
        else:
            found.append((one, discovery.reach.share(0.9), discovery.reach.share(0.5), discovery.expected_rounds))
    names = ("epsilon", "found 9 of 10 times", "found 1 of 2 times", "rounds")
    columns = dict(zip(names, np.array(found).reshape(-1, len(names)).T, strict=True))
    title = f"The smallest shares of {users:,} users whose texts are found, if nobody listed them"
    show(Table(columns, title, {"epsilon": "g", names[1]: ".2%", names[2]: ".2%"}), json, notes)


def _compute(advice: Advice) -> None:
    """Compute the expected errors, which take a moment each, with a progress bar. The advice keeps them."""
    from localdp.cli.output import progress

    with progress("expected errors") as update:
        for done, option in enumerate(advice.options):
            update(done, len(advice.options) + 1)
            _ = option.calibrated
        update(len(advice.options), len(advice.options) + 1)
        _ = advice.curve
