"""`localdp itemsets`: the items, and the combinations of items, that the most users hold together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from localdp.cli.options import EVERY_USER, Column, Force, Header, Json, TableFile, budget_of, numeric


def command(
    sets: Annotated[
        Path,
        typer.Argument(
            help="A .csv, .parquet or .arrow file with one set of items for each user, a .dat file with the items of "
            "one user on each line, or - for CSV on standard input."
        ),
    ],
    epsilon: Annotated[str, EVERY_USER],
    items: Annotated[
        Path | None,
        typer.Option(help="The file with all items that there are: .csv, .parquet, .arrow, or .txt with one a line."),
    ] = None,
    size: Annotated[
        str | None, numeric("Instead of --items: the number of items, which are 0, 1, 2 and so on.")
    ] = None,
    top: Annotated[str, numeric("How many to find, at most 1,000.")] = "16",
    largest: Annotated[str, numeric("The most items of a combination, at most 10; 1 finds single items.")] = "4",
    other: Annotated[
        str | None, typer.Option(help="A catch-all item, which stands for every item that is not listed.")
    ] = None,
    column: Column = None,
    header: Header = None,
    separator: Annotated[str, typer.Option(help="What stands between the items of one cell.")] = ";",
    out: TableFile = None,
    json: Json = False,
    force: Force = False,
) -> None:
    """Find which items, and which combinations, the most users hold.

    Every row is one user with a set of items. Each is drawn into one of four
    groups, and makes one private report, with secure randomness.

    Example: localdp itemsets baskets.csv --items products.txt --epsilon 2
    """
    from localdp import files
    from localdp import sets as survey
    from localdp.cli.output import check_inputs, check_no_columns, check_outputs, give, progress
    from localdp.cli.plan import items_in, number_of
    from localdp.domain import Domain
    from localdp.errors import InvalidInputError, UnknownItemError
    from localdp.item_sets import ItemSets
    from localdp.reading import whole_number

    if (items is None) == (size is None):
        raise InvalidInputError("the items must be known: give a file with --items, or their number with --size")
    budget = budget_of(epsilon)
    wanted, most = whole_number(top, "--top"), whole_number(largest, "--largest")
    transactions = check_no_columns(sets, column, header)
    check_inputs(sets)
    check_outputs(force, out)
    count = whole_number(size, "--size")
    if items is not None:
        domain = Domain(items_in(items, None, None)[0], other)
    else:
        domain = Domain(count or 0, number_of(other))
    read = None if transactions else files.format_of(sets).with_header(header)
    try:
        with progress("values") as update:
            pieces = [held for held, _ in files.sets(sets, column, domain, read, separator=separator, progress=update)]
    except UnknownItemError as error:
        message = str(error).replace("the plan does not list", "is not among the items")
        raise UnknownItemError(f"{message}: name a catch-all with --other") from None
    with progress("rounds") as update:
        found = survey.itemsets(
            ItemSets.joined(pieces), domain, epsilon=budget, top=wanted or 1, largest=most or 1, progress=update
        )
    give(found.table(), json, found.notes, out)
