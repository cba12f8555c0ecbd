"""Held drafts and the answers of people, from the engine's decision to the reply stream."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import orjson
import pytest
from httpx2 import Response
from redis import Redis
from typer.testing import CliRunner
from uuid_utils.compat import uuid7

from cli.main import command_line
from cli.stack import Stack
from db.access_log import LogEntry, LoggedAction
from db.answers.records import AnswerOutcome
from db.answers.sending import AnswerConflict, AnsweredMessage, NewAnswer, store_answer
from db.people.records import Role
from db.pool import create_pool
from db.review_store import REVIEWER_ROLE
from sandbox.server import SandboxHandle
from tests.support.reviewing import Visitor, Visitors, add_person, api_token, site
from tests.support.running import Running, eventually, running

HOURS: Final = {
    "Opening hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]
}
QUESTION: Final = "When are you open on weekdays?"
ESCALATES: Final = {"assessment_policy": {"name": "calibrated", "low_action": "escalate"}}
DISCLOSURE: Final = {"disclosure_texts": {"en": "An AI answers."}}
DRAFT_FIELD: Final = re.compile(r'name="draft" value="(\d+)"')
ANSWER_FIELD: Final = re.compile(r'name="answer" value="([0-9a-f-]{36})"')
SEEN_FIELD: Final = re.compile(r'name="seen" value="([0-9a-f-]*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """An engine, and the review pages over its database."""

    engine: Running
    visitor: Visitors

    def person(self, *roles: Role) -> Visitor:
        """A signed-in person with these roles on every account."""
        each = self.visitor()
        each.sign_in(add_person(self.engine.url, *roles))
        return each

    def escalated(self, **settings: Any) -> dict[str, Any]:
        """A decision whose draft was not trusted and that handed the conversation to people."""
        self.engine.sandbox.reset()
        self.engine.sandbox.add_rule("chat", "ungrounded")
        user_id = self.engine.account(documents=HOURS, **ESCALATES | settings)
        row = self.engine.decide(user_id, QUESTION)
        self.engine.sandbox.reset()
        assert row["reason_code"] == "LOW_CONFIDENCE_ESCALATED"
        return row

    def suggested(self, question: str = QUESTION, **settings: Any) -> dict[str, Any]:
        """A decision of an account in the mode ``suggest``."""
        self.engine.sandbox.reset()
        user_id = self.engine.account(documents=HOURS, reply_mode="suggest", **settings)
        return self.engine.decide(user_id, question)

    def sent(self, user_id: str, answer_id: str) -> dict[str, Any]:
        """The entry of an answer on the reply stream."""
        self.engine.runtime.nudge()
        found: dict[str, Any] = eventually(
            lambda: self.engine.reply(user_id, f"person:{answer_id}"), "the answer to be delivered"
        )
        return found

    def outbox(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        """What people sent to the message of a decision."""
        return self.engine.rows(
            "SELECT * FROM outbox WHERE user_id = %s AND origin = 'person' ORDER BY id", row["user_id"]
        )


@pytest.fixture(scope="module")
def desk(stack: Stack, database_url: str, sandbox_process: SandboxHandle) -> Iterator[Desk]:
    """One engine and one site for all tests of this module."""
    with Redis.from_url(stack.redis_url) as redis:
        redis.flushall()
    moderation = {"OPENAI_API_KEY": "sandbox", "OPENAI_BASE_URL": sandbox_process.base_url}
    with (
        running(database_url, stack.redis_url, sandbox_process) as engine,
        site(database_url, **moderation) as visitor,
    ):
        yield Desk(engine=engine, visitor=visitor)


@pytest.fixture(scope="module")
def reviewer(desk: Desk) -> Visitor:
    """A reviewer of every account."""
    return desk.person(Role.REVIEWER)


def form_of(visitor: Visitor, row: dict[str, Any]) -> dict[str, str]:
    """The fields of the forms on a decision's page."""
    page = visitor.get(f"/decisions/{row['id']}").text
    found = {"answer": ANSWER_FIELD.search(page), "seen": SEEN_FIELD.search(page)}
    fields = {name: match[1] for name, match in found.items() if match}
    drafts = DRAFT_FIELD.findall(page)
    return fields | ({"draft": drafts[0]} if drafts else {})


