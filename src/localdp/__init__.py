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

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localdp import checks, datasets, engines, errors, mechanisms, metrics, plots, priors, questions, sets, studies
    from localdp.advice import Advice, advise
    from localdp.amplification import Amplified, amplified
    from localdp.changes import Difference, difference, history
    from localdp.client import Client
    from localdp.discovery import Discovery, DiscoveryClient, Found, discover
    from localdp.domain import Domain
    from localdp.errors import DoubtfulEstimateWarning, LocalDPError
    from localdp.estimate import Estimate
    from localdp.estimate.calibrated import Calibrated
    from localdp.hitters import HeavyHitters
    from localdp.mechanisms import Channel, Mechanism
    from localdp.plan import Aggregate, Plan, Reports
    from localdp.priors import (
        NPMLE,
        Bulk,
        FittedPrior,
        Fixed,
        Gaussian,
        Laplace,
        Monotone,
        OptIn,
        ParametricFamily,
        Poisson,
        PowerLaw,
        Prior,
        Smooth,
    )
    from localdp.questionnaires import Questionnaire
    from localdp.questions import Choice, Choices, Question, Scale
    from localdp.structures import Crossed, Like, Ordered, Structure
    from localdp.table import Table

__version__ = "0.2.0"

__all__ = [
    "NPMLE",
    "Advice",
    "Aggregate",
    "Amplified",
    "Bulk",
    "Calibrated",
    "Channel",
    "Choice",
    "Choices",
    "Client",
    "Crossed",
    "Difference",
    "Discovery",
    "DiscoveryClient",
    "Domain",
    "DoubtfulEstimateWarning",
    "Estimate",
    "FittedPrior",
    "Fixed",
    "Found",
    "Gaussian",
    "HeavyHitters",
    "Laplace",
    "Like",
    "LocalDPError",
    "Mechanism",
    "Monotone",
    "OptIn",
    "Ordered",
    "ParametricFamily",
    "Plan",
    "Poisson",
    "PowerLaw",
    "Prior",
    "Question",
    "Questionnaire",
    "Reports",
    "Scale",
    "Smooth",
    "Structure",
    "Table",
    "advise",
    "amplified",
    "checks",
    "datasets",
    "difference",
    "discover",
    "engines",
    "errors",
    "history",
    "mechanisms",
    "metrics",
    "plots",
    "priors",
    "questions",
    "sets",
    "studies",
]

_MODULES = (
    "checks",
    "datasets",
    "engines",
    "errors",
    "mechanisms",
    "metrics",
    "plots",
    "priors",
    "questions",
    "sets",
    "studies",
)

_SOURCES = {
    **dict.fromkeys(("Advice", "advise"), "advice"),
    **dict.fromkeys(("Amplified", "amplified"), "amplification"),
    **dict.fromkeys(("Aggregate", "Plan", "Reports"), "plan"),
    **dict.fromkeys(("Channel", "Mechanism"), "mechanisms"),
    **dict.fromkeys(("Choice", "Choices", "Question", "Scale"), "questions"),
    **dict.fromkeys(("Discovery", "DiscoveryClient", "Found", "discover"), "discovery"),
    **dict.fromkeys(("DoubtfulEstimateWarning", "LocalDPError"), "errors"),
    **dict.fromkeys(("Difference", "difference", "history"), "changes"),
    **dict.fromkeys(("Crossed", "Like", "Ordered", "Structure"), "structures"),
    "Calibrated": "estimate.calibrated",
    "Client": "client",
    "Domain": "domain",
    "Estimate": "estimate",
    "HeavyHitters": "hitters",
    "Questionnaire": "questionnaires",
    "Table": "table",
}
"""The module of each public name that is neither a module itself nor a prior."""


def __getattr__(name: str) -> Any:
    """Import a public name at first use: NumPy and SciPy take longer to load than `localdp --help` takes to answer."""
    if name not in __all__:
        raise AttributeError(f"module 'localdp' has no attribute {name!r}")
    if name in _MODULES:
        found: Any = importlib.import_module(f"localdp.{name}")
    else:
        found = getattr(importlib.import_module(f"localdp.{_SOURCES.get(name, 'priors')}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """What is public, for `dir` and for completion; the other modules of the package are not part of it."""
    return sorted([*__all__, "__version__"])
