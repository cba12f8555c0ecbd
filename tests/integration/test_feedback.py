"""Feedback of customers: stored once, joined to the decision, a signal of its own; on real servers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from httpx2 import Response

from compliance.erasure.records import ErasureKind
from db.audit.decision_list import load_page
from db.audit.filters import Filters
from db.connection import Connection
from db.customer_feedback.reading import (
    FeedbackFilter,
    FeedbackRate,
    feedback_rates,
    feedback_verdict,
    list_feedback,
)
from db.people.api_tokens import TokenScope
from db.people.records import Role
from db.reviews import queue_filling, queues
from db.reviews.list_marks import load_list_marks
from tests.integration.test_review_pages import SEEN
from tests.support.conversing import HOURS, QUESTION, TALK, rate
from tests.support.erasing import erase, places
from tests.support.publishing import checking_gateway, token
from tests.support.review_rows import rate as feedback_rows
from tests.support.reviewing import Visitors, add_person, signed_in
from tests.support.running import Running, eventually, settings_of
from worker.reasons import Reason

Value = TypeVar("Value")
HOUR = timedelta(hours=1)


def read(url: str, work: Callable[[Connection], Awaitable[Value]]) -> Value:
    """What ``work`` gives, in a transaction as the owner of the database."""

    async def run() -> Value:
        async with await Connection.connect(url) as connection:
            return await work(connection)

    return asyncio.run(run())


def answered(engine: Running, **settings: Any) -> tuple[str, dict[str, Any]]:
    """An account whose message ``m1`` has a sent reply, and the decision."""
    user_id = engine.account(documents=HOURS, **settings)
    made = engine.decide(user_id, QUESTION, conversation_id=TALK, message_id="m1")
    eventually(lambda: engine.reply(user_id, made["event_id"]), "the reply")
    eventually(
        lambda: engine.row(
            "SELECT 1 AS sent FROM outbox WHERE user_id = %s AND delivered_at IS NOT NULL", user_id
        ),
        "the record of the reply",
    )
    return user_id, made


def joined(engine: Running, user_id: str) -> list[UUID | None]:
    """The decisions that the account's feedback is about."""
    query = "SELECT decision_id FROM customer_feedback WHERE user_id = %s ORDER BY id"
    return [row["decision_id"] for row in engine.rows(query, user_id)]


@pytest.mark.parametrize("name", ["message_id", "event_id", "id"])
def test_feedback_names_a_reply_by_message_event_or_decision(engine: Running, name: str) -> None:
    """The message id is that of another message where the author names event or decision."""
    user_id, made = answered(engine)
    marks = {"thumb": "down"} if name == "message_id" else {"thumb": "down", "about": str(made[name])}
    said = rate(engine, user_id, message_id="m1" if name == "message_id" else "button-7", **marks)

    assert (said["decision"], said["reason_code"]) == ("ignore", Reason.FEEDBACK)
    assert joined(engine, user_id) == [made["id"]]
    assert engine.sandbox.calls("moderations") == 2  # message and reply: marks are no text


def test_feedback_does_not_reach_another_account(engine: Running) -> None:
    """The reason names the field and what came; nothing is joined."""
    _, foreign = answered(engine)
    user_id = engine.account(documents=HOURS)
    said = rate(engine, user_id, about=str(foreign["id"]), rating=1)

    assert said["reason_code"] == Reason.FEEDBACK_UNMATCHED
    expected = f"feedback.about: expected a message decided in this conversation, got {foreign['id']}"
    assert said["reason"] == expected
    assert joined(engine, user_id) == [None]


@pytest.mark.parametrize("about", [None, "first-1"])
def test_feedback_that_comes_first_counts_when_the_message_comes(engine: Running, about: str | None) -> None:
    """A publisher may send both out of order, and name message or event."""
    user_id = engine.account(documents=HOURS)
    rate(engine, user_id, message_id="button-7" if about else "m1", resolved=False, about=about)
    rate(engine, user_id, message_id="m1", resolved=False, about="another")
    made = engine.decide(user_id, QUESTION, conversation_id=TALK, message_id="m1", event_id="first-1")

    assert joined(engine, user_id) == [made["id"], None]


def test_the_newest_feedback_of_an_author_counts_and_all_stay(engine: Running) -> None:
    """By the time of the event, in any order of arrival; another author's feedback stands beside."""
    user_id, made = answered(engine)
    now = datetime.now(UTC)
    place = {"type": "feedback", "conversation_id": TALK, "message_id": "m1"}
    for author, thumb, age in (("a", "down", 1), ("a", "up", 2), ("b", "up", 3), ("a", None, 0)):
        event_id = engine.publish(
            user_id, "" if thumb else "why?", feedback={"thumb": thumb}, author_id=author,
            created_at=(now - timedelta(minutes=age)).isoformat(), **place,
        )  # fmt: skip
        engine.decided(user_id, event_id)
    found = read(engine.url, lambda connection: list_feedback(connection, made["id"]))
    rates = read(
        engine.url,
        lambda connection: feedback_rates(
            connection, accounts=None, account=user_id, since=now - HOUR, until=now + HOUR
        ),
    )

    assert [(each.author_id, each.wrong, each.stands) for each in found] == [
        ("a", None, True), ("a", True, True), ("a", False, False), ("b", False, True)]  # fmt: skip
    assert rates[0] == FeedbackRate(dimension="all", value="", answered=2, wrong=1)
    assert {each.dimension for each in rates} == {"all", "reason_code", "confidence_band"}