def answer(visitor: Visitor, row: dict[str, Any], form: dict[str, str], **fields: str) -> Response:
    """Send the form."""
    return visitor.post(f"/decisions/{row['id']}/answer", **form | fields)


def test_an_approved_draft_is_delivered_once_while_people_have_the_conversation(
    desk: Desk, reviewer: Visitor
) -> None:
    """Its entry says that a model wrote it and a person sent it; the escalation is closed."""
    row = desk.escalated(**DISCLOSURE)
    held = desk.engine.row("SELECT * FROM held_drafts WHERE decision_id = %s", row["id"])
    assert held is not None
    form = form_of(reviewer, row)
    first, again = (answer(reviewer, row, form, action="approve") for _ in range(2))
    entry = desk.sent(row["user_id"], form["answer"])
    owner = desk.engine.row(
        "SELECT people_until > now() AS people FROM conversations WHERE user_id = %s", row["user_id"]
    )
    closed = desk.engine.row("SELECT cause, closed_by FROM escalations WHERE decision_id = %s", row["id"])
    line = desk.engine.row("SELECT role, text FROM messages WHERE decision_id = %s", form["answer"])

    assert (first.status_code, again.status_code, len(desk.outbox(row))) == (303, 303, 1)
    assert (held["kind"], held["passages"][0]["text"]) == (
        "draft",
        "We are open from nine to six on weekdays.",
    )
    assert entry["text"] == f"An AI answers.\n\n{held['text']}"
    assert entry["answered_decision_id"] == str(row["id"])
    assert (entry["message_id"], entry["decision_id"]) == (row["message_id"], form["answer"])
    assert (entry["ai_generated"], entry["sent_by_person"], entry["edited_by_person"]) == (True, True, False)
    assert entry["model"] is not None
    assert owner == {"people": True}
    assert closed is not None
    assert closed["cause"] == "answered"
    assert line == {"role": "assistant", "text": held["text"]}


def test_an_edited_draft_is_marked_and_can_release_the_conversation(desk: Desk, reviewer: Visitor) -> None:
    """The audit has the draft beside what was sent."""
    row = desk.escalated()
    form = form_of(reviewer, row)
    answer(reviewer, row, form, action="edit", text="We open at nine.", release="on")
    entry = desk.sent(row["user_id"], form["answer"])
    stored = desk.engine.row(
        "SELECT outcome, text, draft, released FROM answers WHERE id = %s", form["answer"]
    )
    owner = desk.engine.row(
        "SELECT people_until <= now() AS ai, cause FROM conversations WHERE user_id = %s", row["user_id"]
    )
    held = desk.engine.row("SELECT text FROM held_drafts WHERE decision_id = %s", row["id"])

    assert held is not None
    assert (entry["text"], entry["ai_generated"], entry["edited_by_person"]) == (
        "We open at nine.",
        True,
        True,
    )
    assert stored == {
        "outcome": "edited",
        "text": "We open at nine.",
        "draft": held["text"],
        "released": True,
    }
    assert owner == {"ai": True, "cause": "release"}


def test_the_disclosure_of_an_approved_draft_is_in_the_drafts_language(desk: Desk, reviewer: Visitor) -> None:
    """The typing errors of the message look like Polish."""
    texts = {"en": "An AI answers.", "de": "Hier antwortet eine KI.", "pl": "Odpowiada asystent."}
    row = desk.suggested("is teh shop opn tomorow", disclosure_texts=texts)
    form = form_of(reviewer, row)
    answer(reviewer, row, form, action="approve")

    assert desk.sent(row["user_id"], form["answer"])["disclosure"] == texts["en"]


def test_a_written_answer_is_not_the_models(desk: Desk, reviewer: Visitor) -> None:
    """It has no disclosure, no model and no sources, even where the AI had a draft."""
    row = desk.escalated(**DISCLOSURE)
    form = form_of(reviewer, row)
    answer(reviewer, row, form, action="write", text="Nine to six.\r\nSee you!")
    entry = desk.sent(row["user_id"], form["answer"])
    page = reviewer.get(f"/decisions/{row['id']}").text

    assert entry["text"] == "Nine to six.\nSee you!"
    assert (entry["ai_generated"], entry["edited_by_person"], entry["model"]) == (False, False, None)
    assert (entry["disclosure"], entry["sources"], entry["sent_by_person"]) == (None, [], True)
    assert "Replaced by an own answer" in page
    assert 'name="action" value="approve"' not in page


