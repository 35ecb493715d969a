"""The command line, `localdp`: one file for each command. Heavy imports wait until a command runs."""

from __future__ import annotations

import os


def main() -> None:
    """Run the command in `sys.argv` and end the process with its exit code."""
    # Before NumPy is imported: threads of BLAS wait busily for each other, and for matrices as small as ours that is
    # most of the work on a busy machine. The result of a questionnaire took 44 seconds of processors instead of 5.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from localdp.cli import signals

    with signals.quiet_while_importing():
        from localdp.cli.app import run
    run()


__all__ = ["main"]
