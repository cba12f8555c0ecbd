"""What is kept of texts that are not sent, and which replies wait for approval."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.samples import account, assessment, passage
from worker.endings import Draft, Ending, silent_ending
from worker.held_texts import for_approval, held_drafts
from worker.model import Account, Action, HeldKind, ReplyMode
from worker.reasons import Reason
from worker.steps.assessing import better

DRAFT = Draft(text="Nine [1].", passages=(passage(),), assessment=assessment(confidence=0.7))
UNSURE = replace(DRAFT, text="Perhaps ten.", assessment=assessment(confidence=0.2))


def reply(reason: Reason = Reason.REPLIED, text: str = "Nine.", **changes: Any) -> Ending:
    """An ending with a reply."""
    values: dict[str, Any] = {"reason": "because", "confidence": 0.7, "draft": DRAFT} | changes
    return Ending(reason_code=reason, reply=text, **values)


def suggest(**changes: Any) -> Account:
    """An account whose replies wait."""
    return account(reply_mode=ReplyMode.SUGGEST, **changes)


@pytest.mark.parametrize(
    ("settings", "ending", "held"),
    [
        (account(), reply(), False),
        (suggest(), reply(), True),
        (suggest(), reply(Reason.FALLBACK_SENT), True),
        (suggest(), silent_ending(Reason.LOW_CONFIDENCE, "low"), False),
        (suggest(auto_reasons=("REPLIED",)), reply(), False),
        (suggest(auto_reasons=("REPLIED",)), reply(Reason.PARTIAL_REPLY), True),
        (suggest(auto_from_confidence=0.7), reply(), False),
        (suggest(auto_from_confidence=0.71), reply(), True),
        (suggest(auto_from_confidence=0.0), reply(Reason.FALLBACK_SENT), True),
        (
            suggest(auto_from_confidence=0.0),
            reply(draft=replace(DRAFT, assessment=assessment(measured=False))),
            True,
        ),
    ],
)
def test_a_reply_waits_unless_the_account_lets_it_pass(settings: Account, ending: Ending, held: bool) -> None:
    """By mode, reason and measured confidence; a fallback's confidence is that of another text."""
    found = for_approval(ending, settings)

    assert (found.reason_code is Reason.HELD_FOR_APPROVAL) == held
    assert (found.reply is None) == (held or ending.reply is None)
    assert found.confidence == ending.confidence


@pytest.mark.parametrize(
    ("ending", "kinds"),
    [
        (reply(), []),
        (reply(Reason.PARTIAL_REPLY), []),
        (reply(Reason.FALLBACK_SENT, draft=UNSURE), [HeldKind.DRAFT]),
        (replace(silent_ending(Reason.LOW_CONFIDENCE, "low"), draft=UNSURE), [HeldKind.DRAFT]),
        (silent_ending(Reason.MODEL_ESCALATED, "asked for a person"), []),
        (replace(silent_ending(Reason.TAKEN_OVER, "taken"), draft=DRAFT), [HeldKind.DRAFT]),
        (replace(silent_ending(Reason.MESSAGE_WITHDRAWN, "deleted"), draft=DRAFT), []),
        (replace(silent_ending(Reason.REPLY_FLAGGED_RULE, "rule"), draft=DRAFT, quarantine=True), []),
        (reply(draft=replace(DRAFT, loser=UNSURE)), [HeldKind.RECHECK]),
        (for_approval(reply(), suggest()), [HeldKind.REPLY]),
        (
            for_approval(reply(Reason.FALLBACK_SENT, "Soon.", draft=UNSURE), suggest()),
            [HeldKind.REPLY, HeldKind.DRAFT],
        ),
    ],
)
def test_what_is_not_sent_is_held(ending: Ending, kinds: list[HeldKind]) -> None:
    """Drafts and withheld replies; not what a guard flagged, nor the draft to a deleted message."""
    assert [each.kind for each in held_drafts(ending)] == kinds


def test_a_held_reply_is_as_it_would_be_sent_and_rests_on_what_the_model_saw() -> None:
    """Its text has no citation marks, its draft has; a fallback text has no draft."""
    (held,) = held_drafts(for_approval(reply(text="Nine."), suggest()))
    fallback = held_drafts(for_approval(reply(Reason.FALLBACK_SENT, "Soon.", draft=UNSURE), suggest()))[0]

    assert (held.text, held.draft, held.sources[0].title) == ("Nine.", "Nine [1].", "Opening hours")
    assert held.passages == DRAFT.passages
    assert (fallback.text, fallback.draft, fallback.sources) == ("Soon.", None, ())


@pytest.mark.parametrize(("confidence", "kept"), [(0.9, "first"), (0.1, "second")])
def test_the_other_draft_of_a_recheck_is_kept(confidence: float, kept: str) -> None:
    """Whichever of the two stands."""
    first = replace(DRAFT, text="first", assessment=assessment(confidence=0.5, action=Action.RECHECK))
    second = replace(DRAFT, text="second", assessment=assessment(confidence=confidence))
    stands = better(first, second)

    assert stands.loser is not None
    assert {stands.text, stands.loser.text} == {"first", "second"}
    assert stands.loser.text == kept
    assert better(first, None).loser is None