@pytest.mark.parametrize(
    ("text", "rule", "status", "says"),
    [
        ("Cheap spam for you", None, 400, "The text contains the account&#39;s blocked word “spam”."),
        ("I will kill you", None, 400, "violence"),
        ("A kind answer", "500", 503, "nothing is sent unmoderated"),
        ("A kind answer", "401", 503, "nothing is sent unmoderated"),
        ("   ", None, 400, "Write the text to send"),
    ],
)
def test_what_the_guards_stop_is_not_sent(
    desk: Desk, reviewer: Visitor, text: str, *, rule: str | None, status: int, says: str
) -> None:
    """The person reads why, and finds the text in the form again."""
    row = desk.escalated(flagged_keywords=["spam"], moderation_failure="hold")
    form = form_of(reviewer, row)
    if rule is not None:
        desk.engine.sandbox.add_rule("moderations", rule)
    response = answer(reviewer, row, form, action="write", text=text)
    desk.engine.sandbox.reset()

    assert response.status_code == status
    assert says in response.text
    assert text.strip() in response.text
    assert desk.outbox(row) == []


def test_of_two_people_one_answers_and_the_other_sees_both_texts(desk: Desk, reviewer: Visitor) -> None:
    """The second one's text is not sent."""
    row, other = desk.escalated(), desk.person(Role.REVIEWER)
    mine, theirs = form_of(reviewer, row), form_of(other, row)
    first = answer(reviewer, row, mine, action="write", text="The first answer.")
    second = answer(other, row, theirs, action="write", text="The second answer.")

    assert (first.status_code, second.status_code) == (303, 409)
    assert "The first answer." in second.text
    assert "The second answer." in second.text
    assert [each["text"] for each in desk.outbox(row)] == ["The first answer."]


def test_a_deleted_message_is_not_answered(desk: Desk, reviewer: Visitor) -> None:
    """Neither afterwards, nor when the answer still waited for its delivery."""
    rows = [desk.escalated() for _ in range(2)]
    forms = [form_of(reviewer, row) for row in rows]
    answer(reviewer, rows[0], forms[0], action="write", text="Too late.")
    for row in rows:
        desk.engine.decide(
            row["user_id"],
            "",
            type="message_deleted",
            conversation_id=row["conversation_id"],
            message_id=row["message_id"],
        )
    response = answer(reviewer, rows[1], forms[1], action="write", text="Later still.")
    (waiting,) = desk.outbox(rows[0])

    assert (waiting["cancel_reason"], waiting["delivered_at"]) == ("message_deleted", None)
    assert (response.status_code, desk.outbox(rows[1])) == (410, [])
    assert "deleted" in response.text


def test_suggest_holds_every_reply_until_it_is_approved(desk: Desk, reviewer: Visitor) -> None:
    """It is listed among what waits, sent as the AI wrote it, and listed no more."""
    row = desk.suggested()
    before = reviewer.get("/escalations").text
    form = form_of(reviewer, row)
    unsent = desk.engine.row("SELECT 1 FROM outbox WHERE user_id = %s", row["user_id"])
    answer(reviewer, row, form, action="approve")
    entry = desk.sent(row["user_id"], form["answer"])
    after = reviewer.get("/escalations").text
    owner = desk.engine.row("SELECT 1 FROM conversations WHERE user_id = %s", row["user_id"])

    assert (row["decision"], row["reason_code"], unsent) == ("ignore", "HELD_FOR_APPROVAL", None)
    assert "Waits for approval" in before
    assert str(row["id"]) in before
    assert str(row["id"]) not in after
    assert entry["sources"][0]["title"] == "Opening hours"
    assert (entry["confidence"] is not None, entry["ai_generated"], owner) == (True, True, None)


