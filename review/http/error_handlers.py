"""Error answers outside any page: unknown addresses, wrong methods, bodies too large, internal errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import MAX_BODY_SIZE_SCOPE_KEY
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from review.http.visit import Refused, Site, Visit
from review.languages import mark
from review.languages.choice import LANGUAGE_COOKIE, ZONE_COOKIE, choose_language, choose_zone
from review.languages.reader import NO_READER, PageReader, answer_in


def answer_in_language(visit: Visit, *, english: bool = False) -> None:
    """Choose language and time zone; English and UTC where programs read the answer."""
    if english:
        answer_in(NO_READER)
        return
    headers, cookies, person = visit.request.headers, visit.request.cookies, visit.signed_in
    accepted = headers.get("Accept-Language", "")
    language = choose_language(person.language if person else None, cookies.get(LANGUAGE_COOKIE), accepted)
    zone = choose_zone(person.time_zone if person else None, cookies.get(ZONE_COOKIE))
    answer_in(PageReader(language=language, zone=zone, now=visit.now))


ANSWERS: Final = {
    404: (mark("Not found"), mark("There is nothing at this address.")),
    405: (mark("Not possible"), mark("This address does not accept this request method.")),
    413: (mark("Too large"), mark("The request is larger than this address accepts.")),
    500: (
        mark("Internal error"),
        mark(
            "Hushgate could not answer this request; the error is in the log. What you sent may not be"
            " stored: go back and check. If the error recurs, send the page and the time to the operator of"
            " Hushgate."
        ),
    ),
}
OTHER: Final = (mark("Not possible"), mark("The request could not be understood."))


def error_page(site: Site) -> Callable[[Request, Exception], Any]:
    """The handler of HTTP errors and of unexpected exceptions, which Starlette re-raises for the log."""

    async def handle(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        refused = Refused(status, *ANSWERS.get(status, OTHER))
        if request.url.path.startswith("/api/"):
            return with_allowed(request, problem_of(request.scope, status))
        visit = Visit(site=site, request=request, signed_in=None, token="", now=site.now())
        answer_in_language(visit)
        return with_allowed(request, visit.render("refused.html", status=status, refused=refused))

    return handle


def with_allowed(request: Request, response: Response) -> Response:
    """The response with the methods of the address, where it refuses another method (405)."""
    if response.status_code == 405:
        routes = [each for each in request.app.routes if isinstance(each, Route)]
        matching = [each for each in routes if each.matches(request.scope)[0] is not Match.NONE]
        closest = max(matching, key=lambda each: len(each.path)).path
        found = {method for each in matching if each.path == closest for method in each.methods or ()}
        response.headers["Allow"] = ", ".join(sorted(found))
    return response


def problem_of(scope: Scope, status: int) -> Response:
    """The JSON answer to a request that no page answered; of a body that is too large, with the limit."""
    title, text = ANSWERS.get(status, OTHER)
    if status == 413 and (most := scope.get(MAX_BODY_SIZE_SCOPE_KEY)):
        text = f"The body: expected at most {most:,} bytes, got more."
    return refusal_json(Refused(status, title, text))


def refusal_json(refused: Refused) -> Response:
    """A refusal as RFC 9457 problem details."""
    body = {"title": refused.title, "status": refused.status, "detail": refused.text}
    errors = {"errors": [asdict(each) for each in refused.problems]} if refused.problems else {}
    headers = {"Retry-After": str(refused.retry_after_s)} if refused.retry_after_s else None
    return JSONResponse(
        body | errors, status_code=refused.status, headers=headers, media_type="application/problem+json"
    )


class TooLargeProblem:
    """Replaces the plain text that Starlette's RequestBodyLimitMiddleware sends for any path."""

    def __init__(self, app: ASGIApp, *, under: str = "/api/") -> None:
        self._app, self._under = app, under

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve; refuse bodies that are too large in the JSON API's way."""
        if scope["type"] != "http" or not scope["path"].startswith(self._under):
            await self._app(scope, receive, send)
            return
        replaced = False

        async def send_problem(message: Message) -> None:
            nonlocal replaced
            if message["type"] == "http.response.start" and message["status"] == 413:
                plain = Headers(raw=message["headers"]).get("content-type", "").startswith("text/plain")
                if plain:
                    replaced = True
                    await problem_of(scope, 413)(scope, receive, send)
            if not replaced:
                await send(message)

        await self._app(scope, receive, send_problem)
