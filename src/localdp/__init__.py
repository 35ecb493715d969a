"""localdp: how many people have each item, without anyone handing over their item.

    Encode, Perturb   t_u = PE(item of user u)                 on the device; spends epsilon
    Aggregate         c_i = #{u : i in Support(t_u)}           integers, mergeable
    Estimate          fhat_i = (c_i - n q*) / (p* - q*)        unbiased
    Calibrate         ftilde_i = E[f | fhat_i],  f ~ p_f,  fhat = f + s,  s ~ N(0, n q*(1-q*)/(p*-q*)^2)

>>> import localdp as ldp
>>> plan = ldp.Plan(["tea", "coffee", "water"], epsilon=1.0)
>>> est = plan.aggregate(plan.privatize(["tea", "water", "tea"])).estimate()
>>> est.n, est.frequencies.size
(3, 3)
"""

from typing import TYPE_CHECKING, Any

from localdp import datasets, errors, mechanisms, metrics
from localdp.domain import Domain
from localdp.errors import DoubtfulEstimateWarning, LocalDPError
from localdp.estimate import Estimate
from localdp.hitters import HeavyHitters
from localdp.mechanisms import Channel, Mechanism
from localdp.plan import Aggregate, Plan, Reports
from localdp.table import Table

if TYPE_CHECKING:
    from localdp.advice import Advice, advise
    from localdp.estimate.calibrated import Calibrated
    from localdp.priors import (
        NPMLE,
        Bulk,
        FittedPrior,
        Fixed,
        Gaussian,
        Laplace,
        Monotone,
        OptIn,
        Poisson,
        PowerLaw,
        Prior,
        Smooth,
    )

__version__ = "0.1.0.dev0"

__all__ = [
    "NPMLE",
    "Advice",
    "Aggregate",
    "Bulk",
    "Calibrated",
    "Channel",
    "Domain",
    "DoubtfulEstimateWarning",
    "Estimate",
    "FittedPrior",
    "Fixed",
    "Gaussian",
    "HeavyHitters",
    "Laplace",
    "LocalDPError",
    "Mechanism",
    "Monotone",
    "OptIn",
    "Plan",
    "Poisson",
    "PowerLaw",
    "Prior",
    "Reports",
    "Smooth",
    "Table",
    "advise",
    "datasets",
    "errors",
    "mechanisms",
    "metrics",
]


def __getattr__(name: str) -> Any:
    """Import priors and advice at first use: they need SciPy, which takes longer to load than all the rest together."""
    if name in __all__:
        import importlib

        sources = {"Calibrated": "localdp.estimate.calibrated", "Advice": "localdp.advice", "advise": "localdp.advice"}
        source = sources.get(name, "localdp.priors")
        return getattr(importlib.import_module(source), name)
    raise AttributeError(f"module 'localdp' has no attribute {name!r}")
