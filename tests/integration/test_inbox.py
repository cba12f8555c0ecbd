"""The inbox of messages that wait for a person: rows with what was asked, and one answer after the other."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest

from db.people.records import Role
from tests.integration import test_answers
from tests.integration.test_answers import ANSWER_FIELD, DRAFT_FIELD, QUESTION, SEEN_FIELD, Desk
from tests.support.queues import hand_queue
from tests.support.reviewing import Visitor, add_person

desk = test_answers.desk
LEFT: Final = re.compile(r"([\d,]+) left")


@pytest.fixture(scope="module")
def account(desk: Desk) -> str:
    """An account whose replies all wait."""
    return desk.engine.account(documents=test_answers.HOURS, reply_mode="suggest")


@pytest.fixture
def agent(desk: Desk, account: str) -> Visitor:
    """A reviewer of this account alone."""
    each = desk.visitor()
    each.sign_in(add_person(desk.engine.url, Role.REVIEWER, account=account))
    return each


def asked(desk: Desk, account: str, name: str) -> dict[str, Any]:
    """A message that waits."""
    return desk.engine.decide(account, QUESTION, conversation_id=name, author_id=f"author of {name}")


def form_of(visitor: Visitor, row: dict[str, Any]) -> dict[str, str]:
    """The fields of the forms of a case."""
    page = visitor.get(f"/escalations/{row['id']}").text
    found = {"answer": ANSWER_FIELD.search(page), "seen": SEEN_FIELD.search(page)}
    fields = {name: match[1] for name, match in found.items() if match}
    return fields | {"draft": DRAFT_FIELD.findall(page)[0]}


def test_an_agent_answers_one_message_after_the_other(desk: Desk, account: str, agent: Visitor) -> None:
    """A row shows author, message, draft and reason; each answer opens the next one."""
    rows = [asked(desk, account, f"agent {number}") for number in range(3)]
    held = desk.engine.row("SELECT text FROM held_drafts WHERE decision_id = %s", rows[0]["id"])
    assert held is not None
    listed = agent.get("/escalations").text
    case = agent.get(f"/escalations/{rows[0]['id']}").text
    forms = ({"action": "approve"}, {"action": "write", "text": "From nine."}, {"action": "dismiss"})
    led: list[str] = []
    opened: list[str] = []
    for row, fields in zip(rows, forms, strict=True):
        response = agent.post(f"/escalations/{row['id']}", **form_of(agent, row) | fields)
        led.append(response.headers["location"].partition("?")[0])
        opened.append(agent.get(response.headers["location"]).text)
    end = agent.get("/escalations").text

    for expected in ("author of agent 0", QUESTION, held["text"], "Waits for approval"):
        assert expected in listed
    assert LEFT.findall(case) == ["3"]
    assert QUESTION in case
    assert held["text"] in case
    assert led == [f"/escalations/{rows[1]['id']}", f"/escalations/{rows[2]['id']}", "/escalations"]
    assert "Nothing waits for an answer" in end
    done = ("Sent.", "Sent.", "Closed without an answer.")
    for row, page, expected in zip(rows, opened, done, strict=True):
        assert f'{expected} <a href="/decisions/{row["id"]}#answer">Open the decision</a>' in page


def test_a_draft_without_an_answer_is_not_approved_in_one_step(
    desk: Desk, account: str, agent: Visitor
) -> None:
    """It says that the documents have no answer: a person writes one, or edits it."""
    unknown = desk.engine.decide(account, "Do you sell kayaks?", conversation_id="kayaks")
    pages = [agent.get(f"/escalations/{row['id']}").text for row in (asked(desk, account, "known"), unknown)]
    owner = desk.visitor()
    owner.sign_in(add_person(desk.engine.url, Role.OWNER, account=account))
    home = owner.get(f"/accounts/{account}/home").text
    card = home[home.index(f'id="waits-{unknown["id"]}"') :].partition("</article>")[0]

    assert ["Approve and send" in each for each in pages] == [True, False]
    assert ["Edit and send" in each for each in pages] == [True, True]
    assert ("Approve and send" in card, "Write an answer" in card) == (False, True)


def test_a_refused_answer_keeps_its_text_in_the_inbox(desk: Desk, account: str, agent: Visitor) -> None:
    """On the page of the case, not on that of the decision."""
    row = asked(desk, account, "refused")
    text = {"action": "write", "text": "I will kill you"}
    response = agent.post(f"/escalations/{row['id']}", **form_of(agent, row) | text)

    assert response.status_code == 400
    assert 'id="question"' in response.text
    assert "I will kill you" in response.text
    assert f'action="/escalations/{row["id"]}"' in response.text


def test_the_navigation_counts_what_waits(desk: Desk, account: str, agent: Visitor) -> None:
    """Messages to answer, and items of the person's queues, the held one not among the rest of its queue."""
    rows = [asked(desk, account, f"counted {number}") for number in range(2)]
    picked = {row["id"]: row["created_at"] for row in rows}
    before = counts(agent)
    queue = hand_queue(desk.engine.url, f"counted {rows[0]['id']}", picked)
    after = counts(agent)
    agent.get("/queues")
    item = agent.get(agent.post(f"/queues/{queue}/next").headers["location"]).text

    assert before["escalations"] >= 2
    assert after == {"escalations": before["escalations"], "queues": before["queues"] + 2}
    assert LEFT.findall(item) == ["1"]


def counts(visitor: Visitor) -> dict[str, int]:
    """The numbers of the navigation."""
    found = re.findall(r'id="count-(\w+)"[^>]*>(\d+)', visitor.get("/counts").text)
    return {name: int(number) for name, number in found}


def test_a_person_who_holds_a_message_in_a_queue_reviews_it_first(
    desk: Desk, account: str, agent: Visitor
) -> None:
    """What others did is hidden until then, so there is no form; it is left out of what comes next."""
    held, other = (asked(desk, account, f"held {number}") for number in range(2))
    queue = hand_queue(desk.engine.url, f"held {held['id']}", {held["id"]: held["created_at"]})
    agent.get("/queues")
    agent.post(f"/queues/{queue}/next")
    page = agent.get(f"/escalations/{held['id']}").text
    form = form_of(agent, other) | {"action": "dismiss"}
    following = agent.post(f"/escalations/{other['id']}", **form).headers["location"]

    assert "Review it first" in page
    assert 'name="action"' not in page
    assert str(held["id"]) not in following.partition("?")[0]
