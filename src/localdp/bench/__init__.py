"""Speed, measured in one run (`localdp bench`): localdp, two other libraries ("peers"), the limits of the machine."""

from localdp.bench.run import bench

__all__ = ["bench"]
