"""Raw, post-processed and calibrated frequencies side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from localdp.hitters.result import SHARE
from localdp.priors import FittedPrior, Prior
from localdp.table import Table
from localdp.validation import checked_list

if TYPE_CHECKING:
    from localdp.estimate.calibrated import Calibrated
    from localdp.estimate.estimate import Estimate


def comparison(
    estimate: Estimate, prior: Prior | FittedPrior | str | Sequence[Prior | FittedPrior | str], level: float
) -> Table:
    """The table of `Estimate.compare`: with intervals for one prior, with a column for each of several."""
    if isinstance(prior, str | Prior | FittedPrior):
        return beside(estimate, estimate.calibrate(prior), level)
    columns, title = _raw_columns(estimate), _title(estimate)
    names = []
    for one in checked_list(prior, "priors"):
        found = estimate.calibrate(one).frequencies
        names.append(_free_name(one, columns))
        columns[names[-1]] = found
    return Table(columns, f"{title} {', '.join(names)}")


def beside(estimate: Estimate, calibrated: Calibrated, level: float) -> Table:
    """Raw estimates and what was calibrated from them, with intervals."""
    columns = _raw_columns(estimate)
    columns |= {"calibrated": calibrated.frequencies, "share": calibrated.frequencies / estimate.n}
    columns["low"], columns["high"] = calibrated.interval(level)
    structure = calibrated.structured
    by = calibrated.prior.name if structure is None else f"{structure.structure.name} and {calibrated.prior.name}"
    return Table(columns, f"{_title(estimate)} {by}, intervals of {100 * level:g}%", {"share": SHARE})


def _raw_columns(estimate: Estimate) -> dict[str, Any]:
    return {
        "item": estimate.domain.items,
        "raw": estimate.frequencies,
        "zeroed": estimate.zeroed().frequencies,
        "norm-sub": estimate.project("norm-sub").frequencies,
    }


def _title(estimate: Estimate) -> str:
    return f"{estimate.domain.size:,} items among {estimate.n:,} users, calibrated by"


def _free_name(prior: Prior | FittedPrior | str, columns: dict[str, Any]) -> str:
    """The name of the prior, with a number if there is a column of that name already."""
    name = prior if isinstance(prior, str) else prior.name
    numbered = (f"{name} {number}" for number in range(2, len(columns) + 3))
    return name if name not in columns else next(other for other in numbered if other not in columns)
