"""Checks that anybody can run on a mechanism or a prior of their own, and that this library runs on all of its own.

>>> from localdp.mechanisms import RandomizedResponse
>>> check_mechanism(RandomizedResponse)

A failed check raises `CheckFailure` with a sentence that says what was found.
"""

from localdp.checks.failure import CheckFailure
from localdp.checks.mechanism import MECHANISM_CHECKS, check_mechanism
from localdp.checks.prior import PRIOR_CHECKS, check_prior

__all__ = ["MECHANISM_CHECKS", "PRIOR_CHECKS", "CheckFailure", "check_mechanism", "check_prior"]
