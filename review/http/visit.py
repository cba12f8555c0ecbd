"""One request of a person (``Visit``), its answer or refusal (``Refused``), and the ``Site`` of all."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from markupsafe import Markup
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from db import access_log
from db.access_log import LogEntry, LoggedAction
from db.connection import Connection
from db.costs.limit_figures import LoadAccountFigures
from db.identifiers import parsed_id
from db.people.api_tokens import UsedToken, use_token
from db.people.records import Person
from db.review_store import Store
from review.access import Right, accounts_with, may, may_somewhere, missing_right_message
from review.connections import client_network
from review.figures.reused import ReusedFigures
from review.figures.rounds import Rounds
from review.http.field_problems import FieldProblem
from review.http.headers import UndeclaredProxy
from review.http.log_intervals import LoggedReadings, ReportCounter
from review.http.named_routes import page_path
from review.http.templating import Templates
from review.languages import gettext as _
from review.services.first_run import FirstRunServices
from review.services.openid_provider import OpenIdProvider
from review.shell.frame import page_frame
from worker.places import PlacesByKey
from worker.rates import LocalRates, RateLimit
from worker.settings import ReviewSettings
from worker.settings.review import SecondFactorDemand
from worker.supervisor import JobFailed, unreported

SESSION_COOKIE: Final = "__Host-hushgate"
BODY_BYTES: Final = 4_194_304
"""Largest form: a document of a few hundred pages as text."""
AT_ONCE: Final = 3
"""Concurrent requests of one person; the store has eight connections."""
WAITING: Final = 30
"""Queued requests of one person: more than a browser opens."""
READERS: Final = 2
"""Concurrent document readers: each takes up to 1 GiB. The memory limit of the service counts them."""
FORM_COOKIE: Final = "__Host-hushgate-form"
"""Carries the CSRF token before there is a session, so that the sign-in form is protected too."""


class Refused(Exception):
    """A request that is refused; title and text are shown to the person.

    Args:
        status: 400, 401, 403, 404, 409, 410, 413, 415, 422, 429, 500 or 503.
        title: a few words, the heading.
        text: what was expected, what came, what to do now.
        retry_after_s: when to try again; 0 when waiting does not help.
        problems: the wrong fields of a body of the JSON API.
    """

    def __init__(
        self,
        status: int,
        title: str,
        text: str,
        *,
        retry_after_s: int = 0,
        problems: Sequence[FieldProblem] = (),
    ) -> None:
        super().__init__(title)
        self.problems = tuple(problems)
        self.retry_after_s = retry_after_s
        self.status = status
        self.title = title
        self.text = text


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What all visits share."""

    settings: ReviewSettings
    store: Store
    templates: Templates
    provider: OpenIdProvider | None = None
    limit_figures: LoadAccountFigures | None = None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    readers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(READERS))
    uploads: PlacesByKey = field(default_factory=lambda: PlacesByKey(1, most_waiting=4))
    """Uploads by account, one at a time, so that no account takes all readers."""
    logged_readings: LoggedReadings = field(default_factory=LoggedReadings)
    csp_reports: ReportCounter = field(default_factory=ReportCounter)
    requests: PlacesByKey = field(default_factory=lambda: PlacesByKey(AT_ONCE, most_waiting=WAITING))
    rounds: Rounds = field(default_factory=Rounds)
    first_run: FirstRunServices = field(default_factory=FirstRunServices)
    reused_figures: ReusedFigures = field(default_factory=ReusedFigures)
    job_failed: JobFailed = unreported
    """Called with a bug in a background task; the program that serves the pages counts and reports it."""
    use_token: Callable[[Connection, str, datetime], Awaitable[tuple[UsedToken, Person] | None]] = use_token
    """Finds an API token and its owner."""
    takes_sessions: bool = True
    """False: API tokens alone identify people; the login of the process may not read sessions."""
    undeclared_proxy: UndeclaredProxy = field(default_factory=lambda: UndeclaredProxy(""))
    rates: LocalRates = field(default_factory=LocalRates)
    """Requests of pages without a session."""


