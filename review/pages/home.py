"""Where people land, and what machines ask."""

from __future__ import annotations

import structlog
from starlette.responses import PlainTextResponse, Response

from review.web import Visit

log = structlog.get_logger(__name__)


async def home(visit: Visit) -> Response:
    """Where people land."""
    return visit.render("home.html")


async def health(_: Visit) -> Response:
    """That the server answers; says nothing about Postgres and nothing to strangers."""
    return PlainTextResponse("ok\n")


async def csp_report(_: Visit) -> Response:
    """A browser says that a page broke the content security policy: a defect of ours, or an attack."""
    log.warning("csp_violation")
    return Response(status_code=204)
