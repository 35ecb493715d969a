"""All checks of a mechanism: its definition, exact privacy, the stated channel, each user's noise, strict reading."""

from __future__ import annotations

from collections.abc import Callable

from localdp.checks.asking_again import check_asking_again
from localdp.checks.definition import check_definition
from localdp.checks.independence import check_value_independence
from localdp.checks.instances import EPSILONS, Kind
from localdp.checks.privacy import check_exact_privacy, check_stated_privacy
from localdp.checks.reports import check_merging, check_wire
from localdp.checks.sampling import check_estimates, check_large_domains, check_samples_match_channel
from localdp.checks.sets import check_sets
from localdp.checks.users import check_every_user, check_fresh_noise
from localdp.mechanisms import BUCKET_CHAINS, CHAINS, ORDERED_MECHANISMS, SET_MECHANISMS, create

MECHANISM_CHECKS: tuple[Callable[[Kind, int], None], ...] = (
    check_definition,
    check_exact_privacy,
    check_stated_privacy,
    check_asking_again,
    check_sets,
    check_samples_match_channel,
    check_estimates,
    check_large_domains,
    check_every_user,
    check_fresh_noise,
    check_value_independence,
    check_wire,
    check_merging,
)
"""Each takes a mechanism class and a seed."""


def check_mechanism(kind: Kind | str, seed: int = 0) -> None:
    """Run all checks on a mechanism class, or on one of the library's mechanisms by its name.

    Raises `CheckFailure` at the first check that fails. The seed makes the statistical checks reproducible.
    """
    resolved = _named(kind) if isinstance(kind, str) else kind
    for check in MECHANISM_CHECKS:
        check(resolved, seed)


def _named(name: str) -> Kind:
    """The class of one of the library's mechanisms."""
    with_options = CHAINS | BUCKET_CHAINS | SET_MECHANISMS | ORDERED_MECHANISMS
    return with_options[name] if name in with_options else type(create(name, 2, EPSILONS[0]).mechanism)
