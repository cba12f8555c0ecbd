"""Queues of leads who lead some accounts: filled from those, and seen by who works for them."""

from __future__ import annotations

from uuid import UUID

import psycopg
import pytest

from db.people.records import EVERY_ACCOUNT, Role
from tests.support.audited import escalated, ignored, record
from tests.support.reviewing import Visitor, Visitors, add_person, signed_in
from worker.model import Decision


@pytest.fixture
def decided(database_url: str) -> dict[str, dict[str, Decision]]:
    """An escalation and a silent ignore of two accounts."""
    made = {
        account: {"escalations": escalated(user_id=account), "sample": ignored(user_id=account)}
        for account in ("north", "south")
    }
    record(database_url, *(each for kinds in made.values() for each in kinds.values()))
    return made


def at_work(visitors: Visitors, url: str, role: Role, account: str) -> Visitor:
    """Somebody signed in."""
    visitor = signed_in(visitors, add_person(url, role, account=account))
    visitor.get("/queues")
    return visitor


def in_queue(url: str, name: str) -> set[UUID]:
    """The decisions that a queue holds."""
    query = "SELECT i.decision_id FROM queue_items i JOIN queues q ON q.id = i.queue_id WHERE q.name = %s"
    with psycopg.connect(url) as connection:
        return {row[0] for row in connection.execute(query, (name,))}


def numbered(url: str, name: str) -> UUID:
    """The id of a queue."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT id FROM queues WHERE name = %s", (name,)).fetchone()
        assert row is not None
        found: UUID = row[0]
        return found


@pytest.mark.parametrize(("kind", "how"), [("escalations", {}), ("sample", {"amount": "100"})])
def test_a_lead_of_one_account_fills_a_queue_from_it_alone(
    visitors: Visitors,
    database_url: str,
    decided: dict[str, dict[str, Decision]],
    kind: str,
    how: dict[str, str],
) -> None:
    """Whoever looks at it first, and whatever they may see; others do not see that there is such a queue."""
    lead = at_work(visitors, database_url, Role.LEAD, "north")
    name = f"Northern {kind}"
    lead.post("/queues", name=name, kind=kind, how="share", golden="100", **how)
    chief = at_work(visitors, database_url, Role.LEAD, EVERY_ACCOUNT)
    stranger = at_work(visitors, database_url, Role.REVIEWER, "south")
    colleague = at_work(visitors, database_url, Role.REVIEWER, "north")
    held = in_queue(database_url, name)
    taken = stranger.post(f"/queues/{numbered(database_url, name)}/next").headers["location"]

    assert decided["north"][kind].decision_id in held
    assert decided["south"][kind].decision_id not in held
    shown = [name in each.get("/queues").text for each in (lead, chief, colleague, stranger)]
    assert shown == [True, True, True, False]
    assert name not in stranger.get("/").text
    assert taken == "/queues"


def test_second_readings_go_to_a_queue_for_their_account(
    visitors: Visitors, database_url: str, decided: dict[str, dict[str, Decision]]
) -> None:
    """A lead's own queue of them takes no reading away from other accounts."""
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE queues SET closed_at = now() WHERE kind = 'second'")
    lead = at_work(visitors, database_url, Role.LEAD, "north")
    lead.post("/queues", name="Northern readings", kind="second")
    chief = at_work(visitors, database_url, Role.LEAD, EVERY_ACCOUNT)
    chief.post("/queues", name="All readings", kind="second")
    chief.post("/queues", name="By hand", kind="hand", second="100")
    by_hand = numbered(database_url, "By hand")
    for account in ("north", "south"):
        decision_id = decided[account]["sample"].decision_id
        chief.post(f"/decisions/{decision_id}/pick", queue=str(by_hand))
        dealt = chief.post(f"/queues/{by_hand}/next").headers["location"]
        page = chief.get(dealt)
        assert page.status_code == 200
        chief.post(f"/decisions/{decision_id}/review", ruling="agree")

    assert in_queue(database_url, "Northern readings") == {decided["north"]["sample"].decision_id}
    assert in_queue(database_url, "All readings") == {decided["south"]["sample"].decision_id}


def test_a_picked_decision_goes_to_no_queue_of_other_accounts(
    visitors: Visitors, database_url: str, decided: dict[str, dict[str, Decision]]
) -> None:
    """Nobody who works in that queue could read it."""
    lead = at_work(visitors, database_url, Role.LEAD, "north")
    lead.post("/queues", name="Northern picks", kind="hand")
    chief = at_work(visitors, database_url, Role.LEAD, EVERY_ACCOUNT)
    queue_id = str(numbered(database_url, "Northern picks"))
    answers = [
        chief.post(f"/decisions/{decided[account]['sample'].decision_id}/pick", queue=queue_id).status_code
        for account in ("north", "south")
    ]
    page = chief.get(f"/decisions/{decided['south']['sample'].decision_id}")

    assert answers == [303, 409]
    assert "Northern picks" not in page.text
    assert in_queue(database_url, "Northern picks") == {decided["north"]["sample"].decision_id}
