"""CHANGES: did it change? Differences of two surveys, the history of many, and tests of whole tables."""

from localdp.changes.difference import Difference, difference
from localdp.changes.history import history

__all__ = ["Difference", "difference", "history"]
