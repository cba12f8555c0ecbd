"""Every line of the decision table, on real servers."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from string import ascii_letters
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.conversing import SCENARIOS, conversation_ending
from tests.support.replays import replay_differs
from tests.support.running import Running, eventually
from worker.payload import is_account_name
from worker.reasons import Reason

HOURS = {"Opening hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]}
QUESTION = "When are you open on weekdays?"
ASKED = "Is the shop open on weekdays, please?"
"""It has a word that the passage lacks, so a judge reads the copied answer."""
HAN = "".join(map(chr, range(0x4E00, 0x9FA0)))
JET = "Every order travels by private jet and carries a lifetime guarantee since 1987."
SILENT = {"name": "calibrated", "low_action": "silence"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One line of the table: what is asked of whom, and how it must end.

    Attributes:
        rules: faults of the sandbox, as ``add_rule`` takes them.
        calls: chat completions paid for.
    """

    reason: Reason
    decision: str
    text: str = QUESTION
    settings: dict[str, Any] = field(default_factory=dict)
    documents: dict[str, list[str]] = field(default_factory=lambda: HOURS)
    event: dict[str, Any] = field(default_factory=dict)
    rules: tuple[dict[str, Any], ...] = ()
    calls: int = 0
    degraded: bool = False
    matched_rule: str | None = None
    quarantined: int = 0


def down(status: str, *, contains: str) -> dict[str, Any]:
    """Moderation that fails for texts that hold these words."""
    return {"route": "moderations", "fault": status, "contains": contains}


