"""The paper's evaluation, run again (`reproduce`), and the demonstration (`localdp demo`)."""

from localdp.experiments.reproduce import reproduce

__all__ = ["reproduce"]
