"""ESTIMATE and its results: unbiased frequencies, calibrated frequencies, and the questions that both can answer."""

from localdp.estimate.estimate import Estimate
from localdp.estimate.frequencies import Frequencies

__all__ = ["Estimate", "Frequencies"]
