"""The list of conversations with people, and taking and releasing one on the pages."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from db.history.conversation_owners import OwnerCause, take_conversation
from db.people.records import Role
from tests.support.audited import blocked, escalated, record, replied
from tests.support.decided import CLOCK, takeover
from tests.support.pools import in_pool
from tests.support.queues import hand_queue
from tests.support.reviewing import Visitor, person_at
from worker.model import Decision


def decided(url: str, made: Decision | None = None) -> tuple[Decision, dict[str, str]]:
    """A stored decision, and the fields of its forms."""
    made = made or replied()
    record(url, made)
    event = made.event
    fields = {"account": event.user_id, "conversation": event.conversation_id}
    return made, fields | {"decision": str(made.decision_id)}


def changes(url: str, fields: dict[str, str]) -> list[tuple[str, str]]:
    """The changes of a conversation's owner in the access log: who, and what."""
    query = """
        SELECT person, detail ->> 'change' FROM access_log
        WHERE action = 'conversation' AND detail ->> 'conversation' = %s ORDER BY id
    """
    with psycopg.connect(url) as connection:
        return list(connection.execute(query, (fields["conversation"],)))


def take(url: str, made: Decision, by: str, cause: OwnerCause = OwnerCause.COMMAND) -> None:
    """People take a decision's conversation for an hour."""
    taken = takeover(made.event, changed_by=by, cause=cause)
    in_pool(url, lambda source: take_conversation(source, taken, CLOCK.now()), role=None)


def test_a_reviewer_takes_and_releases_a_conversation(visitors: Any, database_url: str) -> None:
    """From the decision's page; page and list name the owner, and both changes are in the access log."""
    reviewer, person = person_at(visitors, database_url, Role.REVIEWER)
    made, fields = decided(database_url)
    address = f"/decisions/{made.decision_id}"
    before = reviewer.get(address).text
    taken = reviewer.post("/conversations/take", **fields)
    after, listed = reviewer.get(address).text, reviewer.get("/conversations").text
    released = reviewer.post("/conversations/release", **fields)
    again = reviewer.post("/conversations/release", **fields)
    last = reviewer.get(address).text

    assert (taken.status_code, taken.headers["location"]) == (303, address)
    assert (released.status_code, again.status_code) == (303, 409)
    assert "people never had this conversation" in before
    assert ">Take over</button>" in before
    assert "<strong>People</strong>" in after
    assert f"<bdi>{person.login}</bdi>" in after
    assert ">Release to the AI</button>" in after
    assert f"<bdi>{made.event.conversation_id}</bdi>" in listed
    assert "<strong>The AI</strong> since" in last
    assert changes(database_url, fields) == [(person.login, "taken"), (person.login, "released")]


def test_the_list_is_where_a_release_without_a_decision_leads(visitors: Any, database_url: str) -> None:
    """The form of the list names no decision."""
    reviewer, _ = person_at(visitors, database_url, Role.REVIEWER)
    made, fields = decided(database_url)
    take(database_url, made, "ann")
    reviewer.get("/conversations")
    released = reviewer.post("/conversations/release", **{**fields, "decision": ""})

    assert released.headers["location"] == "/conversations"
    assert f"<bdi>{made.event.conversation_id}</bdi>" not in reviewer.get("/conversations").text


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"conversation": "never seen"}, 404),
        ({"conversation": ""}, 400),
        ({"conversation": "x" * 256}, 400),
        ({"account": ""}, 400),
    ],
)
def test_only_a_conversation_with_events_can_be_taken(
    visitors: Any, database_url: str, wrong: dict[str, str], status: int
) -> None:
    """A mistyped id would silence nothing."""
    reviewer, _ = person_at(visitors, database_url, Role.REVIEWER)
    made, fields = decided(database_url)
    reviewer.get(f"/decisions/{made.decision_id}")

    assert reviewer.post("/conversations/take", **(fields | wrong)).status_code == status
    assert changes(database_url, fields) == []


@pytest.mark.parametrize("make", [blocked, escalated])
def test_a_blind_reader_does_not_learn_what_colleagues_did_with_the_conversation(
    visitors: Any, database_url: str, make: Any
) -> None:
    """A handoff by the decision itself is a fact of the decision; a colleague's takeover is not."""
    made, _ = decided(database_url, make())
    lead, _ = person_at(visitors, database_url, Role.LEAD)
    reader, _ = person_at(visitors, database_url, Role.REVIEWER)
    address = f"/decisions/{made.decision_id}"
    lead.get(address)
    lead.post(f"{address}/review", ruling="agree", seen="", note="")
    of = hand_queue(database_url, f"of {made.decision_id}", {made.decision_id: made.decided_at})
    reader.get("/queues")
    reader.post(f"/queues/{of}/next")
    pages = [owner_card(reader, address)]
    take(database_url, made, "ann")
    pages.append(owner_card(reader, address))

    assert pages[0] == pages[1]
    assert "shown after your review" in pages[0]
    assert ("handed the conversation to people" in pages[0]) == (make is escalated)


def owner_card(visitor: Visitor, address: str) -> str:
    """The part of a decision's page about the owner."""
    page = visitor.get(address).text
    start = page.index('id="owner"')
    return str(page[start : page.index("</details>", start)])
