"""The page of one decision, made by a real engine, seen by people with different rights."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import psycopg
import pytest

from db.people.records import Role
from review.languages.choice import ZONE_COOKIE
from tests.integration.test_outcomes import HOURS, OUTCOMES, QUESTION, Outcome
from tests.support.audited import ignored, record
from tests.support.conversing import SCENARIOS, conversation_ending
from tests.support.reviewing import Visitor, add_person, signed_in, site
from tests.support.running import Running
from tests.support.samples import assessment
from worker.assessment import ReplyKind
from worker.reasons import Reason

TAGS = re.compile(r"<[^>]*>")
CANCELLED_DELIVERY = """
    WITH event AS (
        INSERT INTO outgoing_events (
            user_id, conversation_id, type, key, body, created_at, streamed_at, fanned_out_at)
        VALUES (%(user_id)s, 'talk', 'reply.created', %(key)s, '{}', now(), now(), now()) RETURNING id
    ), endpoint AS (
        INSERT INTO webhook_endpoints (id, user_id, url, types, secret, secret_hint, created_by)
        VALUES (%(id)s, %(user_id)s, 'https://example.org', '{reply.created}', 's', 's', 'ann') RETURNING id
    )
    INSERT INTO webhook_deliveries (
        endpoint_id, event_row, user_id, conversation_id, state, cancel_reason, created_at, ended_at)
    SELECT endpoint.id, event.id, %(user_id)s, 'talk', 'cancelled', 'taken_over', now(), now()
    FROM event, endpoint
