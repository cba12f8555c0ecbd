"""Learning suggestions over decisions: page, JSON API and command line show the same topics."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from db.audit.suggestions import topic_key
from db.commits.record import record_decision
from db.people.records import Role
from review.accounts import suggestions_page
from tests.support import auditing
from tests.support.pools import in_pool
from tests.support.reviewing import Visitor, Visitors, add_person, signed_in
from tests.support.samples import assessment
from tests.support.terminal import Shell
from worker.model import Action, DecisionKind
from worker.reasons import Reason

NUMBERS = count(1)
MODERATED = "openai_moderation:hate"


def reader(database_url: str, visitors: Visitors, *roles: Role) -> Visitor:
    """A signed-in person."""
    return signed_in(visitors, add_person(database_url, *(roles or (Role.VIEWER,))))


def decided(url: str, account: str, topics: tuple[str, ...], text: str = "Do you?", **changes: Any) -> UUID:
    """A stored decision on an unanswered question, with these topics."""
    number, at = next(NUMBERS), datetime.now(UTC) - changes.pop("age", timedelta(hours=1))
    values: dict[str, Any] = {
        "at": at, "user_id": account, "event_id": f"{account} {number}", "entry_id": f"{number}-1",
        "text": text, "conversation_id": f"c{number}", "created_at": at, "received_at": at,
        "reason_code": Reason.NO_EVIDENCE, "reason": "no evidence", "confidence": 0.0,
        "assessment": assessment(action=Action.SILENCE, learning_suggestions=topics),
    }  # fmt: skip
    made = auditing.decided(**values | changes)
    in_pool(url, lambda source: record_decision(source, made), role=None)
    return made.decision_id


def test_spellings_of_a_topic_are_one_suggestion(
    database_url: str, visitors: Visitors, tmp_path: Path
) -> None:
    """Topics are counted by decision, most frequent first; API and command line have the same lines."""
    account = "topics"
    first = decided(database_url, account, ("gift cards", "Gift Card"), "Do you sell gift cards?")
    second = decided(
        database_url, account, ("gift cards",), kind=DecisionKind.RESPOND, reason_code=Reason.REPLIED
    )
    decided(database_url, account, ("bicycles",), age=timedelta(days=2))
    decided(database_url, account, ("old",), age=timedelta(days=40))
    decided(database_url, account, ())
    decided(database_url, "another", ("gift cards",))
    page = reader(database_url, visitors).get(f"/accounts/{account}/suggestions")
    shell = Shell(environment={"DATABASE_URL": database_url}, folder=tmp_path)
    lines = shell.run("assess", "suggestions", "--account", account).rows

    assert page.status_code == 200
    assert page.text.index("Add a document about <bdi>gift cards") < page.text.index("<bdi>bicycles")
    assert "2 decisions, 1 without a reply of a model" in page.text
    assert all(f"/decisions/{each}" in page.text for each in (first, second))
    assert "<bdi>old" not in page.text
    assert [(each["topic"], each["count"], each["unanswered"]) for each in lines] == [
        ("gift cards", 2, 1),
        ("bicycles", 1, 1),
    ]
    assert sorted(lines[0]["decision_ids"]) == sorted(map(str, (first, second)))


def test_one_topic_lists_all_its_decisions(database_url: str, visitors: Visitors) -> None:
    """The overview has three examples, the page of the topic every decision; a form takes its name."""
    account = "one-topic"
    made = [decided(database_url, account, ("parking",), f"Parking {number}?") for number in range(5)]
    person = reader(database_url, visitors, Role.ACCOUNT_ADMIN)
    overview = person.get(f"/accounts/{account}/suggestions?range=7d")
    whole = person.get(f"/accounts/{account}/suggestions?range=7d&topic={topic_key('parking')}")
    form = person.get(f"/accounts/{account}/documents?title=parking")

    assert sum(f"/decisions/{each}" in overview.text for each in made) == 3
    assert f"?range=7d&amp;topic={topic_key('parking')}" in overview.text
    assert all(f"/decisions/{each}" in whole.text for each in made)
    assert f"/accounts/{account}/documents?title=parking" in overview.text
    assert 'name="title" maxlength="300" value="parking"' in form.text


def test_a_long_list_of_topics_begins_with_the_most_asked(
    database_url: str, visitors: Visitors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are one link away."""
    monkeypatch.setattr(suggestions_page, "SHOWN", 1)
    account = "many-topics"
    for topic in ("parking", "parking", "lockers"):
        decided(database_url, account, (topic,), f"Where is {topic}?")
    person = reader(database_url, visitors)
    short = person.get(f"/accounts/{account}/suggestions?range=7d").text
    whole = person.get(f"/accounts/{account}/suggestions?range=7d&all=yes").text

    assert ("about <bdi>parking" in short, "about <bdi>lockers" in short) == (True, False)
    assert '<a href="?range=7d&amp;all=yes">Show all 2 topics</a>' in short
    assert "about <bdi>lockers" in whole
    assert "Show all" not in whole


def test_covered_texts_and_their_topics_stay_covered(database_url: str, visitors: Visitors) -> None:
    """A person who covers a category sees neither message nor topic of its decisions, until they show it."""
    account = "covered-topics"
    decided(database_url, account, ("slur",), "A slur?", matched_rule=MODERATED)
    decided(database_url, account, ("opening",), "Opening?")
    login = add_person(database_url, Role.VIEWER)
    person = signed_in(visitors, login)
    before = person.get(f"/accounts/{account}/suggestions")
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("UPDATE people SET covered = ARRAY['hate'] WHERE id = %s", (login.person_id,))
    after = person.get(f"/accounts/{account}/suggestions")

    assert "A slur?" in before.text
    assert "slur" not in after.text
    assert "Covered topic: hate" in after.text
    assert "Add a document about <bdi>opening" in after.text


def test_an_unusable_range_is_named(database_url: str, visitors: Visitors) -> None:
    """The page says what was expected and shows the last 30 days."""
    answer = reader(database_url, visitors).get("/accounts/topics/suggestions?range=century")

    assert answer.status_code == 400
    assert "range: expected one of" in answer.text
