"""Public checks for authors of a mechanism, a prior or a structure; the tests run them on all those of the library.

>>> from localdp.mechanisms import RandomizedResponse
>>> check_mechanism(RandomizedResponse)

Nothing is printed if all checks pass. A failed check raises `CheckFailure`; its message says what was checked, what was
found and what was expected.
"""

from localdp.checks.failure import CheckFailure
from localdp.checks.mechanism import MECHANISM_CHECKS, check_mechanism
from localdp.checks.prior import PRIOR_CHECKS, check_prior
from localdp.checks.structure import STRUCTURE_CHECKS, check_structure

__all__ = [
    "MECHANISM_CHECKS",
    "PRIOR_CHECKS",
    "STRUCTURE_CHECKS",
    "CheckFailure",
    "check_mechanism",
    "check_prior",
    "check_structure",
]