def test_a_suggestion_that_became_too_old_is_not_approved_unchanged(desk: Desk, reviewer: Visitor) -> None:
    """It is listed no more; a person can still write."""
    row = desk.suggested()
    form = form_of(reviewer, row)
    desk.engine.database.execute(
        "UPDATE held_drafts SET send_before = now() - interval '1 s' WHERE decision_id = %s", (row["id"],)
    )
    listed = reviewer.get("/escalations").text
    approved = answer(reviewer, row, form, action="approve")
    written = answer(reviewer, row, form, action="write", text="We are open now.")

    assert str(row["id"]) not in listed
    assert (approved.status_code, written.status_code) == (409, 303)
    assert "too old for the draft" in approved.text


def test_the_text_of_the_ai_is_not_sent_to_a_message_whose_edit_was_flagged(
    desk: Desk, reviewer: Visitor
) -> None:
    """Neither approved nor edited; a person can still write, or dismiss the message."""
    rows = [desk.suggested(flagged_keywords=["spam"]) for _ in range(2)]
    forms = [form_of(reviewer, row) for row in rows]
    for row in rows:
        place = {"conversation_id": row["conversation_id"], "message_id": row["message_id"]}
        edit = desk.engine.decide(row["user_id"], "buy spam", type="message_edited", **place)
        assert edit["reason_code"] == "FLAGGED_RULE"
    approved = answer(reviewer, rows[0], forms[0], action="approve")
    edited = answer(reviewer, rows[0], forms[0], action="edit", text="We open at nine.")
    written = answer(reviewer, rows[0], forms[0], action="write", text="We are open now.")
    dismissed = answer(reviewer, rows[1], forms[1], action="dismiss")

    assert [each.status_code for each in (approved, edited, written, dismissed)] == [400, 400, 303, 303]
    assert "edit was flagged" in approved.text
    assert [each["text"] for each in desk.outbox(rows[0])] == ["We are open now."]


def test_what_happened_since_is_shown(desk: Desk, reviewer: Visitor) -> None:
    """A newer message, and an answer of a person to it."""
    row = desk.suggested()
    newer = desk.engine.decide(row["user_id"], QUESTION, conversation_id=row["conversation_id"])
    waits = reviewer.get(f"/decisions/{row['id']}").text
    answer(reviewer, newer, form_of(reviewer, newer), action="approve")
    answered = reviewer.get(f"/decisions/{row['id']}").text

    assert "The author has written again since." in waits
    assert "A person has written in the conversation since." in answered


def test_a_review_takes_an_answer_back_and_its_undo_sends_it_again(desk: Desk, reviewer: Visitor) -> None:
    """The existing remedies act on the person's answer."""
    row = desk.escalated()
    form = form_of(reviewer, row)
    answer(reviewer, row, form, action="approve")
    desk.sent(row["user_id"], form["answer"])
    reviewer.get(f"/decisions/{row['id']}")
    removed = reviewer.post(
        f"/decisions/{row['id']}/review",
        ruling="overturn",
        reason="SHOULD_ANSWER",
        remedy="remove",
        note="",
        seen="",
    )
    taken = desk.engine.row(
        "SELECT event_id, cancelled_at FROM retractions WHERE decision_id = %s", form["answer"]
    )
    lines = desk.engine.rows("SELECT 1 FROM messages WHERE decision_id = %s", form["answer"])
    review = desk.engine.row("SELECT id FROM decision_reviews WHERE decision_id = %s", row["id"])
    page = reviewer.get(f"/decisions/{row['id']}").text
    assert review is not None
    reviewer.post(f"/reviews/{review['id']}/undo")
    undone = desk.engine.row("SELECT cancelled_at FROM retractions WHERE decision_id = %s", form["answer"])

    assert removed.status_code == 303, removed.text
    assert taken == {"event_id": f"person:{form['answer']}", "cancelled_at": None}
    assert (lines, "Taken back" in page) == ([], True)
    assert undone is not None
    assert undone["cancelled_at"] is not None


