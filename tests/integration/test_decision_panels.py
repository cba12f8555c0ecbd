"""Panels of the decision page: the same in the whole page and on their own, and as careful."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from starlette.testclient import TestClient

from db.people.records import EVERY_ACCOUNT, Role
from review.decision.panels import PANELS
from review.http.visit import SESSION_COOKIE
from review.languages.choice import ZONE_COOKIE
from tests.support.review_world import World, comment, item
from tests.support.reviewing import site

SLOT = re.compile(r'<(?:div|span) class="slot" id="slot-(\w+)"[^>]*>')
VARIES = re.compile(r'value="[0-9a-f-]{36,64}"|\s+|[0-9a-f]{64}|\d+ (?:second|minute)s? ago')
READ = "SELECT count(*) FROM access_log WHERE decision_id = %s AND person_id = %s"


@pytest.fixture(scope="module")
def world(database_url: str) -> Iterator[World]:
    """Rows of one account."""
    with World(database_url, "acme") as made:
        yield made


@pytest.fixture(scope="module")
def client(database_url: str, world: World) -> Iterator[Callable[..., TestClient]]:
    """A browser of a person with these roles; with scripts, as its time zone is known."""
    with patch("review.background.jobs_of", return_value=()), site(database_url) as visitor:

        def signed_in(*roles: Role, person: Any = None, scripts: bool = True) -> TestClient:
            found = visitor().client
            person = person or world.person(*((EVERY_ACCOUNT, role.value) for role in roles))
            found.cookies.set(SESSION_COOKIE, world.session(person))
            if scripts:
                found.cookies.set(ZONE_COOKIE, "UTC")
            return found

        yield signed_in


def slots(html: str) -> dict[str, str]:
    """The words of each place for a panel, by its name; what differs from request to request is left out."""
    places = list(SLOT.finditer(html))
    ends = [*(each.start() for each in places[1:]), len(html)]
    return {
        each[1]: VARIES.sub("", html[each.end() : end]).removesuffix("</div>").removesuffix("</span>")
        for each, end in zip(places, ends, strict=True)
    }


@pytest.mark.parametrize("query", ["", "?from=since%3Dall"])
def test_a_panel_is_the_same_alone_and_in_the_page(
    world: World, client: Callable[..., TestClient], query: str
) -> None:
    """A browser without scripts reads nothing else and nothing less."""
    path = f"/decisions/{world.decision.decision_id}"
    lead = world.person((EVERY_ACCOUNT, "reviewer"), (EVERY_ACCOUNT, "lead"))
    whole = client(person=lead, scripts=False).get(path + query).text
    frame = client(person=lead).get(path + query).text
    panels = slots(client(person=lead).get(f"{path}/panels/{','.join(PANELS)}{query}").text)

    assert panels.keys() <= slots(whole).keys() == slots(frame).keys()
    assert {"comments", "leads", "after"} <= panels.keys()
    assert all(slots(whole)[name].startswith(text) for name, text in panels.items())
    assert f'hx-get="{path}/panels/' in frame
    assert "/panels/" not in whole


def test_a_page_without_scripts_asks_for_all_of_it(world: World, client: Callable[..., TestClient]) -> None:
    """Also when an earlier page ran scripts."""
    reader = client(Role.REVIEWER)
    page = f"/decisions/{world.decision.decision_id}"

    assert 'http-equiv="refresh" content="0; url=?whole=1' in reader.get(page).text
    assert "/panels/" not in reader.get(f"{page}?whole=1").text


def test_covered_texts_are_in_no_panel(world: World, client: Callable[..., TestClient]) -> None:
    """Neither the conversation nor a candidate's reply is read around the cover."""
    person = world.person((EVERY_ACCOUNT, "reviewer"))
    with psycopg.connect(world.url, autocommit=True) as owner:
        owner.execute("UPDATE people SET covered = %s WHERE id = %s", (["flagged_rule"], person))
    path = f"/decisions/{world.decision.decision_id}"
    reader = client(person=person)
    panels = slots(reader.get(f"{path}/panels/{','.join(PANELS)}").text)

    assert set(panels) == {"people", "comments"}


def test_a_blind_reader_gets_nothing_of_others_in_a_panel(
    database_url: str, client: Callable[..., TestClient]
) -> None:
    """Neither comments, assignment, known answer nor shadows, while the person holds the decision."""
    with World(database_url, "blind-shop") as world:
        other, lead = world.person(), world.person((EVERY_ACCOUNT, "reviewer"), (EVERY_ACCOUNT, "lead"))
        comment(world, other)
        world.shadowed()
        path = f"/decisions/{world.decision.decision_id}/panels/{','.join(PANELS)}?from=since%3Dall"
        seen = slots(client(person=lead).get(path).text)
        item(world, lead)
        blind = slots(client(person=lead).get(path).text)

    assert "somecomment" in seen["comments"]
    assert "shadow-heading" in seen["features"]
    assert set(seen) - set(blind) >= {"leads", "features"}
    assert set(blind) <= {"people", "comments", "before", "after", "position"}
    assert not any("somecomment" in text or "Kim" in text for text in blind.values())


def test_a_panel_that_does_not_exist_is_refused(world: World, client: Callable[..., TestClient]) -> None:
    """As is one of a decision that the person may not see."""
    path = f"/decisions/{world.decision.decision_id}/panels"
    stranger = client(person=world.person(("elsewhere", "reviewer")))

    assert client(Role.REVIEWER).get(f"{path}/nothing").status_code == 404
    assert stranger.get(f"{path}/neighbours").status_code == 404
    assert stranger.get(f"{path}/trials").status_code == 404


def test_the_line_of_the_page_stands_for_its_panels(world: World, client: Callable[..., TestClient]) -> None:
    """A browser loads them right after the page."""
    person = world.person((EVERY_ACCOUNT, "reviewer"))
    reader, decision = client(person=person), world.decision.decision_id
    reader.get(f"/decisions/{decision}")
    reader.get(f"/decisions/{decision}/panels/neighbours,collaboration,delivery")

    assert world.one(READ, decision, person) == 1


def test_panels_without_their_page_are_logged(world: World, client: Callable[..., TestClient]) -> None:
    """The conversation cannot be read without a line in the access log."""
    person = world.person((EVERY_ACCOUNT, "reviewer"))
    reader, decision = client(person=person), world.decision.decision_id
    reader.get(f"/decisions/{decision}/panels/neighbours")

    assert world.one(READ, decision, person) == 1