def test_a_middle_rating_replaces_older_marks_and_is_in_no_rate(engine: Running) -> None:
    """Three of five is neither wrong nor right; the page shows it."""
    user_id, made = answered(engine)
    span = {"since": made["created_at"] - HOUR, "until": made["created_at"] + HOUR}
    rate(engine, user_id, rating=1)
    rate(engine, user_id, rating=3)
    found = read(engine.url, lambda connection: list_feedback(connection, made["id"]))
    verdict = read(engine.url, lambda connection: feedback_verdict(connection, made["id"]))
    rates = read(
        engine.url,
        lambda connection: feedback_rates(connection, accounts=None, account=user_id, **span),
    )

    assert [(each.rating, each.wrong, each.stands) for each in found] == [(3, None, True), (1, True, False)]
    assert (verdict, rates) == ("neither", ())


def test_thousands_of_marks_of_an_author_count_as_one(engine: Running) -> None:
    """They are read in the time of a page, however they came."""
    user_id, made = answered(engine)
    feedback_rows(engine.url, [made], marks=10_000)
    span = {"since": made["created_at"] - HOUR, "until": made["created_at"] + HOUR}

    async def count(connection: Connection) -> tuple[FeedbackRate, ...]:
        await connection.execute(sa.text("SET LOCAL statement_timeout = '2s'"))
        await feedback_verdict(connection, made["id"])
        return await feedback_rates(connection, accounts=None, account=user_id, **span)

    (whole, *_) = read(engine.url, count)

    assert (whole.answered, whole.wrong) == (1, 1)


def test_wrong_after_a_sent_reply_opens_one_review(engine: Running) -> None:
    """Twice filled, once queued; a right mark and feedback about silence queue nothing."""
    user_id, made = answered(engine)
    other = engine.account(documents=HOURS, ai_enabled_for_chats=False)
    engine.decide(other, QUESTION, conversation_id=TALK, message_id="m1")
    rate(engine, other, thumb="down")
    rate(engine, user_id, rating=2)
    happy, _ = answered(engine)
    rate(engine, happy, rating=5)

    async def fill(connection: Connection) -> None:
        (queue,) = [q for q in await queues.list_open_queues(connection) if q.kind == "objections"]
        for _ in range(2):
            await queue_filling.fill_queue(connection, queue, datetime.now(UTC) + timedelta(seconds=1))

    read(engine.url, fill)
    queued = engine.rows(
        "SELECT decision_id, stratum FROM queue_items WHERE user_id = ANY(%s)", [user_id, other, happy]
    )

    assert queued == [{"decision_id": made["id"], "stratum": "feedback"}]


def test_a_handoff_that_a_customer_calls_wrong_is_no_text_of_the_ai(engine: Running) -> None:
    """The text at a handoff is the account's own; the feedback is stored and counts."""
    user_id = engine.account(documents=HOURS, handoff_texts={"en": "A person will answer."})
    made = engine.decide(user_id, "Do you repair phones?", conversation_id=TALK, message_id="m1")
    sent = "SELECT origin FROM outbox WHERE user_id = %s AND delivered_at IS NOT NULL"
    eventually(lambda: engine.row(sent, user_id), "the text at the handoff")
    rate(engine, user_id, message_id="m1", thumb="down")

    assert engine.rows(sent, user_id) == [{"origin": "handoff"}]
    assert joined(engine, user_id) == [made["id"]]
    assert engine.rows("SELECT decision_id FROM objections WHERE user_id = %s", user_id) == []


def test_feedback_about_a_check_objects_to_what_passed(engine: Running) -> None:
    """It names the check's id or decision; a draft that was held was not sent."""
    user_id, texts = engine.account(), ("We open at nine.", "See https://evil.example")
    asked = {"user_id": user_id, "conversation_id": TALK}
    headers = {"Authorization": f"Bearer {token(engine.url, TokenScope.CHECK)}"}
    with checking_gateway(settings_of(engine.url, engine.redis_url, engine.sandbox)) as client:
        passed, held = (
            client.post("/v1/checks", json=asked | {"draft": text}, headers=headers).json() for text in texts
        )
    said = [
        rate(engine, user_id, about=about, thumb="down")
        for about in (passed["id"], passed["decision_id"], held["id"])
    ]
    objections = engine.rows("SELECT decision_id::text AS id FROM objections WHERE user_id = %s", user_id)

    assert {each["reason_code"] for each in said} == {Reason.FEEDBACK}
    assert [str(each) for each in joined(engine, user_id)] == [
        passed["decision_id"],
        passed["decision_id"],
        held["decision_id"],
    ]
    assert objections == [{"id": passed["decision_id"]}]


