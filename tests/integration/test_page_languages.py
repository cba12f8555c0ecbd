"""Pages in other languages: nothing stays English, the reader's choice counts, programs read English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote
from uuid import UUID

import pytest
from starlette.testclient import TestClient

from db.people.records import EVERY_ACCOUNT, Role
from review.http.page_routes import PageRoute
from review.http.visit import SESSION_COOKIE
from review.languages.choice import LANGUAGE_COOKIE
from review.languages.pseudo_locale import PSEUDO
from review.routes import PAGES
from tests.support.review_world import QUERIES, SAMPLES, World
from tests.support.reviewing import site
from tests.support.visible_text import content_texts, english_words

DATA = "資料"
Walked = tuple[World, TestClient, UUID]
PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
UNFINISHED = frozenset(
    {
        "accounts",
        "agreement",
        "bulk",
        "dashboard",
        "decision",
        "decision_answer_form",
        "decision_review_form",
        "decision_similar",
        "decisions",
        "escalations",
        "home",
        "job",
        "jobs",
        "profile",
        "queue_close_form",
        "queues",
        "rules",
        "rules_file",
        "settings",
        "views",
    }
)
"""Pages that still have texts without a mark; a page that passes leaves this list."""
SHOWN = [page for page in PAGES if page.methods == ("GET",) and not page.api and page.name != "health"]


@pytest.fixture(scope="module")
def walked(database_url: str) -> Iterator[Walked]:
    """A site over an account whose every text is in no language of the pages."""
    with World(database_url, DATA, lambda _field: DATA) as world, site(database_url) as visitor:
        roles = ((EVERY_ACCOUNT, role.value) for role in Role)
        person = world.person(*roles, name=DATA, login=f"{DATA}-walker")
        for sample in SAMPLES.values():
            sample(world, person)
        world.suggested()
        world.answered()
        client = visitor().client
        client.cookies.set(SESSION_COOKIE, world.session(person), domain="127.0.0.1")
        yield world, client, person


def opened(walked: Walked, page: PageRoute) -> str:
    """A page in the pseudo-locale; empty when it is a file or a redirect."""
    world, client, person = walked
    path = PARAMETER.sub(lambda found: quote(str(SAMPLES[found[1]](world, person)), safe=""), page.path)
    cookies = {LANGUAGE_COOKIE: PSEUDO, SESSION_COOKIE: client.cookies[SESSION_COOKIE]}
    answer = client.get(
        path + QUERIES.get(page.name, ""),
        follow_redirects=False,
        headers={"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())},
    )
    assert answer.status_code in {200, 303, 400, 404, 410}, (page.name, answer.status_code)
    return str(answer.text) if "html" in answer.headers.get("content-type", "") else ""


@pytest.mark.parametrize(
    "page", [page for page in SHOWN if page.name not in UNFINISHED], ids=lambda page: page.name
)
def test_every_text_of_a_page_is_marked_for_translation(walked: Walked, page: PageRoute) -> None:
    """In the pseudo-locale a page shows no English beside data, codes and names."""
    assert english_words(content_texts(opened(walked, page))) == set()
