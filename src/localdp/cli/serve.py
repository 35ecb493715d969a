"""`localdp serve`: a collector that takes uploads by HTTP."""

from __future__ import annotations

import os
import signal
import tempfile
from typing import Annotated

import typer

from localdp.cli.signals import received
from localdp.collector.settings import GIBIBYTE, Settings


def command(
    db: Annotated[
        str, typer.Option(help="The database: a file of SQLite, or postgresql://host/name.", envvar="LOCALDP_DB")
    ] = Settings.database,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at; 0 takes a free one.", min=0, max=65535)] = 8321,
    keep_days: Annotated[
        int | None,
        typer.Option(help="Drop raw uploads so many days after they were counted.", min=0, show_default="keep all"),
    ] = None,
    most_body: Annotated[
        int, typer.Option(help="The longest body of a request, in bytes.", min=1024)
    ] = Settings.most_body,
    most_reports: Annotated[
        int, typer.Option(help="Reports in one upload to a plan that needs no token, at most.", min=1)
    ] = Settings.most_reports,
    rate: Annotated[
        float,
        typer.Option(
            help="Requests a second for each address (each /64 of IPv6), and ten times as many at once; "
            "64 KiB of a body count as one; 0 means no limit.",
            min=0.0,
        ),
    ] = Settings.rate,
    day_gib: Annotated[
        float, typer.Option(help="GiB of uploads that a plan takes on one day; 0 means no limit.", min=0.0)
    ] = Settings.day_bytes / GIBIBYTE,
    plan_gib: Annotated[
        float, typer.Option(help="GiB of uploads that are kept of a plan; 0 means no limit.", min=0.0)
    ] = Settings.plan_bytes / GIBIBYTE,
    database_gib: Annotated[
        float, typer.Option(help="GiB of the database, beyond which no uploads are taken; 0: no limit.", min=0.0)
    ] = Settings.database_bytes / GIBIBYTE,
    publish_every: Annotated[
        float,
        typer.Option(
            help="Seconds between two refreshes of the tables that SQL reads, and of the feed; 0 means never.", min=0.0
        ),
    ] = Settings.publish_every,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Show a plan with simulated users, in a database that is thrown away at the end."),
    ] = False,
) -> None:
    """Collect reports by HTTP, and answer analysts.

    The first start prints a token for the administrator, unless
    LOCALDP_ADMIN_TOKEN holds one. The extra collector must be installed.

    The address shows a dashboard; with --demo there is something to see in it.

    Example: localdp serve --db collector.db --port 8321
    """
    from localdp.errors import InvalidInputError, MissingPackageError

    try:
        from localdp.collector.server import bound, run
        from localdp.collector.service import Service
    except ModuleNotFoundError as error:
        raise MissingPackageError.of_extra("a collector", str(error.name), "collector") from None
    if demo and db != Settings.database:
        raise InvalidInputError("--demo has a database of its own, which is thrown away: leave out --db")
    listening = bound(host, port)
    if demo:
        folder = tempfile.TemporaryDirectory(prefix="localdp-demo-")
        db = os.path.join(folder.name, "demo.db")  # noqa: PTH118
    limits = {"most_body": most_body, "most_reports": most_reports}
    quotas = {
        f"{name}_bytes": int(gib * GIBIBYTE)
        for name, gib in (("day", day_gib), ("plan", plan_gib), ("database", database_gib))
    }
    service = Service(
        Settings(database=db, keep_days=keep_days, rate=rate, publish_every=publish_every, **limits, **quotas)
    )
    token = service.first_token()
    if token is not None:
        typer.echo(f"admin token, shown this once: {token}")
    shown_host = f"[{host}]" if ":" in host else host
    address = f"http://{shown_host}:{listening.getsockname()[1]}"
    if demo:
        from localdp.collector.demo import Demo

        typer.echo("making three weeks of simulated reports ...")
        shoppers = Demo(service, address)
        shoppers.fill()
        shoppers.start()
    if demo or token is not None:
        typer.echo("open the address below in a browser and sign in with the admin token; stop with Ctrl+C")
    typer.echo(f"listening at {address}")
    try:
        run(service, listening)
    except KeyboardInterrupt:
        if received() != signal.SIGTERM:
            raise  # by Ctrl-C; to be told to end by a service manager is no failure
