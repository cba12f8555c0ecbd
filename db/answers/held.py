"""Held drafts: sealed in the decision's commit, read by reviewers; the newest of an account."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import orjson
import sqlalchemy as sa

from db.answers.state import answered_decisions
from db.answers.tables import held_drafts
from db.connection import Connection
from db.rows import Row, all_rows, rows_as
from db.tables import HIGH_SCORE_CATEGORIES, NOT_ERASED, ai_decisions
from worker.assessment.policies.reply_metadata import text_metadata
from worker.model import Decision, HeldDraft, HeldKind
from worker.reasons import Reason
from worker.reply_sentences import supported_sentences

STORE_HELD_DRAFTS: Final = """, held AS (
    INSERT INTO held_drafts (
        user_id, conversation_id, message_id, decision_id, reason_code, kind, text, draft, sources, passages,
        confidence, tier, metadata, send_before, created_at, expires_at)
    SELECT key.user_id, %(conversation_id)s, %(message_id)s, %(id)s, %(reason_code)s, held.kind, held.text,
        held.draft, held.sources, held.passages, held.confidence, held.tier, held.metadata,
        %(send_before)s::timestamptz, %(created_at)s, %(held_until)s::timestamptz
    FROM key, ROWS FROM (jsonb_to_recordset(%(held)s::jsonb) AS (
        kind text, text text, draft text, sources jsonb, passages jsonb, confidence double precision,
        tier text, metadata jsonb)) WITH ORDINALITY AS held ORDER BY held.ordinality
)"""
"""A part of the decision's commit."""
OF_DECISION: Final = """
    SELECT id AS held_id, kind, text, draft, sources, passages, confidence, tier, metadata, send_before,
           created_at, expires_at
    FROM held_drafts WHERE decision_id = %(id)s AND expires_at > %(now)s ORDER BY id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldText:
    """A row of ``held_drafts``, or the reply of a decision that was made again.

    Attributes:
        held_id: None for a reply that was made again.
        text: as it would be sent.
        draft: with its citation marks; None for a text that no model wrote.
        sources: the cited passages, in the form of ``worker.model.Source.shape``.
        passages: what the model was shown: ``id``, ``title``, ``text``, ``sha256``.
        confidence: None when it was not measured; ``tier`` likewise.
        metadata: the fields of its reply that come from its assessment.
        send_before: after this it is not approved unchanged.
    """

    held_id: int | None
    kind: HeldKind
    text: str
    draft: str | None
    sources: list[dict[str, Any]]
    passages: list[dict[str, str]]
    confidence: float | None
    tier: str | None
    metadata: Mapping[str, Any]
    send_before: datetime | None
    created_at: datetime
    expires_at: datetime

    def too_late(self, now: datetime) -> bool:
        """Whether the message is too old for this text as it is."""
        return self.send_before is not None and self.send_before < now


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTexts:
    """The held texts of a decision, the most useful first; ``texts`` is empty for who may not read them."""

    count: int
    expires_at: datetime | None
    texts: tuple[HeldText, ...] = ()


NOTHING_HELD: Final = HeldTexts(count=0, expires_at=None)


def held_json(decision: Decision) -> str:
    """The parameter ``held`` of the commit."""
    return orjson.dumps([_values(each, decision) for each in decision.held]).decode()


async def load_held(connection: Connection, decision_id: UUID, now: datetime) -> HeldTexts:
    """The held texts of a decision, for reviewers; the caller logs the reading."""
    texts = await rows_as(connection, HeldText, OF_DECISION, {"id": decision_id, "now": now})
    return HeldTexts(count=len(texts), expires_at=texts[0].expires_at if texts else None, texts=texts)


def _values(held: HeldDraft, decision: Decision) -> dict[str, Any]:
    assessment = held.assessment
    measured = assessment is not None and assessment.measured
    model = decision.models.get("completion") if held.draft is not None else None
    return {
        "kind": held.kind,
        "text": held.text,
        "draft": held.draft,
        "sources": [each.shape() for each in held.sources],
        "passages": [
            {
                "id": each.passage_id,
                "title": each.title,
                "text": each.text,
                "sha256": hashlib.sha256(each.text.encode("utf-8", "surrogatepass")).hexdigest(),
            }
            for each in held.passages
        ],
        "confidence": assessment.confidence if assessment is not None and measured else None,
        "tier": assessment.tier if assessment is not None and measured else None,
        "metadata": text_metadata(assessment, model)
        | {
            "sentences": supported_sentences(
                assessment, draft=held.draft, sent=held.text, passages=held.passages
            )
        },
    }


LOOKED_AT: Final = 500
"""Newest decisions among which the drafts are looked for."""
SENT_WITHOUT_APPROVAL: Final = Reason.HELD_FOR_APPROVAL
"""The ending of drafts that only the account's reply mode held."""


async def newest_drafts(
    connection: Connection, user_id: str, *, now: datetime, since: timedelta, limit: int
) -> tuple[Row, ...]:
    """Decision, message, draft and ``answered`` (a state of ``db.answers.state``), the newest first.

    The caller logs the reading.
    """
    names = ("id", "created_at", "scope", "reason_code", "matched_rule", "message_text", "confidence")
    newest = (
        sa.select(*(ai_decisions.c[name] for name in names), HIGH_SCORE_CATEGORIES)
        .where(
            ai_decisions.c.user_id == user_id,
            ai_decisions.c.created_at.between(now - since, now),
            sa.text(NOT_ERASED),
        )
        .order_by(ai_decisions.c.created_at.desc(), ai_decisions.c.id.desc())
        .limit(LOOKED_AT)
        .subquery()
    )
    held = (
        sa.select(held_drafts.c.text.label("draft"))
        .where(held_drafts.c.decision_id == newest.c.id, held_drafts.c.expires_at > now)
        .order_by(held_drafts.c.id)
        .limit(1)
        .lateral()
    )
    answered = answered_decisions.c
    same = sa.and_(answered.decision_at == newest.c.created_at, answered.decision_id == newest.c.id)
    query = (
        sa.select(newest, held.c.draft, answered.state.label("answered"))
        .select_from(newest.join(held, sa.true()).outerjoin(answered_decisions, same))
        .order_by(newest.c.created_at.desc(), newest.c.id.desc())
        .limit(limit)
    )
    return await all_rows(connection, query)
