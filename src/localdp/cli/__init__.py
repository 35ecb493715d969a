"""The command line: `localdp --help`. Commands are imported when they run, so that help is instant."""

from localdp.cli.main import main

__all__ = ["main"]