def test_a_reply_that_was_overturned_is_answered_by_a_person(desk: Desk, reviewer: Visitor) -> None:
    """Only after the overturn; the sent reply is taken back."""
    desk.engine.sandbox.reset()
    row = desk.engine.decide(desk.engine.account(documents=HOURS), QUESTION)
    early = form_of(reviewer, row)
    refused = answer(
        reviewer, row, {"answer": str(uuid7()), "seen": ""}, action="write", text="We open at ten."
    )
    ruling = {"ruling": "overturn", "reason": "WRONG_FACTS", "corrected": "escalate", "remedy": "remove"}
    stored = reviewer.post(f"/decisions/{row['id']}/review", note="", seen="", then="answer", **ruling)
    form = form_of(reviewer, row)
    answer(reviewer, row, form, action="write", text="We open at ten.")
    entry = desk.sent(row["user_id"], form["answer"])

    assert (row["reason_code"], early) == ("REPLIED", {"seen": ""})
    assert (refused.status_code, "needs no answer of a person" in refused.text) == (400, True)
    assert stored.headers["location"].endswith("#answer")
    assert (entry["text"], entry["message_id"], entry["sent_by_person"]) == (
        "We open at ten.",
        row["message_id"],
        True,
    )


@pytest.mark.parametrize("newer", [True, False])
def test_an_undo_concerns_the_answer_that_its_review_took_back(
    desk: Desk, reviewer: Visitor, newer: bool
) -> None:
    """It is refused after another answer; where nothing is left to restore, the audit says so."""
    row, other = desk.escalated(), desk.person(Role.REVIEWER)
    form = form_of(reviewer, row)
    answer(reviewer, row, form, action="write", text="The wrong answer.")
    desk.sent(row["user_id"], form["answer"])
    page = f"/decisions/{row['id']}/review"
    reviewer.post(page, ruling="overturn", reason="SHOULD_ANSWER", remedy="remove", note="", seen="")
    review = desk.engine.row("SELECT id FROM decision_reviews WHERE decision_id = %s", row["id"])
    assert review is not None
    if newer:
        answer(other, row, form_of(other, row), action="write", text="The right answer.")
    else:
        for table in ("quarantine", "retractions"):
            desk.engine.database.execute(f"DELETE FROM {table} WHERE decision_id = %s", (form["answer"],))
    undone = reviewer.post(f"/reviews/{review['id']}/undo")
    effects = desk.engine.rows(
        "SELECT effect FROM decision_reviews WHERE decision_id = %s ORDER BY id", row["id"]
    )
    taken = desk.engine.rows("SELECT cancelled_at FROM retractions WHERE user_id = %s", row["user_id"])

    assert (undone.status_code, "newer answer" in undone.text) == ((409, True) if newer else (303, False))
    assert [each["effect"] for each in effects] == ["removed"] + ["none"] * (not newer)
    assert [each["cancelled_at"] for each in taken] == [None] * newer


def test_a_follow_up_to_an_answer_is_listed(desk: Desk, reviewer: Visitor) -> None:
    """People still have the conversation, so the AI does not answer it; it can be answered as well."""
    row = desk.escalated()
    answer(reviewer, row, form_of(reviewer, row), action="write", text="What is your order number?")
    asked = desk.engine.decide(row["user_id"], "It is 4711.", conversation_id=row["conversation_id"])
    listed = reviewer.get("/escalations").text
    answered = answer(reviewer, asked, form_of(reviewer, asked), action="write", text="It left on Monday.")

    assert asked["reason_code"] == "OWNED_BY_PEOPLE"
    assert str(asked["id"]) in listed
    assert answered.status_code == 303
    assert str(asked["id"]) not in reviewer.get("/escalations").text


def test_a_dismissed_message_needs_no_answer(desk: Desk, reviewer: Visitor) -> None:
    """Nothing is sent, and it is listed no more."""
    row = desk.escalated()
    listed = reviewer.get("/escalations").text
    response = answer(reviewer, row, form_of(reviewer, row), action="dismiss")

    assert str(row["id"]) in listed
    assert (response.status_code, desk.outbox(row)) == (303, [])
    assert str(row["id"]) not in reviewer.get("/escalations").text


