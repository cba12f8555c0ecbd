"""Escalations as people and programs read them: command line, JSON API and the decision page."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cli.exit_codes import ExitCode
from db.escalations.closing import close_due_escalations
from db.people.records import Role
from tests.support.audited import escalated, record, rows
from tests.support.pools import in_pool
from tests.support.queues import hand_queue
from tests.support.reviewing import Visitor, add_person, person_at
from tests.support.terminal import Shell
from worker.model import Decision, Escalation

HOSTILE = "<b>returns</b>"


def opened(url: str, queue: str = "", **changes: Any) -> Decision:
    """A stored decision that opened an escalation now."""
    made = escalated(**changes)
    until = datetime.now(UTC) + timedelta(hours=1)
    made = replace(made, escalation=Escalation(queue=queue), people_until=until)
    record(url, made)
    return made


def close(url: str, made: Decision) -> None:
    """A person answers."""
    answered = "UPDATE escalations SET closed_at = now(), closed_by = 'ann', cause = 'answered'"
    rows(url, f"{answered} WHERE decision_id = %s", made.decision_id)


def test_the_command_line_lists_what_waits(shell: Shell, database_url: str) -> None:
    """Oldest first, by account, state and queue, with a cursor; a wrong state or cursor is named."""
    first, second, closed = (opened(database_url, queue, user_id="cli-shop") for queue in ("a", "b", "a"))
    close(database_url, closed)
    about = ("escalations", "list", "--account", "cli-shop")
    listed, by_queue = shell.run(*about), shell.run(*about, "--queue", "b")
    paged = shell.run(*about, "--after", str(first.decision_id), "--state", "all")
    over, elsewhere = shell.run(*about, "--state", "closed"), shell.run("escalations", "list", "-a", "other")
    wrong = [shell.run(*about, "--state", "maybe"), shell.run(*about, "--after", "x")]

    def found(answer: Any) -> list[str]:
        return [row["decision_id"] for row in answer.rows]

    assert found(listed) == [str(first.decision_id), str(second.decision_id)]
    assert found(by_queue) == [str(second.decision_id)]
    assert found(paged) == [str(second.decision_id), str(closed.decision_id)]
    assert [(row["state"], row["cause"], row["closed_by"]) for row in over.rows] == [
        ("closed", "answered", "ann")
    ]
    assert found(elsewhere) == []
    assert [each.code for each in wrong] == [ExitCode.USAGE, ExitCode.USAGE]


def test_the_api_lists_what_waits(visitors: Any, database_url: str) -> None:
    """Pages follow each other by ``next``; only accounts that the person may see are listed."""
    made = [opened(database_url, "returns", user_id="api-shop") for _ in range(3)]
    viewer: Visitor = visitors()
    viewer.sign_in(add_person(database_url, Role.VIEWER, account="api-shop"))
    stranger: Visitor = visitors()
    stranger.sign_in(add_person(database_url, Role.VIEWER, account="another-shop"))
    path = "/api/v1/escalations"
    page = viewer.get(f"{path}?limit=2&queue=returns").json()
    rest = viewer.get(f"{path}?limit=2&cursor={page['next']}").json()

    assert [each["decision_id"] for each in (*page["escalations"], *rest["escalations"])] == [
        str(each.decision_id) for each in made
    ]
    assert {each["state"] for each in page["escalations"]} == {"open"}
    assert rest["next"] is None
    assert viewer.get(f"{path}?state=closed").json()["escalations"] == []
    assert viewer.get(f"{path}?conversation={made[1].event.conversation_id}&state=all").json()["next"] is None
    assert stranger.get(path).json()["escalations"] == []
    assert stranger.get(f"{path}?account=api-shop").status_code == 404


@pytest.mark.parametrize("query", ["state=maybe", "cursor=x", "limit=0", "queue=%00"])
def test_a_parameter_that_cannot_be_used_is_named(visitors: Any, database_url: str, query: str) -> None:
    """400, not an error of the database."""
    viewer, _ = person_at(visitors, database_url, Role.VIEWER)

    assert viewer.get(f"/api/v1/escalations?{query}").status_code == 400


def test_the_page_of_a_decision_says_what_became_of_its_escalation(visitors: Any, database_url: str) -> None:
    """Open in its queue, then closed by whom; a queue's name is text."""
    made = opened(database_url, HOSTILE)
    reviewer, _ = person_at(visitors, database_url, Role.REVIEWER)
    before = reviewer.get(f"/decisions/{made.decision_id}").text
    close(database_url, made)
    after = reviewer.get(f"/decisions/{made.decision_id}").text

    assert "&lt;b&gt;returns&lt;/b&gt;</b>. Open: a person must answer." in before
    assert HOSTILE not in before
    assert "answered by a person, <bdi>ann</bdi>." in after


@pytest.mark.parametrize(("ruling", "closes"), [("agree", False), ("overturn", True), ("undone", False)])
def test_an_overturned_escalation_is_closed_after_the_undo_window(
    visitors: Any, database_url: str, ruling: str, closes: bool
) -> None:
    """By the reviewer; agreement leaves it open, as the message still waits, and so does an undo."""
    made = opened(database_url)
    reviewer, person = person_at(visitors, database_url, Role.REVIEWER)
    address = f"/decisions/{made.decision_id}"
    reviewer.get(address)
    chosen = {"ruling": "agree"} if ruling == "agree" else {"ruling": "overturn", "reason": "SHOULD_ANSWER"}
    assert reviewer.post(f"{address}/review", seen="", note="no", **chosen).status_code == 303
    stored = "SELECT id FROM decision_reviews WHERE decision_id = %s"
    if ruling == "undone":
        review_id = rows(database_url, stored, made.decision_id)[0]["id"]
        assert reviewer.post(f"/reviews/{review_id}/undo").status_code == 303
    states = []
    for after_s in (50, 70):
        sweep(database_url, datetime.now(UTC) + timedelta(seconds=after_s))
        found = rows(database_url, "SELECT * FROM escalations WHERE decision_id = %s", made.decision_id)[0]
        states.append((found["cause"], found["closed_by"]))

    assert states == [(None, None), ("reviewed", person.login) if closes else (None, None)]


def sweep(url: str, now: datetime) -> None:
    """The sweep of a worker at this moment."""
    in_pool(url, lambda source: close_due_escalations(source, now))


def test_a_blind_reader_does_not_learn_how_an_escalation_was_closed(visitors: Any, database_url: str) -> None:
    """Page and API show nothing of it until the review, since a ruling may have closed it."""
    made = opened(database_url)
    lead, _ = person_at(visitors, database_url, Role.LEAD)
    reader, _ = person_at(visitors, database_url, Role.REVIEWER)
    address, path = f"/decisions/{made.decision_id}", "/api/v1/escalations?state=all&limit=500"
    lead.get(address)
    lead.post(f"{address}/review", ruling="agree", seen="", note="")
    of = hand_queue(database_url, f"of {made.decision_id}", {made.decision_id: made.decided_at})
    reader.get("/queues")
    reader.post(f"/queues/{of}/next")
    close(database_url, made)

    assert "answered by a person" not in reader.get(address).text
    assert str(made.decision_id) not in reader.get(path).text
    assert str(made.decision_id) in lead.get(path).text
