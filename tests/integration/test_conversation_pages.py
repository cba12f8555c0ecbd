"""Conversations with people: the list, taking and releasing, on the pages and at the command line."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from cli.exit_codes import ExitCode
from db.commits.record import record_decision
from db.history.conversation_owners import OwnerCause, take_conversation
from db.people.records import Role
from tests.support.audited import blocked, escalated, record, replied
from tests.support.decided import CLOCK, takeover
from tests.support.pools import in_pool
from tests.support.queues import hand_queue
from tests.support.reviewing import Visitor, person_at
from tests.support.terminal import Shell
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
        ({"conversation": "x" * 999}, 400),
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


def stored_one(url: str, **changes: str) -> Decision:
    """A stored decision in a conversation of its own."""
    made = replied(**changes)
    in_pool(url, lambda source: record_decision(source, made), role=None)
    return made


def test_a_conversation_is_taken_listed_and_released(shell: Shell, database_url: str) -> None:
    """Each command prints the owner; the list holds what people own, of the account that was asked for."""
    about = stored_one(database_url, user_id="cli-shop").event
    words = (about.user_id, about.conversation_id)
    taken = shell.run("conversations", "take", *words)
    listed = shell.run("conversations", "list", "--account", about.user_id)
    elsewhere = shell.run("conversations", "list", "--account", "another-shop")
    released = shell.run("conversations", "release", *words)
    again = shell.run("conversations", "release", *words)
    empty = shell.run("conversations", "list", "--account", about.user_id)

    assert (taken.code, listed.code, released.code, empty.code) == (0, 0, 0, 0)
    (row,) = taken.rows
    assert (row["user_id"], row["conversation_id"]) == words
    assert (row["owner"], row["cause"], row["changes"]) == ("people", "command", 1)
    assert listed.rows == taken.rows
    assert (elsewhere.rows, empty.rows) == ([], [])
    assert [(each["owner"], each["cause"]) for each in released.rows] == [("ai", "release")]
    assert (again.code, again.out) == (ExitCode.NEGATIVE, "")
    assert "expected one that people own" in again.err
    logged = changes(database_url, {"conversation": about.conversation_id})
    assert [change for person, change in logged if "command line" in person] == ["taken", "released"]


@pytest.mark.parametrize(
    ("command", "said"), [("take", "no event of 'never seen' is stored"), ("release", "which the AI owns")]
)
def test_a_conversation_that_is_not_known_ends_with_1(shell: Shell, command: str, said: str) -> None:
    """A mistyped id is an error, not a takeover of nothing."""
    ended = shell.run("conversations", command, "cli-shop", "never seen")

    assert (ended.code, ended.out) == (ExitCode.NEGATIVE, "")
    assert said in ended.err


def test_taking_twice_keeps_the_first_takeover(shell: Shell, database_url: str) -> None:
    """The owner does not change, only the time until which it lasts."""
    about = stored_one(database_url, user_id="twice-shop").event
    words = (about.user_id, about.conversation_id)
    first, second = (shell.run("conversations", "take", *words).rows[0] for _ in range(2))

    assert (first["changes"], second["changes"]) == (1, 1)
    assert first["changed_at"] == second["changed_at"]
    assert first["people_until"] < second["people_until"]


def test_a_terminal_gets_a_table(shell: Shell, database_url: str) -> None:
    """With a head, and without codes that a terminal obeys."""
    about = stored_one(database_url, user_id="table-shop", conversation_id="\x1b[2Jtalk").event
    shell.run("conversations", "take", about.user_id, about.conversation_id)
    shown = shell.on_terminal("conversations", "list", "--account", about.user_id, columns=200)

    assert '"user_id"' not in shown.out  # as in a pipe
    assert "conversation" in shown.out
    assert "people" in shown.out
    assert "[2Jtalk" in shown.out  # with the code itself it would be missing
