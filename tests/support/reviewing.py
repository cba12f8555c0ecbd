"""A person at the review pages without a browser: the real application on a real database."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeAlias, TypeVar

import pytest
from httpx2 import Response
from starlette.testclient import TestClient
from uuid_utils.compat import uuid7

from db.connection import Connection
from db.people import records
from db.people.records import Person, Role, RoleGrant
from db.review_store import Store
from review.app import build_app
from review.auth import passwords
from review.figures import reused
from review.queues import queue_filler
from review.services.first_run import FirstRunServices
from worker.settings import ReviewSettings

Value = TypeVar("Value")
ADDRESS = "https://127.0.0.1"
FIGURES_REUSE_S = 0.0
"""Each page counts its figures again, however slow the machine is."""
PASSWORD = "a long enough password"
NUMBERS = count(1)
TOKEN = re.compile(r"hg_[\w-]{40,}")
CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')


def settings_at(url: str, **environment: str) -> ReviewSettings:
    """Settings of review pages on this database."""
    known = {"DATABASE_URL": url, "REDIS_URL": "redis://127.0.0.1:1/0", "HUSHGATE_REVIEW_URL": ADDRESS}
    return ReviewSettings.model_validate(known | environment)


def stored(url: str, change: Callable[[Connection], Awaitable[Value]]) -> Value:
    """What a change gives, in one transaction in the role of the review pages."""

    async def run() -> Value:
        async with Store(url, size=1) as store, store.writing() as connection:
            return await change(connection)

    return asyncio.run(run())


def fill_queues(url: str) -> None:
    """Fill the open queues, as the review server does beside answering."""

    async def run() -> None:
        async with Store(url, size=1) as store:
            await queue_filler.fill_open(store, datetime.now(UTC))

    asyncio.run(run())


def add_person(url: str, *roles: Role, account: str = records.EVERY_ACCOUNT, login: str = "") -> Person:
    """A person with these roles on one account, or on all; the password is ``PASSWORD``."""
    login = login or f"person-{next(NUMBERS)}"

    async def change(connection: Connection) -> Person:
        person_id = uuid7()
        await records.add_person(
            connection,
            person_id,
            login=login,
            name=login.title(),
            password_hash=await passwords.hash_password(PASSWORD),
            must_change_password=False,
            created_by="test",
        )
        for role in roles:
            await records.grant_role(
                connection, person_id, RoleGrant(user_id=account, role=role), granted_by="test"
            )
        found = await records.get_person(connection, person_id)
        assert found is not None
        return found

    return stored(url, change)


def zone_at(hour: int) -> str:
    """A time zone whose present hour is this one."""
    offset = (hour - datetime.now(UTC).hour + 12) % 24 - 12
    return f"Etc/GMT{-offset:+d}"  # the signs of these names are those of POSIX


class Visitor:
    """A browser without scripts: cookies, and the form token of the last page."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.csrf = ""

    def get(self, path: str, **options: Any) -> Response:
        """Follow a link; redirects are not followed unless asked for."""
        return self._seen(self.client.get(path, follow_redirects=options.pop("follow", False), **options))

    def post(self, path: str, **fields: Any) -> Response:
        """Send a form with the token of the last page."""
        body = {"csrf": self.csrf} | fields
        headers = {"Sec-Fetch-Site": "same-origin", "Origin": ADDRESS}
        return self._seen(self.client.post(path, data=body, headers=headers, follow_redirects=False))

    def sign_in(self, person: Person) -> Response:
        """Sign in with ``PASSWORD``."""
        self.get("/sign-in")
        response = self.post("/sign-in", login=person.login, password=PASSWORD, next="/")
        assert response.status_code == 303, response.text
        self.get("/")
        return response

    def _seen(self, response: Response) -> Response:
        if found := CSRF.search(response.text):
            self.csrf = found[1]
        return response


Visitors: TypeAlias = Callable[[], Visitor]
"""A running site: called for one more visitor with cookies of their own."""


def signed_in(visitors: Visitors, person: Person) -> Visitor:
    """One more visitor, signed in with ``PASSWORD``."""
    visitor = visitors()
    visitor.sign_in(person)
    return visitor


def person_at(
    visitors: Visitors, url: str, *roles: Role, account: str = records.EVERY_ACCOUNT
) -> tuple[Visitor, Person]:
    """A new person with these roles, a reviewer without any, and their signed-in visitor."""
    person = add_person(url, *(roles or (Role.REVIEWER,)), account=account)
    return signed_in(visitors, person), person


def api_token(owner: Visitor, *scopes: str, days: str = "9") -> str:
    """A new API token of a signed-in person, which may read unless scopes are named."""
    owner.get("/profile/tokens")
    made = owner.post("/profile/tokens", name="mine", days=days, scope=scopes or ("read",))
    found = TOKEN.search(made.text)
    assert found is not None, made.text[:2000]
    return found[0]


def token_status(visitors: Visitors, token: str) -> int:
    """The status of the JSON API's list of decisions for a token."""
    return visitors().get("/api/v1/decisions", headers={"Authorization": f"Bearer {token}"}).status_code


@contextmanager
def site(url: str, **environment: str) -> Iterator[Visitors]:
    """The running application; call what is given for one more visitor with cookies of their own."""
    with site_with(FirstRunServices(), url, **environment) as visitor:
        yield visitor


@contextmanager
def site_with(first_run: FirstRunServices, url: str, **environment: str) -> Iterator[Visitors]:
    """The same with services for the first steps."""
    app = build_app(settings_at(url, **environment), first_run=first_run)
    with pytest.MonkeyPatch.context() as patch, TestClient(app, base_url=ADDRESS) as client:
        patch.setattr(reused, "REUSE_S", FIGURES_REUSE_S)

        def visitor() -> Visitor:
            return Visitor(_jar(client, app))

        yield visitor


def _jar(running: TestClient, app: Any) -> TestClient:
    number = next(NUMBERS)
    address = f"10.0.{number // 250}.{number % 250}"
    other = TestClient(app, base_url=ADDRESS, client=(address, 50_000))
    other.portal = running.portal  # the loop in which the application started
    return other
