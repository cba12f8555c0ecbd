"""The escalation policy of an account, through the pipeline: what is handed over, where, with which text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.fakes import CLEAN
from tests.support.samples import NOW, account, event, passage, scores
from tests.unit.test_pipeline import ESCALATE, World
from worker.endings import silent_ending
from worker.escalation import decision_kind, escalation_for
from worker.model import (
    AI_ONLY,
    ConversationState,
    DecisionKind,
    Escalation,
    EscalationAction,
    EventType,
    Message,
    MessageRole,
    Owner,
    ReplyMode,
)
from worker.reasons import Reason, ReasonFamily

TEXTS = {"en": "A colleague will answer here.", "de": "Eine Kollegin antwortet hier."}
CLOSED = {"en": "We answer tomorrow."}
SPAM = event(text="this is spam")


async def escalated(
    asked: Any = None, labels: dict[str, str] | None = None, **settings: Any
) -> Escalation | None:
    """The handoff of a message for which the model asked for a person; ``labels`` of the documents."""
    found = [(passage(metadata=labels or {}),)]
    made = await World(model=[ESCALATE], found=found).decide(asked, account(**settings))
    assert made.reason_code == Reason.MODEL_ESCALATED
    return made.escalation


async def test_an_escalation_has_no_text_and_no_queue_by_default() -> None:
    """The author hears something only where the account wants that."""
    assert await escalated() == Escalation()


async def test_the_author_hears_the_text_in_the_language_of_the_message() -> None:
    """As published, else detected; English for a language without a text."""
    heard = [
        await escalated(event(text=text, language=language), handoff_texts=TEXTS)
        for text, language in (
            ("Ich möchte bitte mit einem Menschen sprechen", None),
            ("I want to speak to a person, please", None),
            ("x", "de-AT"),
            ("x", "fr"),
        )
    ]

    assert [each.handoff_text if each else None for each in heard] == [
        *(TEXTS["de"], TEXTS["en"], TEXTS["de"], TEXTS["en"])
    ]


@pytest.mark.parametrize(("text", "language"), [("mach mal", "de"), ("so do it then", "en"), ("👉", "de")])
async def test_a_short_message_is_in_the_language_of_the_line_before(text: str, language: str) -> None:
    """Where it does not show its own."""
    before = Message(role=MessageRole.USER, text="Kann ich das Abo jeden Monat kündigen?")
    world = World(model=[ESCALATE], found=[(passage(),)], history=(before,))
    made = await world.decide(event(text=text), account(handoff_texts=TEXTS))

    assert made.escalation is not None
    assert made.escalation.handoff_text == TEXTS[language]


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        ((), None),
        (("REPLIED", "LOW_CONFIDENCE_ESCALATED"), None),
        (("REPLIED", "MODEL_ESCALATED"), TEXTS["en"]),
    ],
)
async def test_where_replies_wait_for_approval_the_author_hears_only_what_needs_none(
    reasons: tuple[str, ...], expected: str | None
) -> None:
    """The conversation is handed over all the same."""
    found = await escalated(
        event(language="en"), handoff_texts=TEXTS, reply_mode=ReplyMode.SUGGEST, auto_reasons=reasons
    )

    assert found == Escalation(handoff_text=expected)


@pytest.mark.parametrize(
    ("texts", "closed", "expected"),
    [(TEXTS, CLOSED, CLOSED["en"]), (TEXTS, {}, TEXTS["en"]), ({}, CLOSED, CLOSED["en"]), ({}, {}, None)],
)
async def test_outside_business_hours_the_author_hears_another_text(
    texts: dict[str, str], closed: dict[str, str], expected: str | None
) -> None:
    """Today is a Saturday; the conversation is handed over all the same."""
    hours = {"business_hours": {"mon": "09:00-17:00"}}
    made = await World(model=[ESCALATE]).decide(
        None, account(handoff_texts=texts, handoff_texts_closed=closed, **hours)
    )

    assert made.escalation == Escalation(in_hours=False, handoff_text=expected)
    assert made.people_until is not None


@pytest.mark.parametrize(
    ("queues", "labels", "expected"),
    [
        ({"*": "all", "MODEL_ESCALATED": "asked"}, {}, "asked"),
        ({"*": "all", "LOW_CONFIDENCE_ESCALATED": "doubt"}, {}, "all"),
        ({"LOW_CONFIDENCE_ESCALATED": "doubt"}, {}, ""),
        ({"MODEL_ESCALATED": "asked", "label:topic=returns": "returns"}, {"topic": "returns"}, "returns"),
        ({"MODEL_ESCALATED": "asked", "label:topic=returns": "returns"}, {"topic": "other"}, "asked"),
        ({"*": "all"}, "no object", "all"),
    ],
)
async def test_the_most_specific_key_names_the_queue(
    queues: dict[str, str], labels: Any, expected: str
) -> None:
    """Label before reason before any."""
    of_documents = labels if isinstance(labels, dict) else None
    found = await escalated(event(metadata={"labels": labels}), of_documents, escalation_queues=queues)

    assert found is not None
    assert found.queue == expected


async def test_a_silenced_escalation_hands_nothing_over() -> None:
    """The reason stays, the decision is to ignore, and the conversation stays with the AI."""
    owner = account(escalation_actions={"MODEL_ESCALATED": "silence"}, handoff_texts=TEXTS)
    made = await World(model=[ESCALATE]).decide(None, owner)

    assert (made.kind, made.reason_code) == (DecisionKind.IGNORE, Reason.MODEL_ESCALATED)
    assert (made.escalation, made.people_until) == (None, None)


@pytest.mark.parametrize("key", ["FLAGGED_RULE", "flagged_keyword:spam"])
async def test_a_blocked_message_can_be_handed_to_people(key: str) -> None:
    """By reason or by rule; it stays sealed, and its author hears nothing."""
    owner = account(
        flagged_keywords=("spam",),
        escalation_actions={key: "escalate"},
        escalation_queues={"flagged_keyword:spam": "abuse", "FLAGGED_RULE": "other"},
        handoff_texts=TEXTS,
    )
    made = await World().decide(SPAM, owner)

    assert (made.kind, made.quarantine, made.remember) == (DecisionKind.ESCALATE, True, False)
    assert made.escalation == Escalation(queue="abuse")


async def test_a_rule_s_own_action_comes_before_that_of_its_reason() -> None:
    """One keyword of many stays silent."""
    actions = {"FLAGGED_RULE": "escalate", "flagged_keyword:spam": "silence"}
    made = await World().decide(SPAM, account(flagged_keywords=("spam",), escalation_actions=actions))

    assert made.kind is DecisionKind.IGNORE


async def test_a_sealed_draft_is_not_part_of_the_handoff() -> None:
    """A draft that moderation flagged is in quarantine only."""
    owner = account(escalation_actions={"REPLY_MODERATION_FLAGGED": "escalate"}, handoff_texts=TEXTS)
    made = await World(moderation=[CLEAN, scores(flagged=("hate",), hate=0.9)]).decide(None, owner)

    assert made.rejected_draft
    assert made.escalation == Escalation()


async def test_an_untrusted_draft_is_part_of_the_handoff() -> None:
    """As it would be sent, without citation marks."""
    made = await World(judge=[0.0]).decide(None, account(assessment_policy={"name": "guardrail"}))

    assert made.reason_code == Reason.LOW_CONFIDENCE_ESCALATED
    assert made.escalation == Escalation(draft="We are open from nine to six on weekdays.")


def test_nothing_more_is_handed_over_while_people_own_the_conversation() -> None:
    """Nor for an edit; an escalation of the reason itself stays one."""
    ending = silent_ending(Reason.NO_ANSWER, "no answer")
    owner = account(escalation_actions={"NO_ANSWER": "escalate"})
    people = ConversationState(owner=Owner.PEOPLE, changes=1)
    edit = replace(event(), type=EventType.MESSAGE_EDITED)

    assert decision_kind(event(), owner, AI_ONLY, ending) is DecisionKind.ESCALATE
    assert decision_kind(event(), owner, people, ending) is DecisionKind.IGNORE
    assert decision_kind(edit, owner, AI_ONLY, ending) is DecisionKind.IGNORE


def test_a_message_while_people_own_the_conversation_names_its_queue() -> None:
    """It announces nothing to the author; the commit stores it where nothing else waits."""
    owner = account(handoff_texts=TEXTS, escalation_queues={"*": "support"})
    made, other = (
        escalation_for(event(), owner, DecisionKind.IGNORE, silent_ending(reason, "x"), NOW)
        for reason in (Reason.OWNED_BY_PEOPLE, Reason.TAKEN_OVER)
    )

    assert (made, other) == (Escalation(queue="support"), None)


@pytest.mark.parametrize("reason", Reason)
def test_only_endings_without_a_reply_can_be_changed(reason: Reason) -> None:
    """Settings, lateness, answers and endings of the conversation stay as they are."""
    fixed = {ReasonFamily.SETTINGS, ReasonFamily.TOO_LATE, ReasonFamily.PEOPLE, ReasonFamily.CONVERSATION}
    fixed |= {ReasonFamily.FEEDBACK}
    unchanged = reason.spec.family in fixed | {ReasonFamily.ANSWERED, ReasonFamily.HELD}
    kinds = {
        decision_kind(
            event(), account(escalation_actions={reason: action}), AI_ONLY, silent_ending(reason, "x")
        )
        for action in EscalationAction
    }

    assert kinds == ({reason.spec.decision} if unchanged else {DecisionKind.ESCALATE, DecisionKind.IGNORE})
    assert NOW.weekday() == 5
