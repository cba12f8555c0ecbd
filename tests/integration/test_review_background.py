"""The review server itself: its background tasks after a bug, its connections, its commands for people."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from cli.main import command_line
from db.review_store import Store
from features.jobs import BackgroundJob, Process
from review import background
from review.http.templating import Templates
from review.http.visit import Site
from tests.support.reviewing import settings_at, site
from worker import supervisor


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "RESTART_S", 0.001)


def site_of(database_url: str, failed: list[str]) -> Site:
    """A site that notes the names of failed tasks."""
    return Site(
        settings=settings_at(database_url),
        store=Store(database_url),
        templates=Templates(),
        job_failed=lambda name, _: failed.append(name),
    )


def named(*functions: Callable[[Site], Awaitable[None]]) -> tuple[BackgroundJob, ...]:
    """Jobs of the review server with the names of these functions."""
    return tuple(BackgroundJob(name=each.__name__, process=Process.REVIEW, start=each) for each in functions)


async def test_a_task_that_a_bug_ends_starts_again(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queues, digests and exports do not stand still until the server restarts."""
    runs, failed = 0, list[str]()
    again = asyncio.Event()

    async def failing(_: Site) -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise KeyError("a bug")
        again.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(background, "jobs_of", lambda _: named(failing))
    site = site_of(database_url, failed)
    async with site.store, background.run_background(site), asyncio.timeout(5):
        await again.wait()

    assert failed == ["failing"]


