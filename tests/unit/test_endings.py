"""The decision table: from an assessment to the ending."""

from __future__ import annotations

import pytest

from tests.support.samples import assessment, passage
from worker import endings
from worker.assessment import Delivery, FallbackLevel, SupportedPart
from worker.endings import MESSAGE, REPLY, AccountTexts, Draft
from worker.model import Action, DecisionKind, Finding, Severity, Stage
from worker.reasons import Reason

OWN = {"en": "Soon.", "vi": "Xin đợi."}
FALLBACK = {"action": Action.FALLBACK, "confidence": 0.2}


@pytest.mark.parametrize(
    ("changes", "texts", "early", "reason", "reply"),
    [
        ({}, {}, False, Reason.REPLIED, "Nine."),
        ({"action": Action.RECHECK}, {}, False, Reason.REPLIED, "Nine."),
        ({"action": Action.SILENCE}, {}, False, Reason.LOW_CONFIDENCE, None),
        ({"action": Action.SILENCE}, OWN, False, Reason.LOW_CONFIDENCE, None),
        ({"action": Action.SILENCE}, {}, True, Reason.NO_EVIDENCE, None),
        ({"action": Action.ESCALATE}, {}, False, Reason.LOW_CONFIDENCE_ESCALATED, None),
        ({"action": Action.ESCALATE}, OWN, True, Reason.LOW_CONFIDENCE_ESCALATED, None),
        (FALLBACK, OWN, False, Reason.FALLBACK_SENT, "Soon."),
        (FALLBACK, OWN, True, Reason.FALLBACK_SENT, "Soon."),
        (FALLBACK | {"fallback_text": "Theirs."}, OWN, False, Reason.FALLBACK_SENT, "Soon."),
        (FALLBACK | {"fallback_text": "Theirs."}, {}, False, Reason.FALLBACK_SENT, "Theirs."),
        (FALLBACK | {"fallback_text": "Theirs."}, {"en": ""}, False, Reason.FALLBACK_SENT, "Theirs."),
        (FALLBACK, {}, False, Reason.LOW_CONFIDENCE, None),
        (FALLBACK, {}, True, Reason.NO_EVIDENCE, None),
        (FALLBACK, {"en": ""}, False, Reason.LOW_CONFIDENCE, None),
    ],
)
def test_a_draft_ends_as_its_assessment_says(
    changes: dict[str, object], texts: dict[str, str], early: bool, reason: Reason, reply: str | None
) -> None:
    """A fallback without a text is silence, never an empty reply; without a draft there was no evidence."""
    judged = assessment(**changes)
    draft = Draft(text="" if early else "Nine.", assessment=judged)
    ending = endings.assessed_ending(draft, AccountTexts(fallback=texts.get("en")))

    assert (ending.reason_code, ending.reply) == (reason, reply)
    assert ending.confidence == judged.confidence
    assert (ending.reason_code.spec.decision is DecisionKind.RESPOND) == (reply is not None)
    assert not ending.quarantine


PART = SupportedPart(text="Nine. [1]", removed=("Ten.",))
ALL_LEVELS = ("partial", "text", "handoff", "silence")


@pytest.mark.parametrize(
    ("levels", "part", "texts", "reason", "reply"),
    [
        (("policy",), PART, "Soon.", Reason.LOW_CONFIDENCE_ESCALATED, None),
        (ALL_LEVELS, PART, "Soon.", Reason.PARTIAL_REPLY, "Nine.\n\nNo more."),
        (ALL_LEVELS, None, "Soon.", Reason.FALLBACK_SENT, "Soon."),
        (ALL_LEVELS, None, None, Reason.LOW_CONFIDENCE_ESCALATED, None),
        (("partial", "silence", "handoff"), None, "Soon.", Reason.LOW_CONFIDENCE, None),
        (("partial", "policy"), None, "Soon.", Reason.LOW_CONFIDENCE_ESCALATED, None),
        (("partial",), None, "Soon.", Reason.LOW_CONFIDENCE, None),
        (("text",), PART, None, Reason.LOW_CONFIDENCE, None),
    ],
)
def test_the_first_possible_level_ends_the_event(
    levels: tuple[str, ...], part: SupportedPart | None, texts: str | None, reason: Reason, reply: str | None
) -> None:
    """In the account's order; silence when no level is possible."""
    draft = Draft(
        text="Nine. [1] Ten.",
        passages=(passage(),),
        part=part,
        assessment=assessment(action=Action.ESCALATE, confidence=0.2),
    )
    delivery = Delivery(fallback_levels=tuple(FallbackLevel(each) for each in levels))
    ending = endings.assessed_ending(draft, AccountTexts(fallback=texts, missing="No more."), delivery)

    assert (ending.reason_code, ending.reply) == (reason, reply)


def test_the_audit_of_a_partial_reply_has_the_removed_sentences() -> None:
    """The draft is stored as it was sent, with its citations."""
    judged = assessment(action=Action.ESCALATE)
    draft = Draft(text="Nine. [1] Ten.", passages=(passage(),), part=PART, assessment=judged)
    delivery = Delivery(fallback_levels=(FallbackLevel.PARTIAL,))
    sent = endings.assessed_ending(draft, AccountTexts(), delivery).draft

    assert (sent.text, sent.assessed.diagnostics["removed_sentences"]) == ("Nine. [1]", ["Ten."])


