"""localdp: how many people have each item, without anyone handing over their item.

    Encode, Perturb   t_u = PE(item of user u)                 on the device; spends epsilon
    Aggregate         c_i = #{u : i in Support(t_u)}           integers, mergeable
    Estimate          fhat_i = (c_i - n q*) / (p* - q*)        unbiased

>>> import localdp as ldp
>>> plan = ldp.Plan(["tea", "coffee", "water"], epsilon=1.0)
>>> est = plan.aggregate(plan.privatize(["tea", "water", "tea"])).estimate()
>>> est.n, est.frequencies.size
(3, 3)
"""

from localdp import datasets, errors, mechanisms
from localdp.domain import Domain
from localdp.errors import LocalDPError
from localdp.estimate import Estimate
from localdp.mechanisms import Channel, Mechanism
from localdp.plan import Aggregate, Plan, Reports

__version__ = "0.1.0.dev0"

__all__ = [
    "Aggregate",
    "Channel",
    "Domain",
    "Estimate",
    "LocalDPError",
    "Mechanism",
    "Plan",
    "Reports",
    "datasets",
    "errors",
    "mechanisms",
]