async def test_a_bug_in_one_loop_of_jobs_leaves_the_others_running(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exports go on while the deletion of expired jobs fails and starts again."""
    served, swept = 0, asyncio.Event()

    async def serve(_: Site) -> None:
        nonlocal served
        served += 1
        await asyncio.Event().wait()

    async def sweep(_: Site) -> None:
        if failed:
            swept.set()
            await asyncio.Event().wait()
        raise KeyError("a bug")

    failed = list[str]()
    monkeypatch.setattr(background, "jobs_of", lambda _: named(serve, serve, sweep))
    site = site_of(database_url, failed)
    async with site.store, background.run_background(site), asyncio.timeout(5):
        await swept.wait()

    assert served == 2
    assert len(failed) == 1


OTHERS = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'hushgate-review' AND pid <> pg_backend_pid()
"""
READ_ONLY = sa.text("SELECT current_setting('transaction_read_only') || ' ' || current_user")


def test_connections_that_postgres_closed_are_replaced_unnoticed(database_url: str) -> None:
    """After a restart of Postgres the very next page is answered, by new connections."""

    async def story() -> list[str]:
        async with Store(database_url) as store:
            async with store.reading(), store.autocommit():
                pass
            with psycopg.connect(database_url, autocommit=True) as owner:
                closed = owner.execute(OTHERS).fetchone()
            assert closed is not None
            assert closed[0] >= 2
            await asyncio.to_thread(_gone, database_url)
            async with store.reading() as one, store.autocommit() as other:
                return [str((await each.execute(READ_ONLY)).scalar()) for each in (one, other)]

    assert asyncio.run(story()) == ["on hushgate_reviewer", "off hushgate_reviewer"]


def test_a_single_statement_is_stored_at_once_and_a_reader_stores_nothing(database_url: str) -> None:
    """What one checkout sets does not stick to the connection that the next one gets."""

    async def story() -> str:
        async with Store(database_url, size=1) as store:
            async with store.autocommit() as connection:
                await connection.execute(sa.text("INSERT INTO access_log (action) VALUES ('list')"))
            async with store.reading() as connection:
                with pytest.raises(psycopg.errors.ReadOnlySqlTransaction, match="read-only"):
                    await connection.execute(sa.text("INSERT INTO access_log (action) VALUES ('list')"))
            with suppress(LookupError):
                async with store.writing() as connection:
                    await connection.execute(sa.text("INSERT INTO access_log (action) VALUES ('list')"))
                    raise LookupError
            async with store.reading() as connection:
                return str((await connection.execute(sa.text("SELECT count(*) FROM access_log"))).scalar())

    assert asyncio.run(story()) == "1"


def _gone(url: str) -> None:
    """Wait until the server has none of the review pages' connections left."""
    with psycopg.connect(url, autocommit=True) as owner:
        while owner.execute(OTHERS).fetchone() != (0,):
            pass


@pytest.fixture
def run(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command against the module's database: exit code, rows, everything that was printed."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("HUSHGATE_REVIEW_URL", "https://127.0.0.1")

    def command(*words: str) -> tuple[int, list[dict[str, Any]], str]:
        done = CliRunner().invoke(command_line(["review"]), ["review", *words])
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return done.exit_code, rows, done.output

    return command


def test_the_first_admin_comes_in_with_what_the_command_printed(run: Any, database_url: str) -> None:
    """And has to choose another password."""
    code, rows, _ = run("add-person", "Kim@Example.org", "--role", "account_admin")
    assert code == 0
    with site(database_url) as visitor:
        kim = visitor()
        kim.get("/sign-in")
        done = kim.post("/sign-in", login="kim@example.org", password=rows[0]["first_password"])

        assert done.status_code == 303
        assert kim.get("/people").headers["location"] == "/profile/password"


def test_a_link_from_the_command_line_signs_in_once(run: Any, database_url: str) -> None:
    """The address that is printed is the page with the button."""
    run("add-person", "lee", "--role", "viewer", "--no-password")
    _, rows, _ = run("sign-in-link", "lee")
    path = rows[0]["link"].removeprefix("https://127.0.0.1")
    token = re.sub(r".*token=", "", path)
    with site(database_url) as visitor:
        lee = visitor()

        assert lee.get(path).status_code == 200
        assert lee.post("/sign-in/link", token=token).status_code == 303
        assert lee.get("/profile").status_code == 200


def test_a_token_from_the_command_line_may_do_what_its_person_may(run: Any, database_url: str) -> None:
    """Within its scopes, also before a first sign-in; its line of the access log has no secret; it ends."""
    run("add-person", "bot", "--role", "viewer", "--account", "shop")
    code, (row,), _ = run("add-token", "Bot", "--scope", "read", "--name", "nightly", "--days", "7")
    header = {"Authorization": f"Bearer {row['token']}"}
    with site(database_url) as visitor:
        allowed = visitor().get("/api/v1/decisions?account=shop", headers=header).status_code
        refused = visitor().get("/api/v1/waiting?account=other", headers=header).status_code
        run("disable", "bot")
        ended = visitor().get("/api/v1/decisions?account=shop", headers=header).status_code
    with psycopg.connect(database_url) as connection:
        logged = connection.execute(
            "SELECT user_id, person, detail FROM access_log WHERE action = 'token'"
        ).fetchall()

    assert (code, row["login"], row["scopes"], row["days"]) == (0, "bot", ["read"], 7)
    assert (allowed, ended) == (200, 401)
    assert refused == 403
    ((user_id, person, detail),) = logged
    assert (user_id, "command line" in person) == ("shop", True)
    assert (detail["changed"], detail["login"]) == ("made", "bot")
    assert row["token"] not in str(detail)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bot",), "--scope"),
        (("bot", "--scope", "all"), "'all'"),
        (("bot", "--scope", "read", "--days", "0"), "--days"),
        (("bot", "--scope", "read", "--name", " "), "--name: expected 1 to"),
        (("bot", "--scope", "read", "--fail-open"), "--fail-open: expected --scope check, got read"),
        (("other", "--scope", "read"), "got 'other'"),
        (("gone", "--scope", "read"), "got gone, who is disabled"),
    ],
)
def test_a_token_that_cannot_be_made_says_why(run: Any, words: tuple[str, ...], said: str) -> None:
    """The error names option, expectation and value; no token is stored."""
    for login in ("bot", "gone"):
        run("add-person", login, "--role", "viewer", "--account", "shop")
    run("disable", "gone")
    code, rows, output = run("add-token", *words)

    assert (code != 0, rows) == (True, [])
    assert said in output


def test_roles_and_access_are_given_and_taken(run: Any) -> None:
    """Each change is one line, and the list shows it."""
    run("add-person", "sam", "--role", "viewer", "--account", "shop")
    run("grant", "sam", "--role", "reviewer", "--account", "shop")
    run("revoke", "sam", "--role", "viewer", "--account", "shop")
    assert run("list", "--account", "shop")[1][-1]["roles"] == ["reviewer on shop"]

    for command, state in (("disable", "disabled"), ("enable", "first password")):
        assert run(command, "sam")[0] == 0
        assert next(row for row in run("list")[1] if row["login"] == "sam")["state"] == state
    for command in ("unlock", "sign-out", "reset-password"):
        assert run(command, "sam")[0] == 0
    assert "first_password" in run("reset-password", "sam")[1][0]


def test_the_last_administrator_is_not_taken_away(run: Any) -> None:
    """The command says what to do instead, and changes nothing; a second role is no second person."""
    run("add-person", "kim@example.org", "--role", "account_admin", "--role", "owner")
    assert run("revoke", "kim@example.org", "--role", "owner")[0] == 0
    run("grant", "kim@example.org", "--role", "owner")
    for words in (("disable",), ("revoke", "--role", "account_admin", "--role", "owner")):
        code, _, output = run(words[0], "kim@example.org", *words[1:])
        assert code != 0
        assert "last administrator" in output
