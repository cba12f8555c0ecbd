"""Retractions to the retraction stream: withdrawn replies, after the undo window."""

from __future__ import annotations

from typing import Final

import structlog

from db.reviews import retractions
from db.reviews.retractions import Retraction
from tasks.sending.once_stream import Outgoing
from tasks.sending.outgoing import RETRACTION, RetractionEntry
from tasks.sending.relay import RelayedRows
from worker.model import Scope
from worker.webhooks.types import WebhookType

log = structlog.get_logger(__name__)


def _outgoing(retraction: Retraction) -> Outgoing:
    entry = RetractionEntry(
        event_id=retraction.event_id,
        user_id=retraction.user_id,
        decision_id=str(retraction.decision_id),
        review_id=str(retraction.review_id),
        conversation_id=retraction.conversation_id,
        message_id=retraction.message_id,
        scope=Scope(retraction.scope),
        retracted_at=retraction.created_at.isoformat(),
    )
    return RETRACTION.outgoing(entry, mark=entry.review_id, at=entry.retracted_at)


RETRACTION_ROWS: Final[RelayedRows[Retraction]] = RelayedRows(
    waiting=lambda pool, limit, now, _lease: retractions.due_retractions(pool, limit, now),
    outgoing=_outgoing,
    log_sent=lambda row: log.info("reply_retracted", event_id=row.event_id, decision_id=str(row.decision_id)),
    log_postponed=lambda error: log.warning("retraction_postponed", error=error),
    look_s=5.0,  # each look is one index scan; the undo window before it is 60 s
    webhook=WebhookType.REPLY_RETRACTED,
)
