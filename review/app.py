"""The ASGI application: routes, authentication, authorization, and the answers to refusals and outages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final
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

from db.access_log import LoggedAction
from db.costs.limit_figures import LoadAccountFigures
from db.people import sessions
from db.people.records import Person
from db.review_store import Store
from review.access import missing_right_message
from review.auth import api_tokens, form_replay, oidc_pages, sign_in_page
from review.auth.password_page import FIRST_PASSWORD_PAGES
from review.auth.second_factor_page import PAGES_WITHOUT_FACTOR
from review.background import run_background
from review.content_covers import with_organisation_covers
from review.figures.reused import ReusedFigures
from review.http import form_guards
from review.http.error_handlers import TooLargeProblem, answer_in_language, error_page
from review.http.headers import SecurityHeaders, UndeclaredProxy
from review.http.page_routes import PageRoute
from review.http.parameters import UnusableParameter, read_query
from review.http.templating import STATIC, Templates
from review.http.visit import (
    BODY_BYTES,
    FORM_COOKIE,
    SESSION_COOKIE,
    Refused,
    Site,
    Visit,
    new_token,
    set_cookie,
)
from review.languages import gettext as _
from review.languages import mark
from review.languages.reader import load_languages
from review.languages.times import load_formats
from review.routes import PAGES
from review.services.first_run import FirstRunServices
from review.services.openid_provider import OpenIdProvider
from worker.errors import StorageUnavailable
from worker.payload import is_account_name
from worker.places import NoPlace
from worker.settings import ReviewSettings
from worker.supervisor import JobFailed, unreported

log = structlog.get_logger(__name__)

EXPIRES_HEADER: Final = "Hushgate-Token-Expires"
UNSAFE: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
DATABASE_DOWN: Final = Refused(
    503, mark("The database does not answer"), mark("Nothing was lost. Try again in a moment.")
)
SIGN_IN_FIRST: Final = Refused(
    401, mark("Sign in first"), mark("Your session has ended, or you were not signed in.")
)
MISSING_SCOPE: Final = (
    "This API token does not have the scope {}. Scopes are chosen when a token is made, at /profile/tokens."
)


class SecondFactorRequired(Refused):
    """The person must set up a second factor before opening other pages."""


class PasswordChangeRequired(Refused):
    """The person must replace their first password before opening other pages."""


def build_app(
    settings: ReviewSettings,
    more_pages: Sequence[PageRoute] = (),
    limit_figures: LoadAccountFigures | None = None,
    first_run: FirstRunServices | None = None,
    job_failed: JobFailed = unreported,
) -> Starlette:
    """The application, with pages from outside this package; connects at its start.

    Without ``limit_figures`` the use of limits is not known; without ``first_run`` neither models nor
    messages can be tested. ``job_failed`` receives bugs in background tasks.
    """
    pages = (*PAGES, *more_pages)
    origin, replica = urlsplit(settings.review_url), settings.read_database_url
    site = Site(
        settings=settings,
        store=Store(
            settings.database_url.get_secret_value(),
            replica_url=replica.get_secret_value() if replica else None,
        ),
        templates=Templates(),
        provider=_provider(settings),
        limit_figures=limit_figures,
        first_run=first_run or FirstRunServices(),
        reused_figures=ReusedFigures(),
        job_failed=job_failed,
        undeclared_proxy=UndeclaredProxy(settings.review_proxies),
    )
    hosts = {origin.hostname or "localhost", "127.0.0.1", "localhost", "[::1]"}

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        load_languages()
        load_formats()
        async with site.store, run_background(site):
            yield

    routes = [guarded_route(site, page) for page in pages]
    app = Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=STATIC), name="static")],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=sorted(hosts), www_redirect=False),
            Middleware(RequestBodyLimitMiddleware, max_body_size=BODY_BYTES),
        ],
        exception_handlers={HTTPException: error_page(site), Exception: error_page(site)},
        lifespan=lifespan,
    )
    # outermost: Starlette's answer to an unhandled exception passes no other middleware
    stack = TooLargeProblem(app.build_middleware_stack())
    app.middleware_stack = SecurityHeaders(stack, https=origin.scheme == "https")
    app.state.site = site
    app.state.pages = pages
    app.state.forms = frozenset(
        page.name for page in pages if "POST" in page.methods and page.right is not None and not page.api
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
        redirect_uri=settings.review_url.rstrip("/") + oidc_pages.BACK,
    )


def guarded_route(site: Site, page: PageRoute) -> Route:
    """The handler behind authentication, authorization and CSRF."""

    async def endpoint(request: Request) -> Response:
        site.undeclared_proxy.look(request)
        visit = Visit(site=site, request=request, signed_in=None, token="", now=site.now())
        answer_in_language(visit, english=page.api)
        try:
            await _identify(visit, page)
            answer_in_language(visit, english=page.api)
            async with _request_slot(visit):
                await _admit(visit, page)
                _read_parameters(visit, page)
                response = await page.handler(visit)
        except Refused as refused:
            # some refusals are constants: with a traceback they would keep the requests that they ended
            response = await _refusal(visit, page, refused.with_traceback(None))
        except StorageUnavailable as error:
            log.warning("review_storage_unavailable", kind=error.kind)
            return await _without_database(visit, page)
        finally:
            await visit.form.close()
        if visit.api_token is not None:
            response.headers[EXPIRES_HEADER] = visit.api_token.expires_at.isoformat()
        if FORM_COOKIE not in request.cookies and visit.signed_in is None and visit.token:
            set_cookie(response, FORM_COOKIE, visit.token)
        return response

    limit = Middleware(RequestBodyLimitMiddleware, max_body_size=page.body_bytes)
    return Route(page.path, endpoint, methods=page.methods, name=page.name, middleware=[limit])


@asynccontextmanager
async def _request_slot(visit: Visit) -> AsyncIterator[None]:
    """Limit the concurrent requests of one person, so that one person cannot block all others."""
    if visit.signed_in is None:
        yield
        return
    try:
        async with visit.site.requests.of(visit.signed_in.person_id):
            yield
    except NoPlace as error:
        text = _("You have sent too many requests at the same time. Wait for them to end.")
        raise Refused(429, _("Too many at once"), text, retry_after_s=5) from error


async def _identify(visit: Visit, page: PageRoute) -> None:
    """Find the person by session; the JSON API also takes API tokens, and only them for changes."""
    request = visit.request
    if page.api and (authorization := _authorization(request)) is not None:
        visit.api_token, visit.signed_in = await api_tokens.token_person(visit, authorization)
        return
    if page.api and request.method in UNSAFE:
        raise api_tokens.TOKEN_FIRST  # a form of another site would carry the cookie
    token = request.cookies.get(SESSION_COOKIE) if visit.site.takes_sessions else None
    if token is not None:
        visit.signed_in = await _session_person(visit, token)
    visit.token = token if visit.signed_in and token else request.cookies.get(FORM_COOKIE) or new_token()


def _authorization(request: Request) -> str | None:
    """The header ``Authorization``, or that of the API token in ``X-Api-Key``, as LiteLLM sends it."""
    key = request.headers.get("X-Api-Key")
    return request.headers.get("Authorization", None if key is None else f"Bearer {key}")


async def _session_person(visit: Visit, token: str) -> Person | None:
    now = visit.now
    async with visit.store.autocommit() as connection:
        found = await sessions.session_person(connection, token, now=now)
        if found is None:
            return None
        person, due = found
        if due:
            await sessions.mark_seen(connection, token, now=now)
    return None if person.disabled else with_organisation_covers(person, visit.site.settings)


async def _admit(visit: Visit, page: PageRoute) -> None:
    """Read the form; refuse a false form, and people without the right (401, 403 or 404)."""
    request = visit.request
    if page.body_bytes > BODY_BYTES and visit.signed_in is None:
        raise SIGN_IN_FIRST
    guarded = request.method in UNSAFE and page.csrf and not page.api
    if guarded:
        await _read_form(visit)
        form_guards.check_origin(visit)
    form_guards.check_text(visit)
    if visit.signed_in is None and page.right is not None:
        raise SIGN_IN_FIRST
    if guarded:
        form_guards.check_token(visit)
    if page.right is None:
        return
    if visit.api_token is not None and page.scope not in visit.api_token.scopes:
        raise Refused(403, "Not allowed", MISSING_SCOPE.format(page.scope))
    if (user_id := request.path_params.get("account")) is not None:
        visit.require(page.right, user_id)
    elif not visit.may(page.right):
        raise Refused(403, _("Not allowed"), missing_right_message(page.right))
    _require_set_up(visit, page)


def _require_set_up(visit: Visit, page: PageRoute) -> None:
    """Refuse people who must first replace their first password or set up a second factor."""
    if visit.api_token is not None:  # of a person who was set up, or of the command line
        return
    if visit.person.must_change_password and page.name not in FIRST_PASSWORD_PAGES:
        raise PasswordChangeRequired(
            403, "Choose a password first", "You must replace your first password on the review pages."
        )
    if visit.must_have_factor and page.name not in PAGES_WITHOUT_FACTOR:
        raise SecondFactorRequired(
            403, "Set up a second factor first", "Your organisation asks for it: open your profile."
        )


def _read_parameters(visit: Visit, page: PageRoute) -> None:
    """Read the query of a route of the JSON API; refuse (400) parameters that cannot be used.

    A name that no account can have is not found (404).
    """
    if not page.api:
        return
    if not is_account_name(visit.request.path_params.get("account", "any")):
        raise Refused(404, _("Not found"), _("There is nothing here, or you may not see it."))
    try:
        visit.query = read_query(visit.request.query_params, page.query)
    except UnusableParameter as unusable:
        title = "A parameter cannot be used"
        raise Refused(400, title, f"{unusable}.", problems=unusable.problems) from unusable


async def _read_form(visit: Visit) -> None:
    visit.form = await visit.request.form(max_fields=2000, max_part_size=BODY_BYTES)


async def _without_database(visit: Visit, page: PageRoute) -> Response:
    """503; a sent form is shown again with its values, so that the person can send it again."""
    request = visit.request
    if request.method not in UNSAFE or page.right is None or page.api:
        return await _refusal(visit, page, DATABASE_DOWN)
    await _read_form(visit)
    visit.token = visit.token or request.cookies.get(SESSION_COOKIE, "")
    try:
        form_guards.check_origin(visit)
        form_guards.check_token(visit)
    except Refused as refused:
        return visit.render("refused.html", status=refused.status, refused=refused)
    if (form := form_replay.keep_form(request, visit.form)) is None:
        return await _refusal(visit, page, DATABASE_DOWN)
    return visit.render("send_again.html", status=503, form=form, database_down=True)


async def _refusal(visit: Visit, page: PageRoute, refused: Refused) -> Response:
    if isinstance(refused, PasswordChangeRequired) and not page.api:
        return visit.redirect("password")
    if isinstance(refused, SecondFactorRequired) and not page.api:
        return visit.redirect("second_factor")
    if visit.signed_in is not None and refused.status == 403:
        with suppress(StorageUnavailable):  # the refusal does not depend on its log line
            await visit.log(LoggedAction.REFUSED, detail={"page": page.name, "title": refused.title})
    if page.api:
        response = page.refuse(refused)
        if refused.status == 401:
            response.headers["WWW-Authenticate"] = 'Bearer realm="hushgate"'
        return response
    if refused.status == 401:
        return sign_in_page.ask_to_sign_in(visit)
    response = visit.render("refused.html", status=refused.status, refused=refused)
    if refused.retry_after_s:
        response.headers["Retry-After"] = str(refused.retry_after_s)
    return response
