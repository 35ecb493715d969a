"""The routes of the collector: one file for each kind, all of them listed in ROUTES."""

from localdp.collector.routes import (
    advice,
    answers,
    data,
    discoveries,
    operation,
    plans,
    standing,
    studies,
    tokens,
    uploads,
)
from localdp.collector.routes.route import Route

ROUTES: tuple[Route, ...] = (
    uploads.ROUTE,
    *plans.ROUTES,
    *advice.ROUTES,
    *answers.ROUTES,
    *data.ROUTES,
    *standing.ROUTES,
    *studies.ROUTES,
    *discoveries.ROUTES,
    *tokens.ROUTES,
    *operation.ROUTES,
)
"""Every route. That of the uploads comes first, because it is asked for most."""