OUTCOMES = (
    Outcome(reason=Reason.AI_DISABLED, decision="ignore", settings={"ai_control_enabled": False}),
    Outcome(reason=Reason.CHATS_DISABLED, decision="ignore", settings={"ai_enabled_for_chats": False}),
    Outcome(
        reason=Reason.COMMENTS_DISABLED,
        decision="ignore",
        settings={"ai_enabled_for_comments": False},
        event={"scope": "comment"},
    ),
    Outcome(reason=Reason.TOO_LATE, decision="ignore", settings={"reply_max_age_s": 0.0}),
    Outcome(
        reason=Reason.FLAGGED_RULE,
        decision="ignore",
        text="Cheap SPAM for all, when are you open?",
        settings={"flagged_keywords": ["spam"]},
        matched_rule="flagged_keyword:spam",
        quarantined=1,
    ),
    Outcome(
        reason=Reason.MODERATION_FLAGGED,
        decision="ignore",
        text="I will kill you when you are open",
        matched_rule="openai_moderation:violence",
        quarantined=1,
    ),
    Outcome(
        reason=Reason.MODERATION_REJECTED,
        decision="ignore",
        rules=(down("400", contains="open on"),),
        degraded=True,
    ),
    Outcome(
        reason=Reason.IMAGE_UNCHECKED,
        decision="escalate",
        event={"attachments": ["https://pictures.example/unavailable-image.png"]},
    ),
    Outcome(
        reason=Reason.IMAGE_UNCHECKED,
        decision="escalate",
        rules=(down("500", contains="expired.png"),),
        event={"attachments": ["https://pictures.example/a.png", "https://pictures.example/expired.png"]},
    ),
    Outcome(
        reason=Reason.ATTACHMENT_UNSEEN,
        decision="escalate",
        text="Is this covered by the warranty?",
        event={"attachments": ["https://pictures.example/lamp 1.png"]},
    ),
    Outcome(
        reason=Reason.ATTACHMENT_UNSEEN,
        decision="escalate",
        text="",
        event={"attachments": ["https://pictures.example/lamp.png"]},
    ),
    Outcome(
        reason=Reason.MODERATION_UNAVAILABLE,
        decision="ignore",
        settings={"moderation_failure": "block"},
        rules=(down("500", contains="open on"),),
        degraded=True,
    ),
    Outcome(
        reason=Reason.MODERATION_TIMED_OUT,
        decision="ignore",
        settings={"moderation_failure": "hold", "hold_max_s": 0.2},
        rules=(down("503", contains="open on"),),
        degraded=True,
    ),
    Outcome(
        reason=Reason.MODERATION_MISCONFIGURED,
        decision="ignore",
        settings={"moderation_failure": "allow"},
        rules=(down("401", contains="open on"),),
        degraded=True,
    ),
    Outcome(
        reason=Reason.LLM_ERROR,
        decision="ignore",
        rules=({"route": "chat", "fault": "500"},),
        calls=3,
        degraded=True,
    ),
    Outcome(
        reason=Reason.LLM_REJECTED,
        decision="ignore",
        rules=({"route": "chat", "fault": "401"},),
        calls=1,
        degraded=True,
    ),
    Outcome(
        reason=Reason.MODEL_REFUSED,
        decision="ignore",
        rules=({"route": "chat", "fault": "refusal"},),
        calls=1,
    ),
    Outcome(
        reason=Reason.PLACEHOLDER_UNKNOWN,
        decision="ignore",
        settings={"mask_personal_data": True},
        rules=({"route": "chat", "fault": "keyword", "value": "[EMAIL_7]"},),
        calls=1,
    ),
    Outcome(
        reason=Reason.TOOL_LOOP, decision="ignore", rules=({"route": "chat", "fault": "tool_loop"},), calls=3
    ),
    Outcome(
        reason=Reason.MODEL_ESCALATED,
        decision="escalate",
        text="Nobody is open with me, I want to speak to a human",
        calls=1,
    ),
    Outcome(
        reason=Reason.REPLY_FLAGGED_RULE,
        decision="ignore",
        settings={"flagged_keywords": ["nine"]},
        calls=1,
        matched_rule="flagged_keyword:nine",
        quarantined=2,
    ),
    Outcome(
        reason=Reason.REPLY_MODERATION_FLAGGED,
        decision="ignore",
        rules=({"route": "chat", "fault": "flagged"},),
        calls=1,
        matched_rule="openai_moderation:harassment",
        quarantined=2,
    ),
    Outcome(
        reason=Reason.REPLY_MODERATION_REJECTED,
        decision="ignore",
        rules=(down("400", contains="nine to six"),),
        calls=1,
        degraded=True,
    ),
    Outcome(
        reason=Reason.REPLY_MODERATION_UNAVAILABLE,
        decision="ignore",
        settings={"moderation_failure": "block"},
        rules=(down("500", contains="nine to six"),),
        calls=1,
        degraded=True,
    ),
    Outcome(
        reason=Reason.REPLY_MODERATION_MISCONFIGURED,
        decision="ignore",
        settings={"moderation_failure": "allow"},
        rules=(down("403", contains="nine to six"),),
        calls=1,
        degraded=True,
    ),
    Outcome(
        reason=Reason.REPLY_MODERATION_TIMED_OUT,
        decision="ignore",
        settings={"moderation_failure": "hold", "hold_max_s": 0.2},
        rules=(down("503", contains="nine to six"),),
        calls=1,
        degraded=True,
    ),
    Outcome(
        reason=Reason.NO_EVIDENCE,
        decision="ignore",
        settings={"assessment_policy": SILENT},
        documents={},
    ),
    Outcome(
        reason=Reason.NO_ANSWER,
        decision="ignore",
        text="Is nine a good, great, nice or best number?",
        settings={"assessment_policy": SILENT},
        calls=2,
    ),
    Outcome(
        reason=Reason.LOW_CONFIDENCE,
        decision="ignore",
        settings={"assessment_policy": SILENT},
        rules=({"route": "chat", "fault": "ungrounded"},),
        calls=1,
    ),
    Outcome(
        reason=Reason.LOW_CONFIDENCE_ESCALATED,
        decision="escalate",
        settings={"assessment_policy": {"name": "calibrated", "low_action": "escalate"}},
        rules=({"route": "chat", "fault": "ungrounded"},),
        calls=1,
    ),
    Outcome(
        reason=Reason.PROMISED_ACTION,
        decision="escalate",
        settings={"fallback_texts": {"en": "A colleague will answer you."}},
        rules=({"route": "chat", "fault": "keyword", "value": "I have refunded you."},),
        calls=1,
    ),
    Outcome(
        reason=Reason.REPLY_UNSAFE,
        decision="escalate",
        rules=({"route": "chat", "fault": "keyword", "value": "Sign in at https://evil.example/login."},),
        calls=1,
        matched_rule="reply_content:link",
    ),
    Outcome(
        reason=Reason.FALLBACK_SENT,
        decision="respond",
        settings={
            "assessment_policy": {"name": "calibrated", "low_action": "fallback"},
            "fallback_texts": {"en": "A colleague will answer soon."},
        },
        rules=({"route": "chat", "fault": "ungrounded"},),
        calls=1,
    ),
    Outcome(
        reason=Reason.PARTIAL_REPLY,
        decision="respond",
        settings={"assessment_policy": {"fallback_levels": ["partial", "policy"]}},
        rules=({"route": "chat", "fault": "keyword", "value": JET},),
        calls=1,
    ),
    Outcome(
        reason=Reason.HELD_UNREAD,
        decision="ignore",
        text=ASKED,
        rules=({"route": "judge", "fault": "500"},),
        calls=1,
        degraded=True,
    ),
    Outcome(reason=Reason.HELD_FOR_APPROVAL, decision="ignore", settings={"reply_mode": "suggest"}, calls=1),
    Outcome(reason=Reason.REPLIED, decision="respond", calls=1),
)


