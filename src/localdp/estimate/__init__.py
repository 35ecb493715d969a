"""ESTIMATE, and its results: unbiased frequencies from counts, calibrated ones from those, and what both can answer."""

from localdp.estimate.estimate import Estimate
from localdp.estimate.frequencies import Frequencies

__all__ = ["Estimate", "Frequencies"]