@dataclass(slots=True, kw_only=True)
class Visit:
    """One request of one person.

    Attributes:
        signed_in: the signed-in person; None only where a page's right is None.
        now: when the visit began, UTC.
        form: the form's fields, CSRF already checked; empty on GET.
        token: what the CSRF token is made from: the session's or the form cookie's value.
        api_token: the API token of the request, if any.
        query: of the JSON API: the value of each parameter of the route, None for a missing one.
    """

    site: Site
    request: Request
    signed_in: Person | None
    token: str
    now: datetime
    form: FormData = field(default_factory=FormData)
    api_token: UsedToken | None = None
    query: Mapping[str, Any] = field(default_factory=dict)

    @property
    def person(self) -> Person:
        """The signed-in person, on every page that has a right."""
        if self.signed_in is None:
            raise Refused(401, _("Sign in first"), _("This page is for people who are signed in."))
        return self.signed_in

    @property
    def store(self) -> Store:
        """Postgres."""
        return self.site.store

    @property
    def address(self) -> str:
        """The client's IP address."""
        return self.request.client.host if self.request.client else ""

    @property
    def network(self) -> str:
        """What limits count as one client."""
        return client_network(self.address)

    @property
    def csrf(self) -> str:
        """The CSRF token that a form must carry."""
        return csrf_token(self.token)

    @property
    def partial(self) -> bool:
        """True when htmx asks for a part of the page."""
        return self.request.headers.get("HX-Request") == "true"

    def wait_s(self, rate: RateLimit, key: str) -> int:
        """Count a request with this key; whole seconds until the next one is answered, 0 for now."""
        return math.ceil(self.site.rates.take((rate, key), rate, time.monotonic()).wait_s)

    def field(self, name: str) -> str:
        """The text in a field of the form; empty without it."""
        return str(self.form.get(name, ""))

    def path_id(self, name: str, unless: Refused) -> UUID:
        """A UUID of the path; raises ``unless`` for another value."""
        if (found := parsed_id(self.request.path_params[name])) is None:
            raise unless
        return found

    def query_id(self, name: str) -> UUID | None:
        """A UUID in the query; None without it."""
        return parsed_id(self.request.query_params.get(name, ""))

    def field_id(self, name: str) -> UUID | None:
        """A UUID in a field of the form; None without it."""
        return parsed_id(self.field(name))

    @property
    def must_have_factor(self) -> bool:
        """Whether the person must set up a second factor before anything else."""
        settings, person = self.site.settings, self.signed_in
        if person is None or person.second_factor or not person.has_password:
            return False
        demand = settings.second_factor if settings.passwords_enabled else SecondFactorDemand.CHOICE
        administers = demand is SecondFactorDemand.ADMINISTRATORS and self.may(Right.ADMIN)
        return demand is SecondFactorDemand.EVERYONE or administers

    def accounts(self, right: Right = Right.VIEW) -> tuple[str, ...] | None:
        """The accounts this person has a right on: None for every account."""
        return accounts_with(self.person, right)

    def may(self, right: Right, user_id: str | None = None) -> bool:
        """Whether the person has a right, on one account or anywhere."""
        if self.signed_in is None:
            return False
        if user_id is None:
            return may_somewhere(self.signed_in, right)
        return may(self.signed_in, right, user_id)

    def require(self, right: Right, user_id: str) -> None:
        """Refuse (403) unless the person has the right on this account; 404 if they may not see it."""
        if self.may(right, user_id):
            return
        if not self.may(Right.VIEW, user_id):
            raise Refused(404, _("Not found"), _("There is nothing here, or you may not see it."))
        raise Refused(403, _("Not allowed"), missing_right_message(right, user_id))

    def url(self, name: str, /, **parameters: object) -> str:
        """The path of a page; an account's name may hold any character."""
        return page_path(self.request.app, name, parameters)

    def render(self, template: str, /, *, status: int = 200, **values: object) -> Response:
        """A page, or a part of one, from a template."""
        shared = {"visit": self, "Right": Right} | page_frame(self.may, self.request)
        body = self.site.templates.render(template, shared | values)
        return HTMLResponse(body, status_code=status)

    def fragment(self, template: str, /, **values: object) -> Markup:
        """A part of a page that the page includes."""
        return Markup(self.site.templates.render(template, {"visit": self, "Right": Right} | values))  # noqa: S704  # rendered with autoescaping

    def redirect(self, name: str, /, query: str = "", **parameters: object) -> Response:
        """A redirect to another page, by GET."""
        url = self.url(name, **parameters)
        return RedirectResponse(f"{url}?{query}" if query else url, status_code=303)

    def note_reading(self, name: str) -> bool:
        """Note that the person reads a list or page; False for a refresh, which needs no line of the log."""
        return self.site.logged_readings.note(self.person.person_id, name, self.now)

    async def log(
        self,
        action: LoggedAction,
        *,
        user_id: str | None = None,
        decision_id: UUID | None = None,
        detail: Mapping[str, Any] | None = None,
        connection: Connection | None = None,
    ) -> None:
        """Write a line of the access log, in the transaction of the connection or in its own."""
        entry = self.entry(action, user_id=user_id, decision_id=decision_id, detail=detail)
        if connection is not None:
            await access_log.append_entry(connection, entry)
            return
        async with self.store.autocommit() as own:
            await access_log.append_entry(own, entry)

    def entry(
        self,
        action: LoggedAction,
        *,
        user_id: str | None = None,
        decision_id: UUID | None = None,
        detail: Mapping[str, Any] | None = None,
        person: Person | None = None,
    ) -> LogEntry:
        """A line of the access log, by the signed-in person or the named person."""
        person = person or self.signed_in
        return LogEntry(
            action=action,
            person_id=person.person_id if person else None,
            person=person.login if person else "",
            user_id=user_id,
            decision_id=decision_id,
            detail=detail or {},
            address=self.address,
        )


def csrf_token(token: str) -> str:
    """The CSRF token of forms: derived from the cookie, so that nothing is stored."""
    return hmac.new(token.encode(), b"hushgate form", hashlib.sha256).hexdigest()


def csrf_matches(token: str, shown: object) -> bool:
    """Whether a form carries the right token."""
    return isinstance(shown, str) and hmac.compare_digest(csrf_token(token).encode(), shown.encode())


def new_token() -> str:
    """256 random bits for a cookie or an API token."""
    return secrets.token_urlsafe(32)


def set_cookie(response: Response, name: str, value: str, *, max_age: int | None = None) -> None:
    """Set a cookie that is HttpOnly, Secure and SameSite=Lax."""
    response.set_cookie(name, value, max_age, path="/", secure=True, httponly=True, samesite="lax")


def drop_cookie(response: Response, name: str) -> None:
    """Make the browser forget a cookie."""
    response.delete_cookie(name, path="/", secure=True, httponly=True, samesite="lax")