OF_BUDGETS = {Reason.BUDGET_SPENT, Reason.HELD_FOR_BUDGET}
"""In tests/integration/test_costs.py, as they need prices."""


def test_the_table_names_every_reason() -> None:
    """No ending is without a test; some have tests of their own."""
    tested = {outcome.reason for outcome in OUTCOMES} | {Reason.UNKNOWN_ACCOUNT} | SCENARIOS.keys()
    tested |= OF_BUDGETS | {Reason.SHED}  # in tests/integration/test_shedding.py
    tested |= {Reason.MESSAGE_CHECKED, Reason.DRAFT_CHECKED}  # in test_check_contracts.py, test_checks.py

    assert set(Reason) == tested


@pytest.mark.parametrize("wanted", OUTCOMES, ids=lambda outcome: outcome.reason.lower())
def test_an_event_ends_as_the_table_says(engine: Running, wanted: Outcome) -> None:
    """Decision, reason, calls paid, quarantine, and a reply only where the decision is to respond."""
    for rule in wanted.rules:
        engine.sandbox.add_rule(**rule)
    user_id = engine.account(documents=wanted.documents, **wanted.settings)
    row = engine.decide(user_id, wanted.text, **wanted.event)
    sealed = engine.rows("SELECT * FROM quarantine WHERE decision_id = %s", row["id"])

    assert (wanted.reason, wanted.decision) == (row["reason_code"], row["decision"])
    assert wanted.matched_rule == row["matched_rule"]
    assert wanted.calls == engine.sandbox.calls("chat")
    assert wanted.degraded == row["degraded"]
    assert wanted.quarantined == len(sealed)
    assert 0 <= row["confidence"] <= 1
    assert replay_differs(engine, [row["id"]]) == {}
    if wanted.decision == "respond":
        reply = eventually(lambda: engine.reply(user_id, row["event_id"]), "a reply")
        assert reply["decision_id"] == str(row["id"])
    else:
        assert engine.row("SELECT 1 FROM outbox WHERE decision_id = %s", row["id"]) is None


@pytest.mark.parametrize("reason", SCENARIOS)
def test_an_event_ends_because_of_others_of_its_conversation(engine: Running, reason: Reason) -> None:
    """The event itself is never answered then."""
    row = conversation_ending(engine, reason)

    assert (row["decision"], row["reason_code"], row["confidence"]) == (reason.spec.decision, reason, 1.0)
    if reason is Reason.MESSAGE_WITHDRAWN:  # its deletion, which comes next, takes its recording too
        recording = "SELECT 1 FROM recordings WHERE decision_id = %s"
        eventually(lambda: engine.row(recording, row["id"]) is None, "the end of its recording")
    else:
        assert replay_differs(engine, [row["id"]]) == {}
    assert engine.row("SELECT 1 FROM outbox WHERE decision_id = %s", row["id"]) is None


def test_an_author_with_strikes_gets_no_further_answer(engine: Running) -> None:
    """Two flagged messages count; those that the rule itself blocks do not, nor does another account."""
    rules = ["spam", "{author.strikes >= 2}", "{author.messages_1h >= 4}"]
    first, second = (engine.account(documents=HOURS, flagged_keywords=rules) for _ in range(2))
    blocked = [
        engine.decide(first, text, author_id="pest")["matched_rule"]
        for text in ("spam", "I will kill you", QUESTION, "When are you open today?", QUESTION)
    ]
    others = [engine.decide(first, QUESTION), engine.decide(second, QUESTION, author_id="pest")]
    strikes = "flagged_author:{author.strikes >= 2}"

    assert blocked == ["flagged_keyword:spam", "openai_moderation:violence", strikes, strikes, strikes]
    assert [each["reason_code"] for each in others] == [Reason.REPLIED] * 2
    assert replay_differs(engine, [each["id"] for each in others]) == {}


