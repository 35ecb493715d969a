"""`localdp serve`: a collector that takes uploads by HTTP."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    db: Annotated[
        str, typer.Option(help="The database: a file of SQLite, or postgresql://user@host/name.", envvar="LOCALDP_DB")
    ] = "localdp.db",
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at; 0 takes a free one.", min=0, max=65535)] = 8321,
    keep_days: Annotated[
        int | None,
        typer.Option(help="Drop raw uploads so many days after they were counted.", min=0, show_default="keep all"),
    ] = None,
    most_body: Annotated[int, typer.Option(help="The longest body of a request, in bytes.", min=1024)] = 8 << 20,
    rate: Annotated[float, typer.Option(help="Requests a second for each address; 0 means no limit.", min=0.0)] = 0.0,
) -> None:
    """Collect reports by HTTP, and answer analysts.

    The first start prints a token for the administrator, unless
    LOCALDP_ADMIN_TOKEN holds one. The extra collector must be installed.

    Example: localdp serve --db collector.db --port 8321
    """
    from localdp.errors import MissingPackageError

    try:
        from localdp.collector.server import bound, run
        from localdp.collector.service import Service
        from localdp.collector.settings import Settings
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            f"a collector needs the package {error.name}: pip install 'localdp[collector]'"
        ) from None
    listening = bound(host, port)
    service = Service(Settings(database=db, keep_days=keep_days, most_body=most_body, rate=rate))
    token = service.first_token()
    if token is not None:
        typer.echo(f"admin token, shown this once: {token}")
    shown_host = f"[{host}]" if ":" in host else host
    typer.echo(f"listening at http://{shown_host}:{listening.getsockname()[1]}")
    run(service, listening)