def test_a_reviewer_overturns_what_a_customer_calls_wrong(engine: Running, visitors: Visitors) -> None:
    """From the queue; a second customer opens no second review; texts that are flagged later do."""
    user_id, made = answered(engine)
    rate(engine, user_id, "<script>alert(1)</script> <img src=x onerror=alert(1)>", thumb="down")
    reviewer = signed_in(visitors, add_person(engine.url, Role.REVIEWER, account=user_id))
    (queue,) = [q for q in read(engine.url, queues.list_open_queues) if q.kind == "objections"]
    reviewer.get("/queues")
    dealt = reviewer.post(f"/queues/{queue.id}/next").headers["location"]
    page = reviewer.get(dealt)
    form = {"ruling": "overturn", "reason": "SHOULD_ESCALATE", "note": "the wrong day"}

    def rule(shown: Response) -> Response:
        (seen,) = set(SEEN.findall(shown.text))
        return reviewer.post(f"/decisions/{made['id']}/review", seen=seen, **form)

    def next_item() -> str:
        reviewer.get("/queues")
        return str(reviewer.post(f"/queues/{queue.id}/next").headers["location"])

    ruled = rule(page)
    engine.decide(
        user_id, "", type="feedback", feedback={"thumb": "down"}, conversation_id=TALK, message_id="m1",
        author_id="another",
    )  # fmt: skip
    after_second = next_item()
    engine.database.execute(
        """INSERT INTO unmoderated_texts (decision_id, decided_at, user_id, conversation_id, message_id,
            author_id, event_id, scope, roles, checked_at, result, matched_rule)
        SELECT id, created_at, user_id, conversation_id, message_id, author_id, event_id, scope, '{user}',
            now(), 'flagged', 'openai_moderation:hate' FROM ai_decisions WHERE id = %s""",
        (made["id"],),
    )
    after_late = next_item()
    rule(reviewer.get(after_late))
    state = engine.row("SELECT state FROM review_states WHERE decision_id = %s", made["id"])

    assert dealt.startswith(f"/decisions/{made['id']}?item=")
    assert "&lt;script&gt;alert(1)" in page.text
    assert "<script>alert(1)" not in page.text
    assert ruled.status_code == 303, ruled.text
    assert state == {"state": "overturn"}
    assert str(made["id"]) not in after_second
    assert after_late.startswith(f"/decisions/{made['id']}?item=")
    assert str(made["id"]) not in next_item()


def test_lists_find_decisions_by_what_customers_say(engine: Running) -> None:
    """Wrong, right, any and none."""
    user_id, made = answered(engine)
    said = rate(engine, user_id, thumb="down")

    def found(wanted: FeedbackFilter) -> list[UUID]:
        filters = Filters(user_id=user_id, feedback=wanted)
        page = read(engine.url, lambda connection: load_page(connection, filters, limit=9))
        return [row["id"] for row in page.rows]

    marks = read(engine.url, lambda connection: load_list_marks(connection, [made, said], uuid4()))

    assert marks.feedback == {made["id"]: "wrong"}
    assert [found(each) for each in FeedbackFilter] == [[made["id"]], [], [made["id"]], [said["id"]]]


def test_a_remark_is_tested_and_never_held(engine: Running) -> None:
    """Rules and moderation only say which cover the remark gets; an outage does not hold feedback back."""
    user_id, _ = answered(engine, flagged_keywords=["spam"])
    rude = rate(engine, user_id, "spam, all of it", thumb="down")
    engine.sandbox.add_rule("moderations", "500")
    unread = rate(engine, user_id, "no help at all", thumb="down")
    engine.sandbox.reset()

    assert (rude["reason_code"], rude["matched_rule"]) == (Reason.FEEDBACK, "flagged_keyword:spam")
    assert (unread["reason_code"], unread["degraded"]) == (Reason.FEEDBACK, True)
    assert not engine.rows("SELECT FROM quarantine WHERE user_id = %s", user_id)


def test_erasing_an_author_erases_the_feedback_and_keeps_the_rated_decision(engine: Running) -> None:
    """Marks and remark go with the author who gave them; the receipt counts the row."""
    user_id, made = answered(engine)
    place = {"type": "feedback", "conversation_id": TALK, "message_id": "m1", "author_id": "zoe"}
    engine.decide(user_id, "zebra zinnia", feedback={"thumb": "down"}, **place)
    done = asyncio.run(erase(engine.url, engine.redis_url, user_id, ErasureKind.AUTHOR, "zoe"))
    left = engine.rows("SELECT id FROM ai_decisions WHERE user_id = %s AND message_text <> ''", user_id)

    assert (done.erased["customer_feedback"], joined(engine, user_id)) == (1, [])
    assert left == [{"id": made["id"]}]
    assert places(engine.url, engine.redis, "zinnia") == []
