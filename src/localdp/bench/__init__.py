"""Speed, measured in one run: localdp, other libraries and what the machine can do at most; see `localdp bench`."""

from localdp.bench.run import bench

__all__ = ["bench"]
