"""Breaches between Postgres and the streams of escalations and retractions."""

from __future__ import annotations

from collections.abc import Sequence

from db.outgoing.events import OutgoingEventType
from db.repair import finding, fixing
from db.repair.finding import SentEvent
from db.repair.model import Breach, FoundBreach
from tasks.repair import marks
from tasks.repair.context import RepairContext
from tasks.sending.escalations import entry_mark
from tasks.sending.once_stream import marks_of
from worker.webhooks.types import WebhookType


async def outgoing_not_on_stream(context: RepairContext) -> list[FoundBreach]:
    """Escalations and retractions that Postgres counts as sent, and that Redis has lost; oldest first."""
    sent = await finding.sent_events(context.pool, marks.window_of_marks(context))
    lost = await _lost(context, sent)
    found = [each not in lost for each in sent]
    lost, _ = await marks.without_emptied(context, context.settings.reply_stream, sent, found)
    return [
        FoundBreach(
            breach=Breach.OUTGOING_NOT_ON_STREAM,
            subject=f"{each.type} {each.key}",
            account=each.account,
            found="Postgres counts it as sent, and Redis has no mark of its sending",
        )
        for each in lost
    ][: context.limit]


async def send_again(context: RepairContext, each: FoundBreach) -> bool:
    """Let the relays send a lost entry, unless Redis has the entry again; webhooks are not repeated."""
    event_type, _, key = each.subject.partition(" ")
    sent = SentEvent(type=event_type, key=key, account=each.account or "", sent_at=context.now)

    async def is_lost() -> bool:
        return bool(await _lost(context, [sent]))

    return await fixing.fix(context.pool, each, is_lost, person=context.person, since=context.since)


async def _lost(context: RepairContext, sent: Sequence[SentEvent]) -> list[SentEvent]:
    """Events without a mark, without openings whose closing is on the stream: they would seem open again."""
    own = await marks.existing(context.redis, [_mark_key(context, each.type, each.key) for each in sent])
    lost = [each for each, is_there in zip(sent, own, strict=True) if not is_there]
    closings = [_mark_key(context, OutgoingEventType.ESCALATION_CLOSED, each.key) for each in lost]
    closed = await marks.existing(context.redis, closings)
    return [each for each, is_closed in zip(lost, closed, strict=True) if not is_closed]


def _mark_key(context: RepairContext, event_type: str, key: str) -> str:
    if event_type == WebhookType.REPLY_RETRACTED:
        return marks_of(context.settings.retraction_stream) + key
    return marks_of(context.settings.escalation_stream) + entry_mark(key, event_type)
