"""The texts of one decision: the message, what was or was not sent, and the sentences that decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import sqlalchemy as sa

from db.audit.decision_context import SHOWN_DISCLOSURE
from db.audit.event_records import EventTexts, JudgedSentence
from db.tables import NOT_ERASED
from worker.assessment.text.citations import without_citations
from worker.model import Verdict
from worker.snapshot import Snapshot, SnapshotSentence

JUDGED: Final = sa.text(f"""
    SELECT message_text, jsonb_build_object(
        'assessment', snapshot_json -> 'assessment', 'passages', snapshot_json -> 'passages') AS looked_at
    FROM ai_decisions WHERE created_at BETWEEN :since AND :until AND id = :id AND {NOT_ERASED}
""")
SENT: Final = sa.text(f"""
    SELECT text, draft, metadata -> 'sentences' AS sentences, {SHOWN_DISCLOSURE} AS disclosure
    FROM outbox WHERE user_id = :user_id AND event_id = :event_id AND decision_id = :id
""")
HELD: Final = sa.text("""
    SELECT text, draft FROM held_drafts WHERE decision_id = :id AND expires_at > :now ORDER BY id LIMIT 1
""")


def texts_of(
    judged: Mapping[str, Any], *, sent: Mapping[str, Any] | None, held: Mapping[str, Any] | None
) -> EventTexts:
    """The texts in rows of these queries; None where a row is missing or was not read."""
    looked_at = Snapshot.from_json(judged["looked_at"])
    drafts = ((each or {}).get("draft") for each in (sent, held))  # none: a fallback text was sent
    draft = next(filter(None, drafts), "")
    return EventTexts(
        message=judged["message_text"],
        disclosure=sent["disclosure"] if sent else None,
        reply=sent["text"] if sent else None,
        held=held["text"] if held else None,
        passages=tuple(dict.fromkeys(each.title for each in looked_at.passages)),
        decided_by=tuple(_decided_by(looked_at, draft, _quotes((sent or {}).get("sentences")))),
    )


def _quotes(sentences: Any) -> dict[str, tuple[str, ...]]:
    """The quotes that a sent reply had, by its sentence."""
    found = sentences if isinstance(sentences, list) else ()
    return {each["text"]: tuple(quote["text"] for quote in each["quotes"]) for each in found}


def _decided_by(
    looked_at: Snapshot, draft: str, quotes: Mapping[str, tuple[str, ...]]
) -> Iterator[JudgedSentence]:
    read = looked_at.assessment.sentences if looked_at.assessment else ()
    named = [each for each in read if draft[each.start : each.end].strip()]
    titles = [each.title for each in looked_at.passages]
    for each in [each for each in named if not _is_supported(each)] or named:
        if each.verdict != Verdict.NO_CLAIM or not _is_supported(each):
            text = without_citations(draft[each.start : each.end]).strip()
            yield JudgedSentence(
                text=text,
                quotes=quotes.get(text, ()),
                verdict=each.verdict,
                support=each.support,
                disagreements=each.disagreements,
                passages=tuple(
                    dict.fromkeys(
                        titles[quote.passage - 1] for quote in each.quotes if quote.passage <= len(titles)
                    )
                ),
            )


def _is_supported(read: SnapshotSentence) -> bool:
    """Whether the sentence holds nothing back; a courtesy has no support."""
    return read.support is None or (read.support > 0 and not read.disagreements)
