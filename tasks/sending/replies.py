"""Replies to the reply stream: approved outbox rows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog
from redis.asyncio import Redis

from db import outbox
from db.connection import Connection
from db.outbox import WaitingReply, WereSent
from db.outgoing.locked_batch import LockedBatch
from db.pool import Pool
from tasks.sending.entry_types import REPLY, ReplyEntry
from tasks.sending.once_stream import Lease, OnceStream, OutgoingEntry
from tasks.sending.relay import RelayedRows, send_waiting
from worker.model import Scope
from worker.webhooks.signing import message_id
from worker.webhooks.types import WebhookType

log = structlog.get_logger(__name__)


async def mark_sent(
    pool: Pool,
    redis: Redis,
    *,
    stream: str,
    now: datetime,
    decisions: Sequence[UUID],
    recorded: Callable[[Connection, UUID], Awaitable[None]],
) -> frozenset[UUID]:
    """Record the replies of these decisions that are on the stream as delivered, without sending a reply.

    Returns the decisions whose replies were recorded: none while another relay acts. ``recorded`` is called
    with each of them in the same transaction.
    """
    marked: set[UUID] = set()

    @asynccontextmanager
    async def named(lease: Lease) -> AsyncIterator[LockedBatch[WaitingReply] | None]:
        async with outbox.record_sent(pool, decisions, now, _were_sent(lease)) as batch:
            if batch is None:
                yield None
                return
            for row in batch.sent_before:
                await recorded(batch.connection, row.decision_id)
            yield batch
        marked.update(row.decision_id for row in batch.sent_before)

    await send_waiting(OnceStream(redis, stream), REPLY_ROWS, named, lambda: now, set())
    return frozenset(marked)


def _waiting(
    pool: Pool, limit: int, now: datetime, lease: Lease
) -> AbstractAsyncContextManager[LockedBatch[WaitingReply] | None]:
    return outbox.waiting_replies(pool, limit, now, _were_sent(lease))


def reply_mark(user_id: str, event_id: str) -> str:
    """The id of an event's reply within the reply stream: the same for every decision on the event.

    Postgres may come back without a decision whose reply was sent, and the event is then decided again.
    """
    return message_id(user_id, WebhookType.REPLY_CREATED, event_id)


def _were_sent(lease: Lease) -> WereSent:
    async def sent(events: Sequence[tuple[str, str]]) -> list[UUID | None] | None:
        found = await lease.sent([reply_mark(*each) for each in events])
        return None if found is None else [UUID(each) if each else None for each in found]

    return sent


def _entry(reply: WaitingReply) -> OutgoingEntry:
    body = ReplyEntry(
        event_id=reply.event_id,
        user_id=reply.user_id,
        decision_id=str(reply.decision_id),
        conversation_id=reply.conversation_id,
        message_id=reply.message_id,
        scope=Scope(reply.scope),
        text=f"{reply.disclosure}\n\n{reply.text}" if reply.disclosure else reply.text,
        disclosure=reply.disclosure,
        ai_generated=reply.ai_generated,
        handoff=reply.handoff,
        sources=reply.sources,
        created_at=reply.created_at.isoformat(),
        **reply.metadata,
    )
    mark = reply_mark(reply.user_id, reply.event_id)
    return REPLY.entry(body, mark=mark, at=body.created_at)


REPLY_ROWS: Final[RelayedRows[WaitingReply]] = RelayedRows(
    waiting=_waiting,
    entry=_entry,
    log_sent=lambda row: log.info("reply_delivered", event_id=row.event_id, decision_id=str(row.decision_id)),
    log_postponed=lambda error: log.warning("delivery_postponed", error=error),
    look_s=2.0,
    webhook=(WebhookType.REPLY_CREATED, lambda row: row.event_id),
    is_subscribed=lambda row: row.is_subscribed,
    withdrawn=lambda row: row.withdrawn,
)
