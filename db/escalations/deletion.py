"""What the deletion of a message ends beside its reply: its escalation and its held drafts."""

from __future__ import annotations

from typing import Final

from db.escalations.closing import CLOSED_COLUMNS, REPORT, ClosingCause
from db.outgoing.events import OutgoingEventType

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