def test_a_promise_escalates_at_every_level() -> None:
    """No text of the account stands for what people must do."""
    judged = assessment(action=Action.ESCALATE, failed_checks=("promised_action",))
    ending = endings.assessed_ending(
        Draft(text="I refunded you.", part=PART, assessment=judged),
        AccountTexts(fallback="Soon."),
        Delivery(fallback_levels=(FallbackLevel.PARTIAL, FallbackLevel.TEXT)),
    )

    assert (ending.reason_code, ending.reply) == (Reason.PROMISED_ACTION, None)


def test_an_unusable_draft_gets_no_text() -> None:
    """The next level is tried."""
    judged = assessment(action=Action.SILENCE, category="no_words")
    ending = endings.assessed_ending(
        Draft(text="!", assessment=judged),
        AccountTexts(fallback="Soon."),
        Delivery(fallback_levels=(FallbackLevel.TEXT, FallbackLevel.HANDOFF)),
    )

    assert ending.reason_code == Reason.LOW_CONFIDENCE_ESCALATED


def test_a_text_on_the_confidence_follows_the_reply() -> None:
    """Never a fallback text."""
    texts = AccountTexts(fallback="Soon.", confidence="Sure.")
    sent = endings.assessed_ending(Draft(text="Nine.", assessment=assessment()), texts)
    instead = endings.assessed_ending(Draft(text="Nine.", assessment=assessment(**FALLBACK)), texts)

    assert (sent.reply, instead.reply) == ("Nine.\n\nSure.", "Soon.")


def test_a_candidate_without_assessment_has_no_ending() -> None:
    """Asking for one is a bug that rises, never a reply."""
    with pytest.raises(ValueError, match="not assessed"):
        endings.assessed_ending(Draft(text="Nine."))


@pytest.mark.parametrize(("score", "confidence"), [(None, 0.95), (0.0, 0.0), (0.61, 0.61)])
def test_a_block_has_the_confidence_of_its_finding(score: float | None, confidence: float) -> None:
    """0.95 for a rule (Silent Guardrails), the score for moderation; the exchange is quarantined."""
    finding = Finding(
        stage=Stage.RULES,
        code="c",
        severity=Severity.BLOCK,
        matched_rule="r:x",
        evidence="Because.",
        score=score,
    )
    ending = endings.blocked_ending(Reason.FLAGGED_RULE, finding)

    assert (ending.confidence, ending.matched_rule, ending.quarantine) == (confidence, "r:x", True)
    assert ending.reason == "GUARDRAIL_PRE_BLOCKED: Because."
    assert ending.reply is None


def test_an_escalation_is_no_error() -> None:
    """The sentence of an escalation carries no error class."""
    ending = endings.silent_ending(Reason.MODEL_ESCALATED, "the model asked for a person")

    assert ending.reason_code.spec.decision is DecisionKind.ESCALATE
    assert ending.reason == "the model asked for a person"


def test_message_and_reply_have_endings_of_their_own() -> None:
    """A reviewer sees from the code which text was blocked."""
    names = [
        (subject.rule, subject.flagged, subject.rejected, subject.unavailable, subject.timed_out)
        for subject in (MESSAGE, REPLY)
    ]

    assert len(set(names[0]) | set(names[1])) == 10
    assert {name.spec.error_class for name in names[0]} == {"GUARDRAIL_PRE_BLOCKED"}
    assert {name.spec.error_class for name in names[1]} == {"GUARDRAIL_POST_BLOCKED"}


STORED = {
    "UNKNOWN_ACCOUNT", "AI_DISABLED", "CHATS_DISABLED", "COMMENTS_DISABLED", "TOO_LATE", "FLAGGED_RULE",
    "MODERATION_MISCONFIGURED", "REPLY_MODERATION_MISCONFIGURED",
    "MODERATION_FLAGGED", "MODERATION_REJECTED", "MODERATION_UNAVAILABLE", "MODERATION_TIMED_OUT",
    "LLM_ERROR", "LLM_REJECTED", "MODEL_REFUSED", "TOOL_LOOP", "MODEL_ESCALATED", "REPLY_FLAGGED_RULE",
    "REPLY_MODERATION_FLAGGED", "REPLY_MODERATION_REJECTED", "REPLY_MODERATION_UNAVAILABLE",
    "REPLY_MODERATION_TIMED_OUT", "NO_EVIDENCE", "NO_ANSWER", "LOW_CONFIDENCE", "LOW_CONFIDENCE_ESCALATED",
    "FALLBACK_SENT", "REPLIED", "OWNED_BY_PEOPLE", "TAKEN_OVER", "AGENT_MESSAGE", "BURST_MERGED",
    "ACKNOWLEDGED", "SUPERSEDED", "PROMISED_ACTION", "REPLY_UNSAFE", "PARTIAL_REPLY", "HELD_FOR_APPROVAL",
    "HELD_FOR_BUDGET", "HELD_UNREAD", "BUDGET_SPENT", "SHED",
    "MESSAGE_EDITED", "MESSAGE_DELETED", "MESSAGE_WITHDRAWN", "PLACEHOLDER_UNKNOWN",
    "IMAGE_UNCHECKED", "ATTACHMENT_UNSEEN",
    "MESSAGE_CHECKED", "DRAFT_CHECKED", "FEEDBACK", "FEEDBACK_UNMATCHED",
    "MESSAGE_REPEATED", "CHANGE_OUTDATED", "AUTO_REPLY_LOOP", "AUTO_REPLY_LOOP_ESCALATED",
}  # fmt: skip
"""Codes that decisions of this release hold. A new code is added here; none is changed or removed."""


def test_reason_codes_are_never_renamed() -> None:
    """Decisions are stored under these codes: each of them is still known, and no other is in use."""
    assert {reason.value for reason in Reason} == STORED
    assert {reason.name for reason in Reason} == STORED
