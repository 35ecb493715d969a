"""HEAVY HITTERS and the top k: which items to name, and the resulting list."""

from localdp.hitters.result import HeavyHitters

__all__ = ["HeavyHitters"]
