"""The list of commands, and the exit codes.

0: success. 2, with one line on standard error: input or options that cannot be used. 3: the command did its work, but
the result is hardly of use, as a warning says. 1, with one line: the machine failed, for example because the disk is
full. 128 plus the number of the signal, so 130 for Ctrl-C: the command was stopped. Commands import what they need when
they run, so that `--help` answers at once.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from localdp.cli.output import fail, note
from localdp.cli.signals import received
from localdp.errors import LocalDPError

COMMANDS = (
    *("demo", "advise", "plan", "privatize", "report", "aggregate", "estimate", "hitters", "compare", "discover"),
    *("itemsets", "serve", "studies", "apply", "describe", "pull", "backup", "restore", "reproduce", "bench"),
)
"""The commands, each in the file of its name, in the order of `localdp --help`."""
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
for name in COMMANDS:
    app.command(name, cls=_Command)(import_module(f"localdp.cli.{name}").command)


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False) -> None:
    if version:
        from localdp import __version__

        typer.echo(__version__)
        raise typer.Exit


def run() -> None:
    """Run the command in `sys.argv` and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # so that any item can be shown on any terminal
    warnings.showwarning = lambda message, *_args, **_options: note(str(message))
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except UsageError as error:
        if not error.format_message():  # no command was given, and the help was shown
            sys.exit(2)
        asked = error.ctx.command_path if error.ctx is not None else "localdp"
        said = error.format_message().rstrip(".").replace("Input should be", "it must be").split(", unable to parse")[0]
        fail(f"{said}; see {asked} --help")
    except LocalDPError as error:
        fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:  # whoever read our output wants no more of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that Python can flush it at the end
        sys.exit(1)
    except (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        fail(_sentence(error))
    except MemoryError:
        fail("there is not enough memory", code=1)
    except OSError as error:
        fail(_sentence(error), code=1)
    if code == INTERRUPTED:
        if 128 + received() != INTERRUPTED:
            os._exit(128 + received())  # Python would report what it cannot flush to a terminal that is gone
        fail("interrupted", INTERRUPTED)
    sys.exit(code)


def _sentence(error: OSError) -> str:
    if error.errno == errno.ENOENT and error.strerror == os.strerror(errno.ENOENT) and error.filename:
        folder = Path(os.fsdecode(error.filename)).absolute().parent
        where = f"it was looked for in {folder}" if folder.is_dir() else f"there is no folder {folder}"
        return f"{error.filename}: {error.strerror}; {where}"
    if not error.filename and not error.strerror:  # raised by this library, with a sentence
        return str(error)
    return f"{error.filename or 'the system'}: {error.strerror or error}"
