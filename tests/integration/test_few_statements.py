"""What pages cost and leave: few statements, several in one round trip, and nothing is changed by reading."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any
from unittest.mock import patch
from uuid import UUID

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql
from starlette.testclient import TestClient

from db.connection import Connection, round_of_reads
from db.people.records import EVERY_ACCOUNT, Role
from review.decision.panels import PANELS
from review.http.page_routes import PageRoute
from review.http.visit import SESSION_COOKIE
from review.languages.choice import ZONE_COOKIE
from review.routes import PAGES
from tests.integration.test_route_rights import address
from tests.support.audited import escalated, ignored, record
from tests.support.review_world import APPEAL_SECRET, World
from tests.support.reviewing import site
from tests.support.statements_sent import sent_statements

FRAME = 8
LIST = 4
PANEL = 9
CONTROL = ("SAVEPOINT", "ROLLBACK", "SET")
"""Time limits of a search, which are part of its transaction."""


@pytest.fixture(scope="module")
def reader(database_url: str) -> Iterator[tuple[World, TestClient]]:
    """A reviewer and lead in a browser with scripts, over a site without background loops."""
    with (
        World(database_url, "acme") as world,
        patch("review.background.jobs_of", return_value=()),
        site(database_url) as visitor,
    ):
        client = visitor().client
        roles = ((EVERY_ACCOUNT, Role.REVIEWER.value), (EVERY_ACCOUNT, Role.LEAD.value))
        client.cookies.set(SESSION_COOKIE, world.session(world.person(*roles)))
        client.cookies.set(ZONE_COOKIE, "UTC")
        client.get("/inbox")  # connects
        yield world, client


def sent(client: TestClient, path: str) -> list[str]:
    """The statements of one request, which succeeds."""
    with sent_statements() as statements:
        response = client.get(path)

    assert response.status_code == 200
    return [each for each in statements if not each.startswith(CONTROL)]


@pytest.mark.parametrize("query", ["", "?from=since%3Dall"])
def test_the_frame_of_a_decision_needs_few_statements(reader: tuple[World, TestClient], query: str) -> None:
    """Its panels load on their own."""
    world, client = reader
    statements = sent(client, f"/decisions/{world.decision.decision_id}{query}")

    assert len(statements) <= FRAME, "\n\n".join(statements)


@pytest.mark.parametrize(
    ("query", "most"), [("", LIST), ("?account=acme&since=all", LIST), ("?review=open", LIST + 1)]
)
def test_a_list_needs_few_statements(reader: tuple[World, TestClient], query: str, most: int) -> None:
    """Its number loads on its own; a filter by review state needs to know what the person holds."""
    _, client = reader
    statements = sent(client, f"/decisions{query}")

    assert len(statements) <= most, "\n\n".join(statements)


def test_nothing_is_read_twice(reader: tuple[World, TestClient]) -> None:
    """The whole page, as a browser without scripts gets it, sends no statement twice."""
    world, client = reader
    zone = client.cookies.pop(ZONE_COOKIE)
    statements = sent(client, f"/decisions/{world.decision.decision_id}")
    client.cookies.set(ZONE_COOKIE, zone)

    assert len(statements) == len(set(statements)), "\n\n".join(sorted(statements))
    assert len(statements) <= FRAME + 20


def test_all_panels_together_need_few_round_trips(reader: tuple[World, TestClient]) -> None:
    """Each panel alone sends few statements."""
    world, client = reader
    for name in PANELS:
        statements = sent(client, f"/decisions/{world.decision.decision_id}/panels/{name}")

        assert len(statements) <= PANEL, name


Read = Callable[[Connection], Coroutine[Any, Any, object]]


async def works(connection: Connection) -> object:
    """A statement of Core."""
    return (await connection.execute(sa.select(sa.literal(1)))).scalar_one()


async def works_twice(connection: Connection) -> object:
    """Two statements, one after the other."""
    return [await works(connection), await works(connection)]


async def works_as_text(connection: Connection) -> object:
    """A statement as text."""
    return await (await connection.execute("SELECT 1")).fetchall()


async def fails(connection: Connection) -> object:
    """A statement that Postgres refuses."""
    return (await connection.execute(sa.text("SELECT 1 / 0"))).scalar_one()


async def fails_later(connection: Connection) -> object:
    """A second statement that Postgres refuses."""
    return [await works(connection), await fails(connection)]


def read_together(url: str, *reads: Read) -> tuple[list[object], object]:
    """The results of a round of reads, or their errors; and what a statement after the round returns."""

    async def run() -> tuple[list[object], object]:
        async with await Connection.connect(url, autocommit=True) as connection:
            try:
                async with round_of_reads(connection) as together:
                    tasks = [together.read(read(connection)) for read in reads]
            except psycopg.Error as error:
                return [error, *(task.exception() for task in tasks)], await works(connection)
            return [task.result() for task in tasks], await works(connection)

    return asyncio.run(run())


def test_reads_of_a_round_have_their_own_results(database_url: str) -> None:
    """Statements of Core and text, also several of one read."""
    assert read_together(database_url, works_twice, works_as_text, works) == ([[1, 1], [(1,)], 1], 1)


@pytest.mark.parametrize(
    "reads",
    [
        (works, fails, works_twice),
        (fails, works, works_as_text),
        (fails_later, works_twice, fails_later),
        (works_as_text, fails, works_as_text, works_twice),
    ],
)
def test_the_error_of_a_round_is_what_postgres_said(database_url: str, reads: tuple[Read, ...]) -> None:
    """A read without a result does not hide the cause, and the connection works afterwards."""
    (raised, *_), after = read_together(database_url, *reads)

    assert isinstance(raised, psycopg.errors.DivisionByZero)
    assert after == 1


def test_a_statement_after_a_failed_one_has_no_rows(database_url: str) -> None:
    """A read whose statement Postgres never ran fails; it does not look empty."""
    (_, *errors), _after = read_together(database_url, fails, works, works_twice)

    assert [type(error) for error in errors[1:]] == [psycopg.errors.PipelineAborted] * 2


LOGGED = {"access_log", "sessions", "api_tokens"}
"""The log of reads, and when a session or a token was used last."""
READ = [page for page in PAGES if "GET" in page.methods and page.name != "oidc_back"]
"""``oidc_back`` signs a person in: the identity provider sends their browser there by GET."""
TABLES = sql.SQL("""
    SELECT c.relname FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
