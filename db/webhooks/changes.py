"""Parts of the commits of decisions and of owners that store events for webhooks."""

from __future__ import annotations

from typing import Final

from db.outgoing.events import INSERT_WITHOUT_STREAM
from db.webhooks.subscribed import SUBSCRIBED
from db.webhooks.subscriptions import WITHDRAW_REPLY
from worker.webhooks.types import WebhookType

DECISION_BODY: Final = """
    jsonb_build_object(
        'event_id', %(event_id)s::text, 'user_id', key.user_id, 'decision_id', %(id)s::text,
        'conversation_id', %(conversation_id)s::text, 'message_id', %(message_id)s::text,
        'scope', %(scope)s::text, 'decision', %(decision)s::text, 'reason_code', %(reason_code)s::text,
        'reason', %(reason)s::text, 'matched_rule', %(matched_rule)s::text,
        'confidence', %(confidence)s::double precision, 'degraded', %(degraded)s::boolean,
        'created_at', %(created_at)s::timestamptz) || %(trace)s::jsonb
"""
"""The fields of ``tasks.webhooks.bodies.DecisionEntry``; ``trace`` has the last two."""
WANTED: Final = SUBSCRIBED.format(account="key.user_id", type=WebhookType.DECISION_MADE.value)
STORE_DECISION_EVENT: Final = f""", count(CASE WHEN {WANTED}
    THEN hushgate_store_event(
        key.user_id, %(conversation_id)s::text, '{WebhookType.DECISION_MADE}', %(id)s::text, {DECISION_BODY},
        %(created_at)s::timestamptz) END)"""
"""A column of the commit's SELECT, which stores the event of every decision.

Without a subscription it is one look at an index; a part with an INSERT made a commit a fifth slower.
"""
OWNER_BODY: Final = """
    jsonb_build_object(
        'user_id', %(user_id)s::text, 'conversation_id', %(conversation_id)s::text, 'owner', '{owner}',
        'cause', handed.cause, 'changed_by', %(changed_by)s::text, 'changed_at', %(now)s::timestamptz,
        'people_until', {people_until})
"""
"""The fields of ``tasks.webhooks.bodies.OwnerEntry``."""


def _change_of_owner(event_type: WebhookType, owner: str, people_until: str) -> str:
    body = OWNER_BODY.format(owner=owner, people_until=people_until)
    wanted = SUBSCRIBED.format(account="%(user_id)s", type=event_type.value)
    source = f"""
        SELECT %(user_id)s::text, %(conversation_id)s::text, '{event_type.value}',
            %(conversation_id)s || '/' || handed.changes, {body}, %(now)s::timestamptz
        FROM handed WHERE handed.changed_at = %(now)s AND {wanted}
    """
    return INSERT_WITHOUT_STREAM.format(source=source)


RETURNING_OWNER: Final = "RETURNING c.changes, c.changed_at, c.cause"
"""What the parts below read of a changed conversation, as ``handed``."""
STORE_TAKEN_EVENT: Final = ", taken AS ({})".format(
    _change_of_owner(WebhookType.CONVERSATION_TAKEN, "people", "%(people_until)s::timestamptz")
)
"""People took a conversation that they did not own before: only then ``changed_at`` is new."""
STORE_RELEASED_EVENT: Final = (
    f", released AS ({_change_of_owner(WebhookType.CONVERSATION_RELEASED, 'ai', 'NULL::timestamptz')})"
)


def withdraw_replies(replies: str, reason: str) -> str:
    """A part of a deletion or a flagged edit of a message: webhooks send no reply to it any more."""
    return f", withdrawn AS ({WITHDRAW_REPLY.format(replies=replies, reason=reason)})"
