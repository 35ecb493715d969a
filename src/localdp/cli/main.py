"""The commands, and how they end: 0, or one clear line and 2 for what cannot be used, 130 for Ctrl-C."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from localdp.cli.output import fail
from localdp.errors import LocalDPError

UsageError: Any = typer.BadParameter.__base__  # of whichever click this typer brings: some carry their own

app = typer.Typer(
    name="localdp",
    help="Learn how many people have each item without anyone handing over their item.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command that was asked for, and end the process with its exit code."""
    try:
        sys.exit(app(standalone_mode=False))
    except UsageError as error:
        asked = error.ctx.command_path if error.ctx is not None else "localdp"
        fail(f"{error.format_message().rstrip('.')}; see {asked} --help")
    except LocalDPError as error:
        fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        fail("interrupted", code=130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        fail(f"{where}{error.strerror or error}")


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False) -> None:
    if version:
        from localdp import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for the picture and the report.")] = Path(
        "localdp-demo"
    ),
) -> None:
    """See what the software does, on 908,576 real sales of a supermarket, in under half a minute.

    Example: localdp demo
    """
    from localdp.demo import run

    run(out)


@app.command()
def reproduce(
    dataset: Annotated[
        list[str] | None, typer.Option(help="retail, kosarak (a surrogate) or kosarak-100k; may be repeated.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Your own data instead: a FIMI file or a spectrum, plain or gzipped.")
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Trials of every experiment (20; 3 if quick).", min=1)] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")] = Path("localdp-reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer trials and epsilons: about a minute.")] = False,
) -> None:
    """Run every experiment of the Calibrate paper and write figures, tables and a report.

    Example: localdp reproduce --quick --dataset retail
    """
    from localdp.cli.reproduce import run

    run(dataset or [], data, trials, out, quick)
