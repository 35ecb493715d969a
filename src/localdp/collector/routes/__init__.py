"""The routes of the collector: one file for each kind, all of them listed in ROUTES."""

from localdp.collector.routes import (
    advice,
    answers,
    data,
    discoveries,
    feed,
    life,
    operation,
    plans,
    preview,
    standing,
    studies,
    tokens,
    uploads,
    wordings,
)
from localdp.collector.routes.route import Route

ROUTES: tuple[Route, ...] = (
    uploads.ROUTE,
    *plans.ROUTES,
    *advice.ROUTES,
    *preview.ROUTES,
    *answers.ROUTES,
    *data.ROUTES,
    *standing.ROUTES,
    *studies.ROUTES,
    *discoveries.ROUTES,
    *life.ROUTES,
    *wordings.ROUTES,
    *feed.ROUTES,
    *tokens.ROUTES,
    *operation.ROUTES,
)
"""Every route. That of the uploads comes first, because it is asked for most."""
