"""Escalations close with the change that ends them, in its transaction, and report it once."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from db.connection import Connection
from db.outgoing import events
from db.outgoing.events import OutgoingEventType
from db.pool import Pool, fetch_value
from db.rows import first_value

REPORT: Final = events.INSERT.format(
    source=f"""
    SELECT user_id, conversation_id, '{OutgoingEventType.ESCALATION_CLOSED.value}', decision_id::text,
        jsonb_build_object(
            'event_id', event_id, 'user_id', user_id, 'decision_id', decision_id,
            'conversation_id', conversation_id, 'message_id', message_id, 'scope', scope,
            'author_id', author_id, 'reason_code', reason_code, 'queue', queue,
            'opened_at', opened_at, 'closed_at', closed_at, 'closed_by', closed_by, 'cause', cause),
        %(now)s
    FROM closed ORDER BY opened_at, decision_id"""
)
CLOSED_COLUMNS: Final = """e.user_id, e.event_id, e.decision_id, e.conversation_id, e.message_id, e.scope,
        e.author_id, e.reason_code, e.queue, e.opened_at, e.closed_at, e.closed_by, e.cause"""
CLOSE: Final = f"""
    WITH closed AS (
        UPDATE escalations e SET closed_at = greatest(%(now)s, e.opened_at), closed_by = %(closed_by)s,
            cause = %(cause)s
        WHERE e.closed_at IS NULL AND e.user_id = %(user_id)s AND e.conversation_id = %(conversation_id)s
            AND e.decision_id IS DISTINCT FROM CAST(%(keep)s AS uuid)
            AND (CAST(%(only)s AS uuid) IS NULL OR e.decision_id = CAST(%(only)s AS uuid))
            AND (CAST(%(up_to)s AS timestamptz) IS NULL
                OR e.opened_at <= CAST(%(up_to)s AS timestamptz))
        RETURNING {CLOSED_COLUMNS}
    ), reported AS ({REPORT}) SELECT count(*) FROM closed
"""
DUE: Final = """
    SELECT e.decision_id, greatest(c.people_until, e.opened_at) AS closed_at, '' AS closed_by, 'idle' AS cause
    FROM escalations e JOIN conversations c USING (user_id, conversation_id)
    WHERE e.closed_at IS NULL AND c.people_until <= %(now)s
    UNION ALL
    SELECT e.decision_id, greatest(s.updated_at, e.opened_at), r.person, 'reviewed'
    FROM escalations e JOIN review_states s USING (decision_id)
        JOIN decision_reviews r ON r.id = s.last_review
    WHERE e.closed_at IS NULL AND s.state = 'overturn' AND s.updated_at <= %(reviewed_by)s
"""
"""Open escalations whose idle time is over, or that a reviewer overturned and can no longer undo."""
CLOSE_DUE: Final = f"""
    WITH closed AS (
        UPDATE escalations e SET closed_at = d.closed_at, closed_by = d.closed_by, cause = d.cause
        FROM (SELECT DISTINCT ON (decision_id) * FROM ({DUE}) AS one ORDER BY decision_id, closed_at) AS d
        WHERE e.closed_at IS NULL AND e.decision_id = d.decision_id
        RETURNING {CLOSED_COLUMNS}
    ), reported AS ({REPORT}) SELECT count(*) FROM closed
"""
UNDO_TIME: Final = timedelta(seconds=60)
"""As ``db.reviews.rulings.UNDO_WINDOW``, which is above this layer."""


class ClosingCause(StrEnum):
    """Why an escalation was closed; stored.

    Attributes:
        RELEASED: a person gave the conversation back to the AI.
        ANSWERED: a person wrote in the conversation.
        IDLE: people wrote nothing for the account's ``people_idle_s``, so the AI may answer again.
        REVIEWED: a reviewer overturned the escalation, and the undo window is over.
        REPLACED: a later escalation of the conversation took its place.
        MESSAGE_DELETED: its author deleted the message.
    """

    RELEASED = "released"
    ANSWERED = "answered"
    IDLE = "idle"
    REVIEWED = "reviewed"
    REPLACED = "replaced"
    MESSAGE_DELETED = "message_deleted"


OF_MESSAGE: Final = """
    e.user_id = key.user_id AND e.conversation_id = %(conversation_id)s AND e.message_id = %(message_id)s
"""
CLOSE_WITH_MESSAGE: Final = f""", closed AS (
    UPDATE escalations e SET closed_at = greatest(%(now)s, e.opened_at), closed_by = '',
        cause = '{ClosingCause.MESSAGE_DELETED}'
    FROM key WHERE {OF_MESSAGE} AND e.closed_at IS NULL
    RETURNING {CLOSED_COLUMNS}
), reported AS ({REPORT}
), unannounced AS (
    UPDATE outgoing_events o SET withdrawn = 'message_deleted',
        streamed_at = coalesce(o.streamed_at, %(now)s)
    FROM escalations e, key
    WHERE {OF_MESSAGE} AND o.user_id = e.user_id AND o.type = '{OutgoingEventType.ESCALATION_OPENED}'
        AND o.key = e.decision_id::text
)"""
"""Parts of the deletion's commit: its text leaves no more, neither on the stream nor by webhook."""
EXPIRE_HELD: Final = """
    SELECT hushgate_expire_held_drafts(%(user_id)s, %(conversation_id)s, %(message_id)s, %(now)s)
"""
"""The worker may not read held drafts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """The end of a conversation's open escalation, or of those that the last two attributes name.

    Attributes:
        closed_by: an agent's author id, a login, or empty where no person closed it.
        keep: the decision whose escalation stays open, or None.
        only: the decision whose escalation alone is closed, or None.
        up_to: escalations that were opened later stay open, or None.
    """

    user_id: str
    conversation_id: str
    cause: ClosingCause
    closed_by: str
    now: datetime
    keep: UUID | None = None
    only: UUID | None = None
    up_to: datetime | None = None


async def close_escalation(connection: Connection, closing: Closing) -> int:
    """Close what a closing names, in the caller's transaction; how many escalations."""
    return int(await first_value(connection, CLOSE, asdict(closing)))


async def close_due_escalations(source: Pool, now: datetime) -> int:
    """Close what no change closes: idle times that are over, and overturned escalations; how many.

    Raises:
        StorageUnavailable: the outcome is unknown; safe to repeat.
    """
    return int(await fetch_value(source, CLOSE_DUE, {"now": now, "reviewed_by": now - UNDO_TIME}))
