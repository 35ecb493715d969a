"""The command line, `localdp`: one file for each command. Heavy imports wait until a command runs."""

from localdp.cli.main import main

__all__ = ["main"]
