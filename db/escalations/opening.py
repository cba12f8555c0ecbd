"""An escalation opens in the commit of its decision: row, event, and the account's text to the author."""

from __future__ import annotations

from typing import Any, Final

import orjson

from db.outgoing import events
from db.outgoing.events import OutgoingEventType
from worker.model import Decision, Source

OPEN_ESCALATION: Final = f""", opened AS (
    INSERT INTO escalations (decision_id, user_id, event_id, conversation_id, message_id, author_id, scope,
                             reason_code, queue, opened_at)
    SELECT %(id)s, key.user_id, %(event_id)s, %(conversation_id)s, %(message_id)s, %(author_id)s, %(scope)s,
        %(reason_code)s, %(queue)s, %(created_at)s
    FROM key
), reported AS ({
    events.INSERT.format(
        source='''
    SELECT key.user_id, %(conversation_id)s, %(opened_type)s, %(id)s::text, %(opened)s::jsonb, %(created_at)s
    FROM key'''
    )
}), notice AS (
    INSERT INTO outbox (user_id, event_id, decision_id, conversation_id, message_id, scope, text, created_at,
                        send_before, changes, origin)
    SELECT key.user_id, %(event_id)s, %(id)s, %(conversation_id)s, %(message_id)s, %(scope)s,
        %(handoff_text)s::text, %(created_at)s, %(send_before)s::timestamptz, handed.changes, 'handoff'
    FROM key, handed
    WHERE %(handoff_text)s::text IS NOT NULL
        AND handed.changed_at = %(now)s AND handed.cause = 'escalation'  -- this decision hands it over
    ON CONFLICT (user_id, event_id) DO NOTHING
    RETURNING user_id
), announced AS (
    INSERT INTO messages (user_id, conversation_id, message_id, decision_id, role, text, created_at)
    SELECT user_id, %(conversation_id)s, %(message_id)s, %(id)s, 'assistant', %(handoff_text)s,
        %(created_at)s
    FROM notice, (SELECT count(*) FROM stored) AS before  -- after the author's message
    WHERE %(remember)s
)"""
"""Parts of the commit in ``db.commits.commit_sql``, after its parts ``key``, ``stored`` and ``handed``."""


OPEN_FOLLOW_UP: Final = f""", unheard AS (
    SELECT key.user_id, coalesce(nullif(former.queue, ''), %(queue)s::text) AS queue
    FROM key
        JOIN conversations c ON c.user_id = key.user_id AND c.conversation_id = %(conversation_id)s
        CROSS JOIN LATERAL (
            SELECT max(o.created_at) AS at FROM outbox o
            WHERE o.user_id = c.user_id AND o.conversation_id = c.conversation_id AND o.origin = 'person'
                AND o.created_at >= c.changed_at) AS answered
        LEFT JOIN LATERAL (
            SELECT e.queue FROM escalations e
            WHERE e.user_id = c.user_id AND e.conversation_id = c.conversation_id
            ORDER BY e.opened_at DESC LIMIT 1) AS former ON true
    WHERE c.people_until > %(created_at)s AND (c.cause = 'escalation' OR answered.at IS NOT NULL)
        AND NOT EXISTS (
            SELECT FROM escalations e
            WHERE e.user_id = c.user_id AND e.conversation_id = c.conversation_id AND e.closed_at IS NULL)
        AND NOT EXISTS (
            SELECT FROM messages m
            WHERE m.user_id = c.user_id AND m.conversation_id = c.conversation_id AND m.role = 'agent'
                AND m.created_at >= greatest(c.changed_at, answered.at))
), opened AS (
    INSERT INTO escalations (decision_id, user_id, event_id, conversation_id, message_id, author_id, scope,
                             reason_code, queue, opened_at)
    SELECT %(id)s, user_id, %(event_id)s, %(conversation_id)s, %(message_id)s, %(author_id)s, %(scope)s,
        %(reason_code)s, queue, %(created_at)s
    FROM unheard
), reported AS ({
    events.INSERT.format(
        source='''
    SELECT user_id, %(conversation_id)s, %(opened_type)s, %(id)s::text,
        %(opened)s::jsonb || jsonb_build_object('queue', queue), %(created_at)s
    FROM unheard'''
    )
})"""
"""Part of the commit of a message while people own its conversation: the message waits for them as well.

Not while an escalation of the conversation is open, and not where people write in the channel itself, whose
inbox shows them the message. The conversation must be locked.
"""


def opening_values(decision: Decision) -> dict[str, Any]:
    """Parameters of ``OPEN_ESCALATION``; empty for a decision without an escalation."""
    if decision.escalation is None:
        return {}
    return {
        "queue": decision.escalation.queue,
        "handoff_text": decision.escalation.handoff_text,
        "opened_type": OutgoingEventType.ESCALATION_OPENED.value,
        "opened": orjson.dumps(opened_body(decision)).decode(),
    }


def opened_body(decision: Decision) -> dict[str, Any]:
    """The fields of ``escalation.opened``; confidence and tier are null where nothing was measured."""
    event, escalation, found = decision.event, decision.escalation, decision.assessment
    assert escalation is not None  # the caller has asked
    measured = found is not None and found.measured
    passages = enumerate(decision.passages, 1)
    return {
        "event_id": event.event_id,
        "user_id": event.user_id,
        "decision_id": str(decision.decision_id),
        "conversation_id": event.conversation_id,
        "message_id": event.message_id,
        "scope": event.scope.value,
        "author_id": event.author_id,
        "text": event.text,
        "reason_code": str(decision.reason_code),
        "reason": decision.reason,
        "matched_rule": decision.matched_rule,
        "draft": escalation.draft,
        "passages": [
            Source(number=number, passage_id=each.passage_id, title=each.title).shape()
            for number, each in passages
        ],
        "confidence": found.confidence if found and measured else None,
        "tier": found.tier.value if found and measured else None,
        "queue": escalation.queue,
        "in_hours": escalation.in_hours,
        "handoff_text": escalation.handoff_text,
        "opened_at": decision.decided_at.isoformat(),
        **(decision.trace.fields() if decision.trace else {}),
    }
