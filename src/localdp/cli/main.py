"""The list of commands, and the exit codes.

0: success. 2, with one line on standard error: input or options that cannot be used. 1, with one line: the machine
failed, for example because the disk is full. 130: Ctrl-C. Commands import what they need when they run, so that
`--help` answers at once.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from localdp.cli import advise, aggregate, bench, demo, estimate, hitters, plan, privatize, reproduce
from localdp.cli.output import fail
from localdp.errors import LocalDPError

INTERRUPTED = 130
UsageError: Any = typer.BadParameter.__base__  # some versions of typer carry their own click: take the class from it


class _PlainFlags:
    """Help without a type beside a flag, because a flag takes no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class _Command(_PlainFlags, TyperCommand):
    pass


class _Group(_PlainFlags, TyperGroup):
    pass


app = typer.Typer(
    name="localdp",
    cls=_Group,
    help="""Learn how many people have each item without anyone handing over their item.

    Start with demo. For your own data: plan, privatize, aggregate, estimate.
    """,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (demo, advise, plan, privatize, aggregate, estimate, hitters, reproduce, bench):
    app.command(module.__name__.rpartition(".")[2], cls=_Command)(module.command)


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False) -> None:
    if version:
        from localdp import __version__

        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command in `sys.argv` and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # so that any item can be shown on any terminal
    try:
        code = app(standalone_mode=False)
    except UsageError as error:
        if not error.format_message():  # no command was given, and the help was shown
            sys.exit(2)
        asked = error.ctx.command_path if error.ctx is not None else "localdp"
        fail(f"{error.format_message().rstrip('.')}; see {asked} --help")
    except LocalDPError as error:
        fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        fail(_sentence(error))
    except MemoryError:
        fail("there is not enough memory", code=1)
    except OSError as error:
        fail(_sentence(error), code=1)
    if code == INTERRUPTED:
        fail("interrupted", INTERRUPTED)
    sys.exit(code)


def _sentence(error: OSError) -> str:
    return f"{error.filename or 'the system'}: {error.strerror or error}"
