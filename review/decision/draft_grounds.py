"""What a decision page shows beside the text of the AI: its passages, and what a judge read in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from db.answers.held import HeldText, HeldTexts
from db.audit.decision_context import StoredPassage
from db.reviews.visible_decision import VisibleDecision
from review.decision.grounds import ReplyGrounds, ShownPassage, grounds_of, passages_of, passages_of_held
from review.decision.judge_reading import ShownReading, quoted_grounds, shown_reading
from review.decision.view import DecisionRecord, stopped_draft
from worker.model import HeldKind


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessedDraft:
    """The draft that the assessment is about.

    Attributes:
        text: with its citation marks; None where this person may not read it, or it is gone.
        kept: the passages are copies that were kept with it.
    """

    text: str | None
    passages: tuple[ShownPassage, ...]
    kept: bool


def assessed_draft(
    decision: VisibleDecision, held: HeldTexts | None, stored: Mapping[str, StoredPassage]
) -> AssessedDraft:
    """The draft of a decision, from the held texts or from its reply."""
    if (first := _assessed_text(held)) is not None and first.passages:
        return AssessedDraft(text=first.draft, passages=passages_of_held(first, stored), kept=True)
    text = first.draft if first is not None else decision.row["reply_draft"]
    return AssessedDraft(text=text, passages=passages_of(decision.snapshot, stored), kept=False)


def _assessed_text(held: HeldTexts | None) -> HeldText | None:
    """The held text of the assessed draft; the less trusted one of two drafts has another assessment."""
    texts = held.texts if held is not None else ()
    assessed = (each for each in texts if each.draft is not None and each.kind is not HeldKind.RECHECK)
    return next(assessed, None)


def decision_grounds(record: DecisionRecord, draft: AssessedDraft) -> ReplyGrounds | None:
    """The passages of the draft, or of the text that the page shows instead; None without passages."""
    if not draft.passages:
        return None
    assessment = record.snapshot.assessment
    if assessment is not None and assessment.sentences:
        return quoted_grounds(assessment, draft.passages, draft=draft.text or "", verbatim=draft.kept)
    text = draft.text or record.row["reply_text"] or stopped_draft(record) or ""
    return grounds_of(text, draft.passages, verbatim=draft.kept)


def decision_reading(record: DecisionRecord, draft: AssessedDraft, *, covered: bool) -> ShownReading | None:
    """What a judge read in the draft; under a cover its verdicts alone."""
    assessment = record.snapshot.assessment
    if covered:
        return shown_reading(assessment, draft=None)
    return shown_reading(assessment, draft=draft.text, passages=draft.passages)
