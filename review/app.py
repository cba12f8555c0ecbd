"""The ASGI application: routes, who may pass, and what strangers, storms and outages get."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from db import sessions
from db.access_log import Action
from db.people import Person
from db.review_store import Store
from review import guards, strays
from review.access import missing
from review.background import background
from review.headers import SecurityHeaders
from review.pages import oidc, sign_in
from review.pages.password import FIRST_PASSWORD_PAGES
from review.people import carried, keys
from review.routes import PAGES
from review.templating import STATIC, Templates
from review.turns import TooManyAtOnce
from review.web import (
    BODY_BYTES,
    FORM_COOKIE,
    SESSION_COOKIE,
    Page,
    Refused,
    Site,
    Visit,
    new_token,
    refusal_json,
    set_cookie,
)
from worker.adapters.openid_provider import OpenIdProvider
from worker.errors import StorageUnavailable
from worker.settings import ReviewSettings

log = structlog.get_logger(__name__)

UNSAFE: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
AWAY: Final = Refused(503, "The database does not answer", "Nothing was lost. Try again in a moment.")


class FirstPassword(Refused):
    """Somebody whose first password is not replaced yet wants another page."""


def build(settings: ReviewSettings) -> Starlette:
    """The application; it connects when it starts."""
    origin = urlsplit(settings.review_url)
    site = Site(
        settings=settings,
        store=Store(settings.database_url.get_secret_value()),
        templates=Templates(),
        provider=_provider(settings),
    )
    hosts = {origin.hostname or "localhost", "127.0.0.1", "localhost", "[::1]"}

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with site.store, background(site):
            yield

    routes = [_route(site, page) for page in PAGES]
    app = Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=STATIC), name="static")],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=sorted(hosts), www_redirect=False),
            Middleware(RequestBodyLimitMiddleware, max_body_size=BODY_BYTES),
        ],
        exception_handlers={HTTPException: strays.unrouted(site), Exception: strays.fault(site)},
        lifespan=lifespan,
    )
    # outside of everything: what Starlette answers to a fault of ours passes by no other middleware
    app.middleware_stack = SecurityHeaders(app.build_middleware_stack(), https=origin.scheme == "https")
    app.state.site = site
    app.state.pages = PAGES
    app.state.forms = frozenset(
        page.name for page in PAGES if "POST" in page.methods and page.right is not None and not page.api
    )
    return app


def _provider(settings: ReviewSettings) -> OpenIdProvider | None:
    if settings.oidc_issuer is None:
        return None
    secret = settings.oidc_client_secret
    return OpenIdProvider(
        settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        client_secret=secret.get_secret_value() if secret else None,
        redirect_uri=settings.review_url.rstrip("/") + oidc.BACK,
    )


def _route(site: Site, page: Page) -> Route:
    limit = Middleware(RequestBodyLimitMiddleware, max_body_size=page.body_bytes)
    return Route(page.path, _endpoint(site, page), methods=page.methods, name=page.name, middleware=[limit])


def _endpoint(site: Site, page: Page) -> Callable[[Request], Any]:
    """The handler behind authentication, authorization and CSRF."""

    async def endpoint(request: Request) -> Response:
        visit = Visit(site=site, request=request, someone=None, token="", now=site.now())
        try:
            await _identify(visit, page)
            async with _turn(visit):
                await _admit(visit, page)
                response = await page.handler(visit)
        except Refused as refused:
            response = await _refusal(visit, page, refused)
        except StorageUnavailable as error:
            log.warning("review_storage_unavailable", kind=error.kind)
            return await _without_database(visit, page)
        finally:
            await visit.form.close()
        if FORM_COOKIE not in request.cookies and visit.someone is None and visit.token:
            set_cookie(response, FORM_COOKIE, visit.token)
        return response

    return endpoint


@asynccontextmanager
async def _turn(visit: Visit) -> AsyncIterator[None]:
    """What one person asks for, a few at a time, so that nobody alone holds up everybody."""
    if visit.someone is None:
        yield
        return
    try:
        async with visit.site.turns.of(visit.someone.person_id):
            yield
    except TooManyAtOnce as error:
        text = "You have more requests under way than are answered at once. Wait for them to end."
        raise Refused(429, "Too many at once", text, retry_after_s=5) from error


async def _identify(visit: Visit, page: Page) -> None:
    """Find out who asks: by session; the JSON face also takes API tokens."""
    request, site = visit.request, visit.site
    if page.api and (scheme_and_key := request.headers.get("Authorization")) is not None:
        visit.someone = await keys.person_of(visit, scheme_and_key)
        visit.via_api = True
        return
    if (token := request.cookies.get(SESSION_COOKIE)) is not None:
        visit.someone = await _session(site, token, visit)
    visit.token = token if visit.someone and token else request.cookies.get(FORM_COOKIE) or new_token()


async def _session(site: Site, token: str, visit: Visit) -> Person | None:
    now, idle = visit.now, timedelta(seconds=site.settings.review_idle_s)
    async with site.store.single() as connection:
        found = await sessions.person_of(connection, token, now=now, idle=idle)
        if found is None:
            return None
        person, due = found
        if due:
            await sessions.seen(connection, token, now=now)
    return None if person.disabled else person


async def _admit(visit: Visit, page: Page) -> None:
    """Read the form and refuse whoever may not be here.

    Raises:
        Refused: 401, 403 or 404.
    """
    request = visit.request
    if page.body_bytes > BODY_BYTES and visit.someone is None:
        raise Refused(401, "Sign in first", "Your session has ended, or you were not signed in.")
    guarded = request.method in UNSAFE and page.csrf
    if guarded:
        visit.form = await request.form(max_fields=2000, max_part_size=BODY_BYTES)
        guards.check_origin(visit)
    guards.check_text(visit)
    if visit.someone is None and page.right is not None:
        raise Refused(401, "Sign in first", "Your session has ended, or you were not signed in.")
    if guarded:
        guards.check_token(visit)
    if page.right is None:
        return
    if (user_id := request.path_params.get("account")) is not None:
        visit.require(page.right, user_id)
    elif not visit.may(page.right):
        raise Refused(403, "Not allowed", missing(page.right))
    if visit.person.must_change_password and page.name not in FIRST_PASSWORD_PAGES:
        raise FirstPassword(
            403, "Choose a password first", "Your first password has to be replaced at the pages."
        )


async def _without_database(visit: Visit, page: Page) -> Response:
    """503; whoever sent a form gets back what they typed, to be sent again by them."""
    request = visit.request
    if request.method not in UNSAFE or page.right is None:
        return await _refusal(visit, page, AWAY)
    visit.form = await request.form(max_fields=2000, max_part_size=BODY_BYTES)
    visit.token = visit.token or request.cookies.get(SESSION_COOKIE, "")
    try:
        guards.check_origin(visit)
        guards.check_token(visit)
    except Refused as refused:
        return visit.render("refused.html", status=refused.status, refused=refused)
    kept = carried.of_request(request, visit.form)
    if kept is None:
        return await _refusal(visit, page, AWAY)
    return visit.render("carried.html", status=503, carried=kept, away=True)


async def _refusal(visit: Visit, page: Page, refused: Refused) -> Response:
    if isinstance(refused, FirstPassword) and not page.api:
        return visit.redirect("password")
    if visit.someone is not None and refused.status == 403:
        with suppress(StorageUnavailable):  # refused all the same
            await visit.log(Action.REFUSED, detail={"page": page.name, "title": refused.title})
    if page.api:
        response = refusal_json(refused)
        if refused.status == 401:
            response.headers["WWW-Authenticate"] = 'Bearer realm="hushgate"'
        return response
    if refused.status == 401:
        return sign_in.asked(visit)
    response = visit.render("refused.html", status=refused.status, refused=refused)
    if refused.retry_after_s:
        response.headers["Retry-After"] = str(refused.retry_after_s)
    return response
