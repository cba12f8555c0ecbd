"""Retractions to the retraction stream: withdrawn replies, after the undo window."""

from __future__ import annotations

from typing import Final

import structlog

from db.reviews import retractions
from db.reviews.retractions import Retraction
from tasks.sending.entry_types import RETRACTION, RetractionEntry
from tasks.sending.once_stream import OutgoingEntry
from tasks.sending.relay import RelayedRows
from worker.model import Scope
from worker.webhooks.types import WebhookType

log = structlog.get_logger(__name__)


def _entry(retraction: Retraction) -> OutgoingEntry:
    body = RetractionEntry(
        event_id=retraction.event_id,
        user_id=retraction.user_id,
        decision_id=str(retraction.decision_id),
        review_id=str(retraction.review_id),
        conversation_id=retraction.conversation_id,
        message_id=retraction.message_id,
        scope=Scope(retraction.scope),
        retracted_at=retraction.created_at.isoformat(),
    )
    return RETRACTION.entry(body, mark=body.review_id, at=body.retracted_at)


RETRACTION_ROWS: Final[RelayedRows[Retraction]] = RelayedRows(
    waiting=lambda pool, limit, now, _lease: retractions.due_retractions(pool, limit, now),
    entry=_entry,
    log_sent=lambda row: log.info("reply_retracted", event_id=row.event_id, decision_id=str(row.decision_id)),
    log_postponed=lambda error: log.warning("retraction_postponed", error=error),
    look_s=5.0,  # each look is one index scan; the undo window before it is 60 s
    webhook=(WebhookType.REPLY_RETRACTED, lambda row: str(row.review_id)),
)
