"""The pages as ``hushgate review`` serves them: a fault of ours, and where a request says it comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import httpx2
import psycopg
import pytest
import uvicorn
from starlette.testclient import TestClient

from cli.deployment.loopback import free_address
from db.people import sessions
from db.people.records import Role
from review.http.headers import HEADERS
from review.http.visit import SESSION_COOKIE
from tests.support.browser.serving import serving
from tests.support.http_server import EMPTY, http_server
from tests.support.reviewing import add_person, stored
from tests.support.running import eventually
from tests.support.terminal import Shell, shell_at

CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')
TRACE = re.compile(r"Traceback|IntegrityError|violates|psycopg|\.py\b")
BREAK = "ALTER TABLE access_log ADD CONSTRAINT broken CHECK (action <> 'list') NOT VALID"
REPAIR = "ALTER TABLE access_log DROP CONSTRAINT broken"
Owner: TypeAlias = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def owner(database_url: str) -> Iterator[Owner]:
    """The database's owner."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def signed_in(url: str) -> dict[str, str]:
    """The header of a person with a session; browsers keep the cookie for https and loopback only."""
    person, now = add_person(url, Role.VIEWER), datetime.now(UTC)
    lasts = timedelta(hours=1)
    stored(
        url,
        lambda each: sessions.start_session(each, "t", person.person_id, now=now, lasts=lasts, address=""),
    )
    return {"Cookie": f"{SESSION_COOKIE}=t"}


def test_a_fault_of_ours_is_a_page_of_ours(
    owner: Owner, database_url: str, redis_url: str, tmp_path: Path
) -> None:
    """With every header and without a trace; the exception is in the log and goes to Sentry."""
    cookie = signed_in(database_url)
    with (
        http_server(lambda _: EMPTY) as (sentry, reports),
        serving(database_url, redis_url, tmp_path / "log", SENTRY_DSN=f"http://key@{sentry[7:]}/1") as url,
    ):
        owner.execute(BREAK)
        try:
            answers = [
                httpx2.get(url + path, headers=cookie, trust_env=False)
                for path in ("/decisions", "/api/v1/decisions")
            ]
        finally:
            owner.execute(REPAIR)
        assert [each.status_code for each in answers] == [500, 500]
        eventually(lambda: len(reports) > 1, "events at Sentry")

    wanted = HEADERS | {"Cache-Control": "no-store"}
    for answer in answers:
        assert {name: answer.headers.get(name) for name in wanted} == wanted
        assert not TRACE.search(answer.text)
    assert "<h1>Internal error</h1>" in answers[0].text
    assert answers[1].json()["title"] == "Internal error"
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert any(line.get("exception") == "CheckViolation" and line["frames"] for line in lines)
    assert all(b"CheckViolation" in each.body for each in reports)


def served(command: Shell, **environment: str) -> Callable[..., Any]:
    """The application that the command gives to uvicorn, with the middleware that its options add."""
    with patch("uvicorn.run") as run:
        assert command.run("review", env=environment).code == 0
    (application,), options = run.call_args
    config = uvicorn.Config(application, **options)
    config.load()
    return config.loaded_app  # type: ignore[no-any-return]


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize(
    "case",
    [
        (None, "203.0.113.9", "127.0.0.1"),
        ("", "203.0.113.9", "127.0.0.1"),
        ("192.0.2.1", "203.0.113.9", "127.0.0.1"),
        ("192.0.2.0/24,192.0.2.1", "127.0.0.9, 192.0.2.1", "127.0.0.1"),
        ("127.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("127.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        ("127.0.0.1,192.0.2.0/24", "203.0.113.9, 198.51.100.7, 192.0.2.5", "198.51.100.7"),
    ],
)
def test_only_a_proxy_says_where_a_request_comes_from(
    database_url: str, owner: Owner, tmp_path: Path, case: tuple[str | None, str, str]
) -> None:
    """In the counts of wrong passwords and in the access log; and never what came before the proxy's word."""
    believed, forwarded, wanted = case
    owner.execute("DELETE FROM sign_in_attempts")
    shell = shell_at(tmp_path, DATABASE_URL=database_url, HUSHGATE_REVIEW_URL=free_address())
    application = served(shell, **({} if believed is None else {"HUSHGATE_REVIEW_PROXIES": believed}))
    forged = {"X-Forwarded-For": forwarded}
    with TestClient(application, "https://127.0.0.1", client=("127.0.0.1", 5), headers=forged) as client:
        token = CSRF.search(client.get("/sign-in").text)
        assert token is not None
        fields = {"csrf": token[1], "login": "nobody", "password": "a wrong one"}
        assert client.post("/sign-in", data=fields).status_code == 401
    counted = owner.execute("SELECT address FROM sign_in_attempts").fetchall()
    logged = owner.execute("SELECT address FROM access_log ORDER BY id DESC LIMIT 1").fetchall()

    assert (counted, logged) == ([(wanted,)], [(wanted,)])
