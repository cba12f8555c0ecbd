"""Every page that is read, beside what the tables held before and hold after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from psycopg import sql
from starlette.testclient import TestClient

from db.people.records import EVERY_ACCOUNT, Role
from review.http.page_routes import PageRoute
from review.http.visit import SESSION_COOKIE
from review.routes import PAGES
from tests.integration.test_route_rights import add_key, address
from tests.support.audited import escalated, ignored, record
from tests.support.review_world import APPEAL_SECRET, World
from tests.support.reviewing import site

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
    path, token, key = address(page, world, person_id), world.session(person_id), f"hg_{person_id.hex}"
    add_key(world, person_id, key)
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
