"""What a person's answer means, given the texts of the AI."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from uuid_utils.compat import uuid7

from db.answers.held import HeldText
from db.answers.records import AnswerOutcome
from review.answers.answerable import (
    ANSWER_CHARS,
    AnswerAction,
    AnswerRejected,
    DraftTooOld,
    GivenAnswer,
    is_answerable,
    resolve,
)
from tests.support.samples import NOW
from worker.model import HeldKind
from worker.reasons import Reason

HELD = HeldText(
    held_id=1,
    kind=HeldKind.DRAFT,
    text="Nine.",
    draft="Nine [1].",
    sources=[],
    passages=[],
    confidence=0.4,
    tier="low",
    metadata={},
    send_before=NOW,
    created_at=NOW,
    expires_at=NOW + timedelta(days=30),
)


def given(action: AnswerAction, **changes: Any) -> GivenAnswer:
    """An answer from a form."""
    return GivenAnswer(action=action, answer_id=uuid7(), **changes)


@pytest.mark.parametrize(
    ("answer", "held", "outcome", "text"),
    [
        (given(AnswerAction.APPROVE, held_id=1), (HELD,), AnswerOutcome.UNCHANGED, "Nine."),
        (given(AnswerAction.EDIT, held_id=1, text="At nine."), (HELD,), AnswerOutcome.EDITED, "At nine."),
        (given(AnswerAction.EDIT, held_id=1, text=" Nine.\r\n"), (HELD,), AnswerOutcome.UNCHANGED, "Nine."),
        (given(AnswerAction.WRITE, text="Ten."), (HELD,), AnswerOutcome.REPLACED, "Ten."),
        (given(AnswerAction.WRITE, text="Nine."), (HELD,), AnswerOutcome.UNCHANGED, "Nine."),
        (given(AnswerAction.WRITE, text="Ten.\r\nBye."), (), AnswerOutcome.WRITTEN, "Ten.\nBye."),
        (given(AnswerAction.DISMISS), (HELD,), AnswerOutcome.DISMISSED, None),
    ],
)
def test_an_answer_says_what_became_of_the_draft(
    answer: GivenAnswer, held: tuple[HeldText, ...], outcome: AnswerOutcome, text: str | None
) -> None:
    """A copy of the AI's text counts as the AI's, whichever form it came from."""
    found = resolve(answer, held, approvable=held)

    assert (found.outcome, found.text) == (outcome, text)


@pytest.mark.parametrize(
    ("answer", "held", "error"),
    [
        (given(AnswerAction.APPROVE, held_id=2), (HELD,), DraftTooOld),
        (given(AnswerAction.APPROVE), (), DraftTooOld),
        (given(AnswerAction.EDIT, held_id=1, text=" "), (HELD,), AnswerRejected),
        (given(AnswerAction.WRITE, text="x" * (ANSWER_CHARS + 1)), (), AnswerRejected),
        (given(AnswerAction.WRITE, text="half \ud800"), (), AnswerRejected),
        (given(AnswerAction.WRITE, text="a\0b"), (), AnswerRejected),
    ],
)
def test_an_answer_that_cannot_be_used_is_refused(
    answer: GivenAnswer, held: tuple[HeldText, ...], error: type[Exception]
) -> None:
    """Drafts that are gone, and texts that are empty, too long or cannot be stored."""
    with pytest.raises(error):
        resolve(answer, held, approvable=held)


def test_a_draft_that_is_too_old_is_sent_changed_only() -> None:
    """Approving it is refused, editing is not."""
    with pytest.raises(DraftTooOld, match="too old for the draft"):
        resolve(given(AnswerAction.APPROVE, held_id=1), (HELD,), approvable=())

    edited = resolve(given(AnswerAction.EDIT, held_id=1, text="Ten."), (HELD,), approvable=())

    assert edited.outcome is AnswerOutcome.EDITED


@pytest.mark.parametrize(
    ("decision", "reason", "answerable", "overturned", "check"),
    [
        ("escalate", Reason.MODEL_ESCALATED, True, True, True),
        ("escalate", Reason.FLAGGED_RULE, True, True, True),
        ("ignore", Reason.HELD_FOR_APPROVAL, True, True, True),
        ("ignore", Reason.OWNED_BY_PEOPLE, True, True, True),
        ("respond", Reason.FALLBACK_SENT, True, True, True),
        ("respond", Reason.REPLIED, False, True, False),
        ("ignore", Reason.FLAGGED_RULE, False, True, False),
        ("ignore", Reason.BURST_MERGED, False, False, False),
        ("ignore", Reason.MESSAGE_DELETED, False, False, False),
    ],
)
def test_people_answer_what_the_ai_left_to_them_or_decided_wrongly(
    decision: str, reason: Reason, answerable: bool, overturned: bool, check: bool
) -> None:
    """What it answered and what a guard stopped only after an overturn; never what is no question."""
    row = {"decision": decision, "reason_code": reason.value, "snapshot_json": {"type": "message"}}
    wrong = row | {"review_state": "overturn"}
    wrong_check = wrong | {"snapshot_json": {"type": "check"}}

    assert [is_answerable(each) for each in (row, wrong, wrong_check)] == [answerable, overturned, check]