"""
HEADLINE = re.compile(r"<h1>(.*?)</h1>", re.DOTALL)


def read(text: str) -> str:
    """What a page says, without its tags."""
    return html.unescape(TAGS.sub("", text))


def headline(text: str) -> str:
    """The sentence at the top."""
    found = HEADLINE.search(text)
    assert found is not None, text[:2000]
    return read(found[1])


@contextmanager
def reading(url: str, *roles: Role, covered: tuple[str, ...] = (), account: str = "*") -> Iterator[Visitor]:
    """The session of a person with these roles and these covered categories."""
    person = add_person(url, *roles, account=account)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE people SET covered = %s WHERE id = %s", (list(covered), person.person_id))
    with site(url) as visitor:
        session = signed_in(visitor, person)
        yield session


def visited(url: str, row: dict[str, Any], *roles: Role, **options: Any) -> str:
    """The page of a decision as a person with these roles sees it."""
    with reading(url, *(roles or (Role.REVIEWER,)), **options) as session:
        response = session.get(f"/decisions/{row['id']}")
        assert response.status_code == 200, response.text
        return str(response.text)


@pytest.mark.parametrize("outcome", OUTCOMES[::6], ids=lambda outcome: outcome.reason.lower())
def test_every_ending_has_a_page_that_says_why(engine: Running, outcome: Outcome) -> None:
    """One plain sentence, the message, every stage that ran; sentences of all reasons are unit-tested."""
    for rule in outcome.rules:
        engine.sandbox.add_rule(**rule)
    user_id = engine.account(documents=outcome.documents, **outcome.settings)
    row = engine.decide(user_id, outcome.text, **outcome.event)
    page = visited(engine.url, row)
    sentence = headline(page)

    assert sentence.startswith(
        ("Nothing was sent: ", "A reply was sent: ", "Handed to a person: ", "A prepared text")
    )
    assert outcome.text in read(page)
    assert page.count('class="waterfall"') == len(row["snapshot_json"]["stages"])


def test_the_title_has_the_time_of_the_reader(engine: Running) -> None:
    """As the page has it: tabs and bookmarks are named so."""
    row = engine.decide(engine.account(), "Hello!")
    with reading(engine.url, Role.REVIEWER) as session:
        session.client.cookies.set(ZONE_COOKIE, "Asia/Kathmandu")
        page = session.get(f"/decisions/{row['id']}").text
    title = re.search("<title>(.*?) · Hushgate</title>", page)

    assert title is not None
    assert title[1].endswith(f"{row['created_at'].astimezone(ZoneInfo('Asia/Kathmandu')):%H:%M}")


@pytest.mark.parametrize(
    ("settings", "text", "link"),
    [
        ({"ai_control_enabled": False}, "Hello!", "settings?level=all#setting-ai_control_enabled"),
        ({"flagged_keywords": ["casino"]}, "casino", "rules"),
        ({}, "Do you repair phones?", "documents"),
    ],
)
def test_a_message_without_a_reply_names_the_page_to_change_that(
    engine: Running, settings: dict[str, Any], text: str, link: str
) -> None:
    """For people who may change it."""
    row = engine.decide(engine.account(**settings), text)
    owner, reviewer = visited(engine.url, row, Role.OWNER), visited(engine.url, row)

    assert f'To change this:</span> <a href="/accounts/{row["user_id"]}/{link}">' in owner
    assert "To change this" not in reviewer


HEADLINES = {"ignore": "Nothing was sent: ", "escalate": "Handed to a person: "}


@pytest.mark.parametrize("reason", [*SCENARIOS][::4])
def test_the_page_of_an_ending_leads_to_the_conversation_that_caused_it(
    engine: Running, reason: Reason
) -> None:
    """The sentence is followed by a link to all decisions of the conversation."""
    row = conversation_ending(engine, reason)
    page = visited(engine.url, row)
    shown_list = f"account={row['user_id']}&amp;conversation={row['conversation_id']}&amp;since=all"

    assert headline(page).startswith(HEADLINES[row["decision"]])
    assert f'href="/decisions?{shown_list}">See the conversation' in page


KILL = "I will kill you when you are open"
AFTER = "And when are you open on weekdays?"


@pytest.fixture
def flagged(engine: Running) -> dict[str, Any]:
    """A conversation of a harmless question, a threat, and another question."""
    user_id = engine.account(documents=HOURS)
    engine.decide(user_id, "When are you open on Sunday?", conversation_id="talk")
    row = engine.decide(user_id, KILL, conversation_id="talk")
    engine.decide(user_id, AFTER, conversation_id="talk")
    return row


def logged(engine: Running, row: dict[str, Any]) -> list[str]:
    """What was done with a decision, by the access log."""
    query = "SELECT action FROM access_log WHERE decision_id = %s ORDER BY id"
    return [each["action"] for each in engine.rows(query, row["id"])]


def test_the_conversation_stands_around_the_message(engine: Running, flagged: dict[str, Any]) -> None:
    """Before and after, with replies; and that the history no longer holds the threat."""
    page = visited(engine.url, flagged)
    text = read(page)

    assert text.index("When are you open on Sunday?") < text.index("This message") < text.index(AFTER)
    assert "On Sunday the shop is closed." in text
    assert "is not in the stored history" in text
    assert "2 lines" not in text
    assert "sealed until" in text
    assert logged(engine, flagged) == ["read"]


def test_a_covered_text_is_not_in_the_page_until_asked_for(engine: Running, flagged: dict[str, Any]) -> None:
    """Neither message nor conversation, rule or quarantine; asking shows them and is logged."""
    with reading(engine.url, Role.REVIEWER, covered=("violence",)) as session:
        covered = session.get(f"/decisions/{flagged['id']}").text
        piece = session.client.post(
            f"/decisions/{flagged['id']}/reveal",
            data={"csrf": session.csrf, "part": "content"},
            headers={"HX-Request": "true", "Sec-Fetch-Site": "same-origin"},
        ).text
        whole = session.post(f"/decisions/{flagged['id']}/reveal", part="content").text
        line = session.client.post(
            f"/decisions/{flagged['id']}/reveal",
            data={"csrf": session.csrf, "part": "line"},
            headers={"HX-Request": "true", "Sec-Fetch-Site": "same-origin"},
        ).text

    assert "kill" not in covered
    assert "When are you open" not in covered
    assert "Covered: violence" in covered
    assert "data-reveal" in covered
    assert KILL in read(piece)
    assert "<html" not in piece
    assert KILL in read(whole)
    assert "<html" in whole
    assert read(line).strip() == KILL
    assert logged(engine, flagged) == ["read", "reveal", "reveal", "reveal"]


def test_a_neighbour_has_a_cover_of_its_own(engine: Running, flagged: dict[str, Any]) -> None:
    """The page of a harmless question does not show the threat beside it."""
    harmless = engine.row(
        "SELECT * FROM ai_decisions WHERE message_text = %s ORDER BY id DESC LIMIT 1", AFTER
    )
    assert harmless is not None
    page = visited(engine.url, harmless, covered=("violence",))

    assert AFTER in read(page)
    assert "kill" not in page
    assert f"/decisions/{flagged['id']}/reveal" in page


def test_a_covered_rule_is_not_named(engine: Running) -> None:
    """Its word is what the cover hides."""
    row = engine.decide(engine.account(flagged_keywords=["crumpet"]), "You old crumpet")
    covered = visited(engine.url, row, covered=("flagged_rule",))

    assert "crumpet" not in covered
    assert "a blocked word of the account" in headline(covered)
    assert "crumpet" in visited(engine.url, row)


def test_quarantine_is_for_those_who_may_review(engine: Running) -> None:
    """A viewer reads the first 500 characters and no draft; a reviewer reads it all, marked."""
    text = "When are you open? " + "x" * 600 + " tail"
    user_id = engine.account(documents=HOURS, flagged_keywords=["nine", "tail"])
    long, stopped = engine.decide(user_id, text), engine.decide(user_id, QUESTION)
    viewer = [visited(engine.url, row, Role.VIEWER) for row in (long, stopped)]
    reviewer = [visited(engine.url, row, Role.REVIEWER) for row in (long, stopped)]

    assert "beyond the stored part" in viewer[0]
    assert "<mark" not in viewer[0]
    assert '<mark class="once" data-ends="1">tail</mark>' in reviewer[0]
    assert "We are open from" not in read(viewer[1]).split("Passages")[0]
    assert 'We are open from <mark class="once" data-ends="1">nine</mark>' in reviewer[1]


def test_a_decision_of_another_account_is_not_there(engine: Running) -> None:
    """The same page as for an id that never was, and nothing is logged as read."""
    row = engine.decide(engine.account(), QUESTION)
    with reading(engine.url, Role.LEAD, account="somebody-else") as session:
        answers = [
            session.get(f"/decisions/{row['id']}"),
            session.get("/decisions/01a200f1-eb34-702a-9ae9-4ec957455f4a"),
            session.get("/decisions/not-an-id"),
            session.get(f"/decisions/{row['id']}/similar"),
            session.post(f"/decisions/{row['id']}/reveal", part="line"),
        ]

    assert [each.status_code for each in answers] == [404] * 5
    assert all(QUESTION not in each.text for each in answers)
    assert logged(engine, row) == []


def test_a_decision_that_was_erased_says_so(engine: Running) -> None:
    """To who might have read it; to everybody else it was never there."""
    row = engine.decide(engine.account(), QUESTION)
    engine.database.execute("SET session_replication_role = replica")
    engine.database.execute("DELETE FROM ai_decisions WHERE id = %s", (row["id"],))
    engine.database.execute("SET session_replication_role = origin")
    with reading(engine.url, Role.VIEWER) as session:
        gone = session.get(f"/decisions/{row['id']}")
    with reading(engine.url, Role.VIEWER, account="somebody-else") as session:
        unknown = session.get(f"/decisions/{row['id']}")

    assert (gone.status_code, unknown.status_code) == (410, 404)
    assert "was erased" in gone.text
    assert row["user_id"] in gone.text


def test_the_list_can_be_walked(engine: Running) -> None:
    """Links to the decisions beside this one in the list it was opened from, by its filters."""
    user_id = engine.account(documents=HOURS)
    rows = [engine.decide(user_id, f"{QUESTION} {number}") for number in range(3)]
    with reading(engine.url, Role.VIEWER) as session:
        page = session.get(f"/decisions/{rows[1]['id']}?from=account%3D{user_id}").text
        last = session.get(f"/decisions/{rows[0]['id']}?from=account%3D{user_id}").text
        direct = session.get(f"/decisions/{rows[1]['id']}").text
        wrong = session.get(f"/decisions/{rows[1]['id']}?from=nonsense%3D1").text

    assert re.search(rf'href="/decisions/{rows[2]["id"]}\?from=[^"]*" data-prev', page)
    assert re.search(rf'href="/decisions/{rows[0]["id"]}\?from=[^"]*" data-next', page)
    assert f'href="/decisions?account={user_id}"' in page
    assert "data-prev" in last
    assert "data-next" not in last
    assert "data-prev" not in direct + wrong


def test_the_rules_are_those_of_the_decision(engine: Running) -> None:
    """A threshold in force then, and that it is another one today."""
    user_id = engine.account(moderation_thresholds={"violence": 0.4})
    row = engine.decide(user_id, KILL)
    engine.database.execute(
        "INSERT INTO ai_rules (user_id, ai_control_enabled, moderation_thresholds, changed_by)"
        " VALUES (%s, true, %s, 'kim')",
        (user_id, '{"violence": 0.95}'),
    )
    text = " ".join(read(visited(engine.url, row)).split())

    assert "Version 1, by test" in text
    assert "Version 2 is in force now, by kim" in text
    assert "flagged from a score of 0.40. Now it flags from 0.95." in text
    assert "0.40, 0.5" in text


def test_the_page_shows_the_reply_as_sent_and_the_draft_with_its_marks(engine: Running) -> None:
    """Who reads the audit sees which passage stands behind each sentence; the author does not."""
    user_id = engine.account(documents=HOURS)
    row = engine.decide(user_id, "When are you open on weekdays?")
    page = read(visited(engine.url, row))
    with psycopg.connect(engine.url) as connection:
        found = connection.execute(
            "SELECT o.text, o.draft, o.sources, m.text FROM outbox o JOIN messages m"
            " ON m.decision_id = o.decision_id AND m.role = 'assistant' WHERE o.decision_id = %s",
            (row["id"],),
        ).fetchone()
    assert found is not None
    text, draft, cited, remembered = found

    assert "[1]" not in text
    assert draft == f"{text} [1]"
    assert remembered == text
    assert [each["number"] for each in cited] == [1]
    assert draft in page


def test_the_page_shows_the_assessment_and_what_to_learn(engine: Running) -> None:
    """Score with its colour, validation with reasons, the fallback, the topics (Confidence Validation)."""
    engine.sandbox.add_rule("chat", "ungrounded")
    user_id = engine.account(assessment_policy={"name": "validators"})
    row = engine.decide(user_id, "Which planets have rings?")
    page = visited(engine.url, row)
    text = " ".join(read(page).split())

    assert '<span class="badge bad">⚠ low confidence</span>' in page
    assert "✗ missing_uncertainty_no_context" in text
    topics = page.partition("Topics of the question that no passage contains")[2].partition("</ul>")[0]

    assert re.findall(r"<bdi>(\w+)</bdi>", topics) == ["planets", "rings"]
    assert row["reason_code"] == "FALLBACK_SENT"
    assert "A prepared text was sent instead of the draft" in headline(page)


def test_the_page_names_the_lost_decision_whose_reply_was_sent(engine: Running) -> None:
    """Its text may differ from the one that is shown."""
    row, lost = engine.decide(engine.account(documents=HOURS), QUESTION), uuid4()
    with psycopg.connect(engine.url, autocommit=True) as connection:
        connection.execute("UPDATE outbox SET sent_as = %s WHERE decision_id = %s", (lost, row["id"]))

    assert f"The author got the reply of decision {lost}" in read(visited(engine.url, row))


def test_the_page_says_what_became_of_the_reply_by_webhook(engine: Running) -> None:
    """A reply on its stream whose webhook was cancelled."""
    user_id = engine.account(documents=HOURS)
    row = engine.decide(user_id, QUESTION)
    without = read(visited(engine.url, row))
    with psycopg.connect(engine.url, autocommit=True) as connection:
        connection.execute(CANCELLED_DELIVERY, {"user_id": user_id, "key": row["event_id"], "id": uuid4()})
    shown = re.sub(r"\s+", " ", read(visited(engine.url, row)))

    assert "Webhook:" not in without
    assert "Webhook: cancelled people took the conversation" in shown


def test_a_draft_without_an_answer_is_no_assessed_reply(database_url: str) -> None:
    """The page does not show a mean of 0.00 beside the sentence that no draft was assessed."""
    refused = assessment(measured=False, category=ReplyKind.REFUSAL, confidence=0.0)
    decision = ignored(user_id="unassessed", assessment=refused)
    record(database_url, decision)
    with reading(database_url, Role.REVIEWER, account="unassessed") as reviewer:
        page = read(reviewer.get(f"/decisions/{decision.decision_id}").text)

    assert "No draft was assessed." in page
    assert "assessed reply: mean" not in page
