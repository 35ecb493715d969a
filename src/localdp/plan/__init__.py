"""The plan that everybody shares, the reports made under it on devices, and the aggregate that counts them."""

from localdp.plan.aggregate import Aggregate
from localdp.plan.plan import Plan
from localdp.plan.reports import Reports

__all__ = ["Aggregate", "Plan", "Reports"]