def test_strikes_are_counted_up_to_a_thousand(engine: Running) -> None:
    """An author with thousands of flagged messages costs no more than an author with a thousand."""
    engine.database.execute(
        """INSERT INTO ai_decisions (created_at, id, user_id, event_id, message_id, conversation_id,
            author_id, scope, decision, confidence, reason_code, reason, message_text, snapshot_json,
            degraded)
        SELECT now(), gen_random_uuid(), 'counted', n::text, '', '', 'pest', 'chat', 'ignore', 1,
            'FLAGGED_RULE', '', '', '{}', false FROM generate_series(1, 1100) AS n"""
    )
    row = engine.row("SELECT hushgate_author_counts('counted', 'pest') AS counts")

    assert row == {"counts": [1000, 1000]}


def test_an_unknown_account_is_ignored_and_audited(engine: Running) -> None:
    """No rules means that AI is off."""
    row = engine.decide("nobody", QUESTION)

    assert (row["decision"], row["reason_code"]) == ("ignore", Reason.UNKNOWN_ACCOUNT)
    assert engine.sandbox.calls("moderations") == engine.sandbox.calls("chat") == 0


def test_a_flagged_exchange_leaves_the_history(engine: Running) -> None:
    """The next prompt of the conversation holds neither the message nor the reply."""
    user_id = engine.account(documents=HOURS)
    engine.decide(user_id, QUESTION, conversation_id="talk")
    engine.sandbox.add_rule("chat", "flagged", times=1)
    with capture_logs() as lines:
        flagged = engine.decide(user_id, "Are you open on Sunday, you there?", conversation_id="talk")
        eventually(lambda: [each for each in lines if each["event"] == "event_decided"], "the canonical line")
    last = engine.decide(user_id, "So when is the shop closed?", conversation_id="talk")
    prompts = [str(request["body"]) for request in engine.sandbox.requests(last=1, route="chat")]

    assert flagged["reason_code"] == Reason.REPLY_MODERATION_FLAGGED
    removed = [each["event_id"] for each in lines if each["event"] == "exchange_removed"]

    assert removed == [flagged["event_id"]]
    assert last["decision"] == "respond"
    assert QUESTION in prompts[0]
    assert "you there" not in prompts[0]
    assert "idiot" not in prompts[0]


def test_an_edited_message_that_is_flagged_takes_its_older_version_along(engine: Running) -> None:
    """The same message id under a new event: the stored exchange is sealed with it."""
    user_id = engine.account(documents=HOURS, flagged_keywords=["spam"])
    engine.decide(user_id, QUESTION, conversation_id="talk", message_id="m1")
    engine.decide(user_id, "spam", conversation_id="talk", message_id="m1")
    left = engine.rows("SELECT text FROM messages WHERE user_id = %s", user_id)
    sealed = engine.rows("SELECT role FROM quarantine WHERE user_id = %s", user_id)

    assert left == []
    assert sorted(row["role"] for row in sealed) == ["assistant", "user", "user"]


def test_a_repeated_event_id_gives_one_decision_and_one_reply(engine: Running) -> None:
    """A duplicate is noted and changes nothing."""
    user_id = engine.account(documents=HOURS)
    row = engine.decide(user_id, QUESTION, event_id="twice")
    engine.publish(user_id, QUESTION, event_id="twice")
    eventually(
        lambda: engine.row("SELECT 1 FROM duplicates WHERE event_id = 'twice'"), "the duplicate's note"
    )
    rows = engine.rows("SELECT id FROM ai_decisions WHERE event_id = 'twice'")

    assert [row["id"]] == [each["id"] for each in rows]
    assert engine.sandbox.calls("chat") == 1
    assert engine.row("SELECT count(*) AS n FROM outbox WHERE event_id = 'twice'") == {"n": 1}