def test_a_dismissed_message_is_answered_after_all(desk: Desk, reviewer: Visitor) -> None:
    """A wrong click loses no customer; two people do not both answer, or dismiss twice."""
    row = desk.escalated()
    stale = form_of(reviewer, row)
    answer(reviewer, row, stale, action="dismiss")
    page = reviewer.get(f"/decisions/{row['id']}").text
    form = form_of(reviewer, row)
    again = answer(reviewer, row, form, action="dismiss")
    late = answer(reviewer, row, stale | {"answer": str(uuid7())}, action="write", text="From ten.")
    sent = answer(reviewer, row, form, action="write", text="From nine.")
    second = answer(reviewer, row, form | {"answer": str(uuid7())}, action="write", text="From ten.")

    assert "No answer needed" not in page
    assert [each.status_code for each in (again, late, sent, second)] == [409, 409, 303, 409]
    assert [each["text"] for each in desk.outbox(row)] == ["From nine."]


def test_only_reviewers_read_drafts_and_each_reading_is_logged(desk: Desk, reviewer: Visitor) -> None:
    """Others see that there is one; a worker's login cannot read the table."""
    row, viewer = desk.escalated(), desk.person(Role.VIEWER)
    held = desk.engine.row("SELECT text FROM held_drafts WHERE decision_id = %s", row["id"])
    assert held is not None
    seen = [each.get(f"/decisions/{row['id']}").text for each in (viewer, reviewer)]
    form = form_of(reviewer, row)
    refused = answer(viewer, row, form | {"answer": str(uuid7())}, action="approve")
    logged = desk.engine.rows(
        "SELECT detail FROM access_log WHERE action = 'read' AND decision_id = %s AND detail ? 'drafts'",
        row["id"],
    )
    rights = desk.engine.row(
        "SELECT has_table_privilege('hushgate_worker', 'held_drafts', 'SELECT') AS reads,"
        " has_table_privilege('hushgate_worker', 'held_drafts', 'INSERT') AS writes"
    )

    answer(reviewer, row, form_of(reviewer, row), action="write", text="From nine.")
    beside = [each.get(f"/decisions/{row['id']}/case").text for each in (viewer, reviewer)]

    assert [held["text"] in each for each in seen] == [False, True]
    assert [held["text"] in each for each in beside] == [False, True]
    assert all("From nine." in each for each in beside)
    assert "kept sealed until" in seen[0]
    assert refused.status_code == 403
    assert [each["detail"] for each in logged] == [{"drafts": 1}, {"drafts": 1}]
    assert rights == {"reads": False, "writes": True}


def test_the_id_of_an_answer_leads_to_its_decision(desk: Desk, reviewer: Visitor) -> None:
    """Consumers have it as ``decision_id``."""
    row = desk.escalated()
    form = form_of(reviewer, row)
    answer(reviewer, row, form, action="approve")
    found = reviewer.get(f"/decisions/{UUID(form['answer'])}")

    assert (found.status_code, found.headers["location"]) == (303, f"/decisions/{row['id']}")


