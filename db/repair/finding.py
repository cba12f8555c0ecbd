"""Breaches that Postgres alone shows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from db.outbox import OVERTAKEN
from db.outgoing.events import STREAM_TYPES
from db.people.sample_data import SAMPLE_ACCOUNT
from db.pool import Pool, fetch_as, fetch_dicts, fetch_value
from db.repair.model import Breach, FoundBreach
from worker.webhooks.types import WebhookType

DECIDED_TWICE: Final = """
    SELECT d.id::text AS subject, d.user_id AS account,
        'a further decision of an event whose ending is '
            || coalesce(k.decision_id::text, 'the dead letter ' || k.entry_id) AS found
    FROM ai_decisions d JOIN event_keys k ON k.user_id = d.user_id AND k.event_id = d.event_id
    WHERE d.created_at >= %(since)s AND d.created_at < %(until)s
        AND d.id IS DISTINCT FROM k.decision_id AND NOT d.snapshot_json ? 'erased'
    ORDER BY d.created_at LIMIT %(limit)s
"""
RETRIED: Final = """
    SELECT l.entry_id, l.retried_as FROM dead_letters l
    WHERE l.retried_at >= %(since)s AND l.retried_at < %(until)s
        AND (l.entry_id = %(letter)s OR %(letter)s::text IS NULL)
        AND NOT EXISTS (SELECT FROM dead_letters n WHERE n.entry_id = l.retried_as)
        AND NOT EXISTS (SELECT FROM duplicates n WHERE n.entry_id = l.retried_as)
        AND NOT EXISTS (
            SELECT FROM event_keys k
            WHERE k.created_at >= l.retried_at - interval '1 hour' AND k.entry_id = l.retried_as)
    ORDER BY l.entry_id LIMIT %(limit)s
"""
ENDED: Final = """
    SELECT (SELECT count(decision_id) FROM event_keys) + (SELECT count(*) FROM duplicates)
        + (SELECT count(*) FROM dead_letters)
        + (SELECT coalesce(sum(rows), 0)::bigint FROM purged
           WHERE table_name NOT IN ('ai_decisions', 'checks'))
"""
WAITING: Final = """
    SELECT decision_id::text AS decision_id, user_id AS account, event_id FROM outbox
    WHERE delivered_at IS NULL AND NOT cancel_settled AND created_at >= %(since)s AND created_at < %(until)s
    ORDER BY id
"""
NAMED: Final = """
    SELECT decision_id::text AS decision_id, user_id AS account, event_id FROM outbox
    WHERE decision_id = %s::uuid
"""
TAKEN_BACK: Final = """
    (EXISTS (SELECT FROM retractions r WHERE r.decision_id = o.decision_id AND r.cancelled_at IS NULL)
    OR EXISTS (SELECT FROM ai_decisions d
        WHERE d.user_id = o.user_id AND d.conversation_id = o.conversation_id AND d.message_id = o.message_id
            AND d.created_at >= o.created_at - interval '1 hour' AND d.id <> o.decision_id
            AND d.id::text IS DISTINCT FROM o.metadata ->> 'answered_decision_id'
            AND (d.reason_code = 'MESSAGE_DELETED' OR (d.snapshot_json ->> 'quarantined')::boolean)))
"""
"""True of a reply that was retracted, whose message was deleted, or an edit of whose message was flagged.

Clocks of workers differ: a deletion may seem to be older than its reply. People may answer what is flagged.
"""
NO_LONGER_DUE: Final = f"""
    ({TAKEN_BACK} OR o.send_before < now() OR {OVERTAKEN})
"""
"""True also of a reply that is too late or overtaken by people.

A relay would cancel it and delete from the history a reply that the author may have read.
"""
DELIVERED: Final = f"""
    SELECT decision_id::text AS decision_id, user_id AS account, event_id, delivered_at AS sent_at
    FROM outbox o
    WHERE delivered_at >= %(since)s AND delivered_at < %(until)s AND user_id <> '{SAMPLE_ACCOUNT}'
        AND NOT coalesce({NO_LONGER_DUE}, false)
    ORDER BY id
"""
"""Replies to samples count as delivered, and never are."""
SENT: Final = f"""
    SELECT type, key, user_id AS account, sent_at FROM (
        SELECT id, type, key, user_id, streamed_at AS sent_at FROM outgoing_events
        WHERE streamed_at >= %(since)s AND streamed_at < %(until)s AND type IN ({STREAM_TYPES})
            AND withdrawn IS NULL
        UNION ALL
        SELECT id, '{WebhookType.REPLY_RETRACTED}', review_id::text, user_id, delivered_at FROM retractions
        WHERE delivered_at >= %(since)s AND delivered_at < %(until)s AND conversation_id <> ''
    ) AS sent ORDER BY id
"""
"""A withdrawn event is marked as streamed, although it may never have been sent.

An erased retraction has no conversation.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReply:
    """A reply of the outbox."""

    decision_id: str
    account: str
    event_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SentReply(StoredReply):
    """A reply that counts as sent."""

    sent_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SentEvent:
    """An event that counts as sent; a retraction has the type and the key of its webhook."""

    type: str
    key: str
    account: str
    sent_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which rows are looked at: without the newest, which a worker may be about to finish."""

    since: datetime
    until: datetime
    limit: int


async def events_decided_twice(source: Pool, window: Window) -> list[FoundBreach]:
    """Decisions beside the ending of their event, oldest first."""
    rows = await fetch_dicts(source, DECIDED_TWICE, asdict(window))
    return [FoundBreach(breach=Breach.EVENT_DECIDED_TWICE, **row) for row in rows]


async def count_ended(source: Pool) -> int:
    """Entries that have an ending, or had one before retention deleted it."""
    return int(await fetch_value(source, ENDED))


async def waiting_replies(source: Pool, window: Window) -> list[StoredReply]:
    """Replies that the outbox does not count as delivered or cancelled."""
    return await fetch_as(source, StoredReply, WAITING, asdict(window))


async def named_reply(source: Pool, decision_id: str) -> list[StoredReply]:
    """The reply of a decision, if there is one."""
    return await fetch_as(source, StoredReply, NAMED, (decision_id,))


async def delivered_replies(source: Pool, window: Window) -> list[SentReply]:
    """Replies that the outbox counts as delivered, oldest first."""
    return await fetch_as(source, SentReply, DELIVERED, asdict(window))


async def sent_events(source: Pool, window: Window) -> list[SentEvent]:
    """Outgoing events and retractions that count as sent on their streams, those of a stream oldest first."""
    return await fetch_as(source, SentEvent, SENT, asdict(window))


async def unfinished_retries(source: Pool, window: Window, *, letter: str | None) -> dict[str, str]:
    """Dead letters that were published again, whose new entry has no ending: that entry by letter.

    With ``letter``, of this one only.
    """
    rows = await fetch_dicts(source, RETRIED, asdict(window) | {"letter": letter})
    return {row["entry_id"]: row["retried_as"] for row in rows}
