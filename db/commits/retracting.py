"""Parts of statements that take back the replies to a message."""

from __future__ import annotations

from typing import Final

from db.webhooks.changes import withdraw_replies

REPLY_TO_MESSAGE: Final = """
    o.user_id = key.user_id AND o.conversation_id = %(conversation_id)s AND o.message_id = %(message_id)s
"""
"""A message may have several replies: a text at a handoff, answers."""


def retract_replies(reason: str, *, at: str, wanted: str = "%(retract)s") -> str:
    """Parts with ``key``: waiting replies to its message are cancelled, also as webhooks.

    Where ``wanted``, they are retracted if a relay had sent them, and so are delivered ones: due at once,
    also if the clock behind ``at`` is fast. Each retraction has an id of its own.
    """
    return f""", cancelled AS (
    UPDATE outbox o SET cancel_reason = coalesce(o.cancel_reason, '{reason}'),
        cancelled_at = coalesce(o.cancelled_at, {at}),
        retraction_id = coalesce(o.retraction_id, CASE WHEN {wanted} THEN gen_random_uuid() END),
        retract_from = CASE WHEN {wanted} THEN least({at}, now()) ELSE o.retract_from END
    FROM key
    WHERE {REPLY_TO_MESSAGE} AND o.delivered_at IS NULL AND (o.cancel_reason IS NULL OR NOT o.cancel_settled)
), retracted AS (
    INSERT INTO retractions (decision_id, review_id, user_id, event_id, conversation_id, message_id, scope,
                             created_at, not_before)
    SELECT o.decision_id, gen_random_uuid(), o.user_id, o.event_id, o.conversation_id, o.message_id, o.scope,
        {at}, least({at}, now())
    FROM outbox o, key
    WHERE {wanted} AND {REPLY_TO_MESSAGE} AND o.delivered_at IS NOT NULL
        AND NOT EXISTS (
            SELECT FROM retractions r WHERE r.decision_id = o.decision_id AND r.cancelled_at IS NULL)
    ORDER BY o.id
){withdraw_replies(REPLY_TO_MESSAGE, reason)}"""
