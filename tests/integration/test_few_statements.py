"""How many statements a page sends: each is a wait for Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest
from starlette.testclient import TestClient

from db.people.records import EVERY_ACCOUNT, Role
from review.decision.panels import PANELS
from review.http.visit import SESSION_COOKIE
from review.languages.choice import ZONE_COOKIE
from tests.support.review_world import World
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
