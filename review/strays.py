"""Answers that belong to no page: unknown addresses, wrong methods, bodies too large, faults of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from review.web import Refused, Site, Visit, refusal_json

TITLES: Final = {
    404: ("Not found", "There is nothing at this address."),
    405: ("Not possible", "This page does not take that kind of request."),
    413: ("Too large", "What was sent is larger than this page takes."),
}
FAULT: Final = Refused(
    500,
    "Something broke here",
    "This is a fault of Hushgate, not of yours, and it is in the log. What you sent may not be stored: go"
    " back and look. If it breaks again, tell whoever runs Hushgate here which page it was, and when.",
)


def unrouted(site: Site) -> Callable[[Request, Exception], Any]:
    """What nobody's page is: an unknown address, a wrong method, too large a body."""

    async def handle(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        title, text = TITLES.get(status, ("Not possible", "The request could not be understood."))
        return _plain(site, request, Refused(status, title, text))

    return handle


def fault(site: Site) -> Callable[[Request, Exception], Any]:
    """What nobody foresaw: said without a trace, and raised again by Starlette for the log."""

    async def handle(request: Request, _: Exception) -> Response:
        return _plain(site, request, FAULT)

    return handle


def _plain(site: Site, request: Request, refused: Refused) -> Response:
    if request.url.path.startswith("/api/"):
        return refusal_json(refused)
    visit = Visit(site=site, request=request, someone=None, token="", now=site.now())
    return visit.render("refused.html", status=refused.status, refused=refused)
