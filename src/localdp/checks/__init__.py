"""Public checks for authors of a mechanism or a prior; the tests run them on all mechanisms and priors of the library.

>>> from localdp.mechanisms import RandomizedResponse
>>> check_mechanism(RandomizedResponse)

Nothing is printed if all checks pass. A failed check raises `CheckFailure`; its message says what was checked, what was
found and what was expected.
"""

from localdp.checks.failure import CheckFailure
from localdp.checks.mechanism import MECHANISM_CHECKS, check_mechanism
from localdp.checks.prior import PRIOR_CHECKS, check_prior

__all__ = ["MECHANISM_CHECKS", "PRIOR_CHECKS", "CheckFailure", "check_mechanism", "check_prior"]
