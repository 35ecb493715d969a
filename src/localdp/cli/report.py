"""`localdp report`: the report of one device, for scripts and cron."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from localdp.cli.options import among
from localdp.reading import one_of

if TYPE_CHECKING:
    from localdp.client import Client, Delivery


EVERY = ("day", "week", "month", "year")
NOT_ASKED = "the part under way does not ask this device, which may be asked in a later one"


def command(
    plan: Annotated[
        Path,
        typer.Option(
            "--plan",
            "-p",
            help="The plan file that `localdp plan` wrote, or the document of a discovery, a survey of sets or a "
            "questionnaire.",
        ),
    ],
    store: Annotated[
        Path,
        typer.Option(help="The folder of this device: its secret, and what it has spent. It is made if it is missing."),
    ],
    value: Annotated[
        str | None,
        typer.Argument(
            help="The value of this device. A dash reads a line from standard input, which other users cannot see. "
            "If people hold sets: the items, with semicolons between them. Of a questionnaire: the answers in JSON, "
            'such as {"diet": "vegan"}.'
        ),
    ] = None,
    part: Annotated[
        Path | None,
        typer.Option(
            help="The document of the part under way, in a discovery or a survey of sets. With --upload it is fetched."
        ),
    ] = None,
    upload: Annotated[str | None, typer.Option(help="Send the report to this address, now or later.")] = None,
    token: Annotated[
        str | None, typer.Option(envvar="LOCALDP_TOKEN", help="The write token, better given as LOCALDP_TOKEN.")
    ] = None,
    most: Annotated[float, typer.Option(help="The cap: what this device spends at most, under all plans.")] = 8.0,
    most_epsilon: Annotated[float, typer.Option(help="Refuse a plan with a larger epsilon.")] = 4.0,
    wait: Annotated[float, typer.Option(help="With --upload, try again for up to this many seconds.")] = 0.0,
    once: Annotated[
        bool, typer.Option("--once", help="With --upload: send one report, however often this is called.")
    ] = False,
    every: Annotated[
        str | None,
        among(EVERY, "With --upload: send one report in each of these periods, however often this is called."),
    ] = None,
) -> None:
    """Report the value of one device, within its budget.

    Asked again, the device answers from the same permanent response. In a
    discovery or a survey of sets it answers one part, if that asks it, and once.

    Without --upload, the report is printed as JSON. Without a value, reports that are still waiting are sent.

    Every call sends one more report, unless --once or --every says otherwise.

    Example: localdp report --plan plan.json --store ~/.local/share/localdp tea
    """
    from localdp.cli.output import fail
    from localdp.client import Client
    from localdp.errors import InvalidInputError, PlanError

    if value is None and upload is None:
        raise InvalidInputError("give the value of this device, or --upload to send reports that are still waiting")
    if (once or every is not None) and (value is None or upload is None):
        raise InvalidInputError("--once and --every limit what is sent: give a value and --upload with them")
    if every is not None:
        one_of(every, "--every", EVERY)
    text = plan.read_bytes()
    try:
        client = Client(text, store=store, upload=upload, token=token, most=most, most_epsilon=most_epsilon)
    except PlanError as error:
        raise type(error)(f"{plan}: {error}") from error
    given = sys.stdin.readline().rstrip("\r\n") if value == "-" else value
    item = None if given is None else client.study.typed(given)
    document = None if part is None else part.read_bytes()
    if upload is None:
        _show(client, client.report(item, document), document)
        return
    if item is None:
        done = client.flush(wait)
    elif once or every is not None:
        done = client.send_once(item, document, every=every)
    else:
        done = client.send(item, document)
    if item is not None and done.waiting and wait:
        done = client.flush(wait).after(done)
    typer.echo(f"{_outcome(done)}; {_spent(client)}")
    if done.dropped:
        fail("; ".join(dict.fromkeys(done.dropped)))


def _show(client: Client, report: bytes | None, document: bytes | None) -> None:
    """Print a report as JSON, or that there is none."""
    if report is not None:
        place = client.place if document is None else None
        part = client.study.part_in(document) if place is None else client.study.part_at(place)
        if part is not None:
            print(part.plan.read(report).to_json())
    told = "" if report is not None else f"{NOT_ASKED}; "
    typer.echo(f"{told}{_spent(client)}", err=True)


def _outcome(done: Delivery) -> str:
    notes = [f"next attempt in {done.pause:.0f} s"] if done.waiting and done.pause else []
    if done.elsewhere:
        notes.append(f"{done.elsewhere} of them for a collector of another plan")
    waits = f" ({', '.join(notes)})" if notes else ""
    trouble = f": {done.trouble}" if done.trouble else ""
    if not done.asked:
        return NOT_ASKED
    return f"{done.delivered} delivered, {done.waiting} waiting{waits}{trouble}"


def _spent(client: Client) -> str:
    return f"spent epsilon {client.spent:.6g} of at most {client.most:g}"
