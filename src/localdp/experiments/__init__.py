"""The evaluation of the paper, run anew: trials, their means, figures, what the paper says and whether it holds."""

from localdp.experiments.reproduce import reproduce

__all__ = ["reproduce"]
