"""The PLAN that everybody shares, the reports that devices make under it, and AGGREGATE, which counts them."""

from localdp.plan.aggregate import Aggregate
from localdp.plan.plan import Plan
from localdp.plan.reports import Reports

__all__ = ["Aggregate", "Plan", "Reports"]
