"""The passages beside the text of a decision page: of its reply, its held draft or its stopped draft."""

from __future__ import annotations

from db.answers.held import HeldTexts
from review.decision.grounds import ReplyGrounds, grounds_of, passages_of, passages_of_held
from review.decision.view import DecisionRecord, stopped_draft


def decision_grounds(record: DecisionRecord, held: HeldTexts | None) -> ReplyGrounds | None:
    """The grounds of the newest text of the AI that the page shows; None without passages."""
    language = record.snapshot.language
    if held is not None and held.texts and held.texts[0].passages:
        first = held.texts[0]
        passages = passages_of_held(first, record.passages)
        return grounds_of(first.draft or first.text, passages, language=language, verbatim=True)
    shown = passages_of(record.snapshot, record.passages)
    if not shown:
        return None
    draft = record.row["reply_draft"] or record.row["reply_text"] or stopped_draft(record) or ""
    return grounds_of(draft, shown, language=language, verbatim=False)
