"""What the commands that speak to a collector share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from localdp.surveys import Collector

Url = Annotated[str, typer.Option(help="The address of the collector.", envvar="LOCALDP_URL")]
Token = Annotated[
    str,
    typer.Option(
        help="A token of the collector; better in the environment, because others may see the commands that run.",
        envvar="LOCALDP_TOKEN",
        show_default=False,
    ),
]
HERE = "http://127.0.0.1:8321"


def collector_at(url: str, token: str) -> Collector:
    check_installed()
    from localdp.surveys import Collector

    return Collector(url, token)


def check_installed() -> None:
    """An error that names the extra, if the packages of the collector are not installed."""
    from localdp.errors import MissingPackageError

    try:
        import localdp.surveys  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingPackageError.of_extra("this command", str(error.name), "collector") from None