""")
SAMPLE = '{"share": 1.0, "drawn": "silent", "per": "", "most": 500, "seed": 1}'
DIGEST = sql.SQL("SELECT {}, count(*), md5(string_agg(t::text, '|' ORDER BY t::text)) FROM {} AS t")


@pytest.fixture(scope="module")
def walked(database_url: str) -> Iterator[tuple[World, TestClient]]:
    """A running site without its background loops, over a database in which queues and figures are due."""
    with (
        World(database_url, "acme") as world,
        patch("review.background.jobs_of", return_value=()),
        site(database_url, HUSHGATE_APPEAL_SECRET=APPEAL_SECRET) as visitor,
    ):
        world.add("ai_rules", user_id="acme", version=1)
        record(database_url, escalated(), ignored())
        world.add("queues", id=UUID(int=1), name="a sample", kind="sample", definition=SAMPLE)
        yield world, visitor().client


def contents(world: World) -> dict[str, list[Any]]:
    """A digest of the rows of each table, but for those that reading may change."""
    names = [name for (name,) in world._connection.execute(TABLES) if name not in LOGGED]
    each = [DIGEST.format(sql.Literal(name), sql.Identifier(name)) for name in names]
    return {name: digest for name, *digest in world._connection.execute(sql.SQL(" UNION ALL ").join(each))}


@pytest.mark.parametrize("page", READ, ids=lambda page: page.name)
def test_reading_a_page_changes_nothing(walked: tuple[World, TestClient], page: PageRoute) -> None:
    """Queues and figures are filled by background loops and by forms, never because a page was read."""
    world, client = walked
    person_id = world.person(*((EVERY_ACCOUNT, role.value) for role in Role))
    path, token, key = address(page, world, person_id), world.session(person_id), world.token(person_id)
    client.cookies.clear()
    if not page.api:
        client.cookies.set(SESSION_COOKIE, token, domain="127.0.0.1")
    headers = {"Authorization": f"Bearer {key}"} if page.api else {}
    before = contents(world)
    status = client.get(path, headers=headers, follow_redirects=False).status_code
    after = contents(world)

    assert status in {200, 303, 304}
    assert {name for name in before if before[name] != after[name]} == set()
    assert len(before) > 20
