"""The decision table's last column: what becomes of a draft."""

from __future__ import annotations

import pytest

from tests.unit.samples import account, assessment
from worker import policy
from worker.model import Finding, Severity, Verdict
from worker.policy import ERROR_CLASS, MESSAGE, REPLY, Reason

OWN = {"en": "Soon.", "vi": "Xin đợi."}
FALLBACK = {"action": "fallback", "confidence": 0.2}


@pytest.mark.parametrize(
    ("changes", "texts", "early", "reason", "reply"),
    [
        ({}, {}, False, Reason.REPLIED, "Nine."),
        ({"action": "recheck"}, {}, False, Reason.REPLIED, "Nine."),
        ({"action": "silence"}, {}, False, Reason.LOW_CONFIDENCE, None),
        ({"action": "silence"}, OWN, False, Reason.LOW_CONFIDENCE, None),
        ({"action": "silence"}, {}, True, Reason.NO_EVIDENCE, None),
        ({"action": "escalate"}, {}, False, Reason.LOW_CONFIDENCE_ESCALATED, None),
        ({"action": "escalate"}, OWN, True, Reason.LOW_CONFIDENCE_ESCALATED, None),
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
    """A fallback without a text is silence, never an empty reply."""
    judged = assessment(**changes)
    ending = policy.judged("Nine.", judged, account(fallback_texts=texts), early=early)

    assert (ending.reason_code, ending.reply) == (reason, reply)
    assert ending.confidence == judged.confidence
    assert (ending.verdict is Verdict.RESPOND) == (reply is not None)
    assert not ending.quarantine


@pytest.mark.parametrize(
    ("language", "texts", "reply"),
    [
        ("vi", OWN, "Xin đợi."),
        ("fr", OWN, "Soon."),
        (None, OWN, "Soon."),
        (None, {"vi": "Xin đợi.", "en": "Soon."}, "Soon."),
        ("fr", {"vi": "Xin đợi."}, "Xin đợi."),
    ],
)
def test_a_fallback_speaks_the_author_s_language(
    language: str | None, texts: dict[str, str], reply: str
) -> None:
    """Else English, else any of the account's own."""
    ending = policy.judged("Nine.", assessment(**FALLBACK), account(fallback_texts=texts), language=language)

    assert ending.reply == reply


def test_an_action_nobody_knows_is_a_bug_that_rises() -> None:
    """No default decides in its place."""
    with pytest.raises(ValueError, match="shout"):
        policy.judged("Nine.", assessment(action="shout"), account())


@pytest.mark.parametrize(("score", "confidence"), [(None, 0.95), (0.0, 0.0), (0.61, 0.61)])
def test_a_block_is_as_sure_as_its_finding(score: float | None, confidence: float) -> None:
    """0.95 for a rule (seed 004), the score for moderation; the exchange is sealed away."""
    finding = Finding(
        stage="s", code="c", severity=Severity.BLOCK, matched_rule="r:x", evidence="Because.", score=score
    )
    ending = policy.blocked(Reason.FLAGGED_RULE, finding)

    assert (ending.confidence, ending.matched_rule, ending.quarantine) == (confidence, "r:x", True)
    assert ending.reason == "GUARDRAIL_PRE_BLOCKED: Because."
    assert ending.reply is None


def test_an_escalation_of_a_person_s_wish_is_no_error() -> None:
    """Its sentence carries no error class."""
    ending = policy.escalated(Reason.MODEL_ESCALATED, "the model asked for a person")

    assert (ending.verdict, ending.reason) == (Verdict.ESCALATE, "the model asked for a person")


def test_message_and_reply_have_endings_of_their_own() -> None:
    """A reviewer sees from the code which text was blocked."""
    names = [
        (subject.rule, subject.flagged, subject.rejected, subject.unavailable, subject.timed_out)
        for subject in (MESSAGE, REPLY)
    ]

    assert len(set(names[0]) | set(names[1])) == 10
    assert {ERROR_CLASS[name] for name in names[0]} == {"GUARDRAIL_PRE_BLOCKED"}
    assert {ERROR_CLASS[name] for name in names[1]} == {"GUARDRAIL_POST_BLOCKED"}


def test_stored_words_are_never_renamed() -> None:
    """Every code equals its name, so that a rename shows in a review as one."""
    assert all(reason.value == reason.name for reason in Reason)