def test_figures_count_what_people_did_with_drafts(
    desk: Desk, reviewer: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the dashboard, in the API and on the command line; the decisions of the AI are counted as before."""
    row = desk.suggested()
    user_id = row["user_id"]
    second = desk.engine.decide(user_id, QUESTION, conversation_id="other")
    answer(reviewer, row, form_of(reviewer, row), action="approve")
    answer(reviewer, second, form_of(reviewer, second), action="edit", text="From nine.")
    query = {"account": user_id, "range": "24h"}
    figures = reviewer.client.get("/api/v1/figures", params=query).json()
    page = reviewer.client.get("/dashboard", params=query).text
    monkeypatch.setenv("DATABASE_URL", desk.engine.url)
    result = CliRunner().invoke(command_line(), ["conversations", "answers", "--account", user_id])
    decided = desk.engine.row("SELECT count(*) AS number FROM ai_decisions WHERE user_id = %s", user_id)
    keys = desk.engine.row("SELECT count(*) AS number FROM event_keys WHERE user_id = %s", user_id)

    assert figures["answers"]["shares"] == {"unchanged": 0.5, "edited": 0.5, "replaced": 0.0}
    assert figures["answers"]["outcomes"]["dismissed"] == 0
    assert "Edited and sent" in page
    assert orjson.loads(result.stdout)["unchanged_share"] == 0.5
    assert decided == keys == {"number": 2}


def test_many_answers_at_once_are_one(desk: Desk) -> None:
    """Of ten people one answers; of ten copies of a form one is stored."""
    row, person_id = desk.escalated(), uuid7()

    def new(answer_id: UUID) -> NewAnswer:
        message = AnsweredMessage(
            decision_id=row["id"],
            decided_at=row["created_at"],
            user_id=row["user_id"],
            conversation_id=row["conversation_id"],
            message_id=row["message_id"],
            scope="chat",
        )
        return NewAnswer(
            answer_id=answer_id,
            message=message,
            seen=None,
            outcome=AnswerOutcome.WRITTEN,
            text="One answer.",
            held=None,
            person_id=person_id,
            person="ann",
            release=False,
            people_until=datetime.now(UTC) + timedelta(hours=1),
            rules_version=1,
            checks={},
        )

    async def together() -> tuple[list[bool], list[bool | BaseException]]:
        entry, now = LogEntry(action=LoggedAction.ANSWER), datetime.now(UTC)
        async with create_pool(desk.engine.url, size=10, application="test", role=REVIEWER_ROLE) as source:
            copies = [store_answer(source, new(each), now, logged=entry) for each in [uuid7()] * 10]
            same = await asyncio.gather(*copies)
            rivals = [store_answer(source, new(uuid7()), now, logged=entry) for _ in range(10)]
            return same, await asyncio.gather(*rivals, return_exceptions=True)

    same, others = asyncio.run(together())

    assert sorted(same) == [False] * 9 + [True]
    assert {type(each) for each in others} == {AnswerConflict}
    assert len(desk.outbox(row)) == 1


def test_a_program_approves_and_two_programs_get_both_versions(desk: Desk, reviewer: Visitor) -> None:
    """The JSON API lists what waits, reads drafts, sends once, and answers 409 with both texts."""
    row = desk.escalated()
    headers, path = (
        {"Authorization": f"Bearer {api_token(reviewer, 'read', 'answer')}"},
        f"/api/v1/decisions/{row['id']}",
    )
    client, answer_id = desk.visitor().client, str(uuid7())
    listed = client.get("/api/v1/waiting", params={"account": row["user_id"]}, headers=headers).json()
    drafts = client.get(f"{path}/drafts", headers=headers).json()
    body = {"action": "approve", "answer_id": answer_id}
    first, again = (client.post(f"{path}/answers", json=body, headers=headers) for _ in range(2))
    other = client.post(f"{path}/answers", json={"action": "write", "text": "Mine."}, headers=headers)
    wrong = client.post(f"{path}/answers", json={"action": "shout", "more": 1}, headers=headers)
    blocked = client.post(
        f"{path}/answers", json={"action": "write", "text": "I will kill you"}, headers=headers
    )

    assert [each["decision_id"] for each in listed["waiting"]] == [str(row["id"])]
    assert (drafts["answerable"], drafts["covered"], drafts["answers"]) == (True, [], [])
    assert drafts["drafts"][0]["kind"] == "draft"
    assert len(drafts["drafts"][0]["passages"][0]["sha256"]) == 64
    assert (first.status_code, again.status_code, len(desk.outbox(row))) == (201, 200, 1)
    assert first.json()["answer"]["outcome"] == "unchanged"
    assert other.status_code == 409
    assert other.json()["answers"][0]["text"] == drafts["drafts"][0]["text"]
    assert other.json()["yours"]["text"] == "Mine."
    assert (wrong.status_code, {each["field"] for each in wrong.json()["errors"]}) == (
        422,
        {"action", "more"},
    )
    assert (blocked.status_code, "violence" in blocked.json()["detail"]) == (422, True)


def test_the_api_pages_through_what_waits(desk: Desk, reviewer: Visitor) -> None:
    """The oldest first, each once."""
    rows = [desk.escalated() for _ in range(3)]
    headers, found = {"Authorization": f"Bearer {api_token(reviewer, 'read', 'answer')}"}, []
    params: dict[str, str] | None = {"limit": "2"}
    while params is not None:
        page = desk.visitor().client.get("/api/v1/waiting", params=params, headers=headers).json()
        found += [each["decision_id"] for each in page["waiting"]]
        params = {"limit": "2", "cursor": page["next"]} if page["next"] else None

    wanted = [str(row["id"]) for row in rows]
    assert [each for each in found if each in wanted] == wanted
    assert len(set(found)) == len(found)
