"""The page of one decision, made by a real engine, seen by people with different rights."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import pytest

from db.people import Role
from sandbox.server import SandboxHandle
from tests.integration.running import Running, running
from tests.integration.test_outcomes import HOURS, OUTCOMES, Outcome
from tests.reviewing import add_person, site

TAGS = re.compile(r"<[^>]*>")
HEADLINE = re.compile(r"<h1>(.*?)</h1>", re.DOTALL)


@pytest.fixture
def engine(database_url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Running]:
    """A fresh engine."""
    with running(database_url, redis_url, sandbox) as each:
        yield each


def read(text: str) -> str:
    """What a page says, without its tags."""
    return html.unescape(TAGS.sub("", text))


def headline(text: str) -> str:
    """The sentence at the top."""
    found = HEADLINE.search(text)
    assert found is not None, text[:2000]
    return read(found[1])


def visited(url: str, row: dict[str, Any], *roles: Role, **options: Any) -> str:
    """The page of a decision as somebody with these roles sees it."""
    with site(url) as visitor:
        someone = visitor()
        someone.sign_in(add_person(url, *(roles or (Role.REVIEWER,)), **options))
        response = someone.get(f"/decisions/{row['id']}")
        assert response.status_code == 200, response.text
        return str(response.text)


@pytest.mark.parametrize("wanted", OUTCOMES, ids=lambda outcome: outcome.reason.lower())
def test_every_ending_has_a_page_that_says_why(engine: Running, wanted: Outcome) -> None:
    """One plain sentence, the message, every stage that ran."""
    for rule in wanted.rules:
        engine.sandbox.add_rule(**rule)
    user_id = engine.account(documents=HOURS, **wanted.settings)
    row = engine.decide(user_id, wanted.text, **wanted.event)
    page = visited(engine.url, row)
    told = headline(page)

    assert told.startswith(
        ("Nothing was sent: ", "A reply was sent: ", "Handed to a person: ", "A prepared text")
    )
    assert wanted.text in read(page)
    assert page.count('class="waterfall"') == len(row["snapshot_json"]["stages"])