@pytest.mark.parametrize("letters", [ascii_letters, HAN])
def test_ids_may_be_as_long_as_a_line_of_mail(engine: Running, letters: str) -> None:
    """Mail has Message-IDs of more than 255 characters, and Teams conversations; no index is too narrow."""
    draw = Random(7)  # text that Postgres cannot compress
    ids = ["".join(draw.choices(ascii_letters, k=size)) for size in [998] * 6]
    names = ("".join(draw.choices(letters, k=size)) for size in range(255, 0, -1))
    name = next(filter(is_account_name, names))
    user_id = engine.account(name=name, documents=HOURS, flagged_keywords=["spam"])
    conversation, message, author, *events = ids
    where = {"conversation_id": conversation, "message_id": message, "author_id": author}
    replied = engine.decide(user_id, QUESTION, event_id=events[0], **where)
    flagged = engine.decide(user_id, "spam", event_id=events[1], **where)
    handed = engine.decide(
        user_id, "I want to speak to a human", **where | {"event_id": events[2], "message_id": events[2]}
    )

    assert replied["reason_code"] == Reason.REPLIED
    assert flagged["reason_code"] == Reason.FLAGGED_RULE
    assert handed["decision"] == "escalate"
    assert eventually(lambda: engine.reply(user_id, events[0]), "the reply")["message_id"] == message


def test_changed_rules_count_without_a_restart(engine: Running) -> None:
    """A new version is in force for the next events, and the decision pins it."""
    user_id = engine.account(documents=HOURS)
    before = engine.decide(user_id, QUESTION)
    engine.database.execute(
        "INSERT INTO ai_rules (user_id, ai_control_enabled, ai_enabled_for_chats, flagged_keywords)"
        " VALUES (%s, true, true, ARRAY['weekdays'])",
        (user_id,),
    )
    after = eventually(
        lambda: (row := engine.decide(user_id, QUESTION))["reason_code"] == Reason.FLAGGED_RULE and row,
        "the new rules",
    )

    assert (before["snapshot_json"]["rules_version"], after["snapshot_json"]["rules_version"]) == (1, 2)


@pytest.mark.parametrize("fault", ["429", "500", "malformed", "empty", "reset", "bad_tool"])
def test_a_passing_failure_is_tried_again(engine: Running, fault: str) -> None:
    """What can pass by itself costs one more attempt, and each attempt is in the snapshot."""
    more = {"retry_after_s": 0.02} if fault == "429" else {}
    engine.sandbox.add_rule("chat", fault, times=1, **more)
    user_id = engine.account(documents=HOURS)
    row = engine.decide(user_id, QUESTION)
    attempts = [a for a in row["snapshot_json"]["attempts"] if a["stage"] == "generation"]

    assert row["decision"] == "respond"
    assert [attempt["number"] for attempt in attempts] == [1, 2]
    assert attempts[0]["outcome"] != "completed"
    assert attempts[0]["waited_s"] > 0


@pytest.mark.parametrize(
    ("text", "images"),
    [
        ("I will kill you when you are open", ["https://pictures.example/unavailable-image.png"]),
        (
            QUESTION,
            ["https://pictures.example/unavailable-image.png", "https://pictures.example/flag-violence.png"],
        ),
        ("I will kill you when you are open", [f"https://pictures.example/{n}.png" for n in range(40)]),
        (
            "I will kill you when you are open",
            ["https://pictures.example/" + "x" * 9_000, {"type": "voice"}, 7],
        ),
    ],
)
def test_an_unusable_image_takes_no_check_from_text_and_other_images(
    engine: Running, text: str, images: list[Any]
) -> None:
    """What can be checked is checked, and a hit counts at once."""
    user_id = engine.account(documents=HOURS)
    row = engine.decide(user_id, text, attachments=images)

    assert (row["decision"], row["matched_rule"]) == ("ignore", "openai_moderation:violence")


def test_images_that_pass_cost_no_question_its_answer(engine: Running) -> None:
    """The text stands alone, so it is answered; model and audit know how many attachments there are."""
    images = [f"https://pictures.example/{number}.png" for number in range(20)]
    user_id = engine.account(documents=HOURS)
    row = engine.decide(user_id, QUESTION, attachments=images)
    asked = engine.sandbox.requests(route="chat", contains="20 attachments")

    assert row["decision"] == "respond"
    assert asked
    assert len(row["snapshot_json"]["attachments"]) == 16
    assert row["snapshot_json"]["other_attachments"] == 4


def test_an_image_that_can_be_fetched_later_is_tried_again(engine: Running) -> None:
    """Two failures in a row are no reason to hand the message over."""
    engine.sandbox.add_rule(**down("400", contains="slow.png"), times=2)
    user_id = engine.account(documents=HOURS)
    images = [f"https://pictures.example/{name}.png" for name in ("first", "slow")]
    row = engine.decide(user_id, QUESTION, attachments=images)

    assert row["decision"] == "respond"
    assert [each["outcome"] for each in row["snapshot_json"]["attempts"]][:2] == ["rejected", "rejected"]
