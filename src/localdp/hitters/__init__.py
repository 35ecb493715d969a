"""HEAVY HITTERS and the top k: which items to name, and the list that results."""

from localdp.hitters.result import HeavyHitters

__all__ = ["HeavyHitters"]
