"""The command line, `localdp`: one file for each command. Heavy imports wait until a command runs."""

from __future__ import annotations


def main() -> None:
    """Run the command in `sys.argv` and end the process with its exit code."""
    from localdp.cli import signals

    with signals.quiet_while_importing():
        from localdp.cli.app import run
    run()


__all__ = ["main"]
