"""Structures: prior knowledge about how items belong together, and Calibrate with it."""

from localdp.structures.base import Ground, Structure
from localdp.structures.crossed import Crossed
from localdp.structures.like import Like
from localdp.structures.ordered import Ordered

__all__ = ["Crossed", "Ground", "Like", "Ordered", "Structure"]
