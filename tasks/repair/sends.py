"""Breaches between the outbox and the reply stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final, cast
from uuid import UUID

from db.connection import Connection
from db.repair import finding, fixing
from db.repair.finding import SentReply, StoredReply
from db.repair.model import Breach, FoundBreach
from tasks.repair import marks, retry
from tasks.repair.context import RepairContext
from tasks.repair.marks import PAGE, Emptied
from tasks.sending.once_stream import marks_of
from tasks.sending.replies import mark_sent, reply_mark
from tasks.shards.backlog import load_layout
from tasks.shards.clients import LuaScript

REMOVE: Final = """#!lua flags=allow-oom
-- KEYS[1] stream; ARGV[1] further entry, ARGV[2] earlier entry. Returns 1 when the further entry was deleted.
if #redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2]) == 0 then return 0 end
return redis.call('XDEL', KEYS[1], ARGV[1])
"""


async def replies_sent_unmarked(context: RepairContext) -> list[FoundBreach]:
    """Replies on the stream that the outbox counts as waiting."""
    waiting = await finding.waiting_replies(context.pool, context.window)
    return [
        FoundBreach(
            breach=Breach.REPLY_SENT_UNMARKED,
            subject=each.decision_id,
            account=each.account,
            found="the reply stream has it, and the outbox counts it as waiting",
        )
        for each, sent in zip(waiting, await _are_sent(context, waiting), strict=True)
        if sent
    ][: context.limit]


async def replies_not_on_stream(context: RepairContext) -> list[FoundBreach]:
    """Replies that the outbox counts as delivered, and that Redis has lost."""
    lost, _ = await lost_replies(context)
    return [
        FoundBreach(
            breach=Breach.REPLY_NOT_ON_STREAM,
            subject=each.decision_id,
            account=each.account,
            found="the outbox counts it as delivered, and Redis has no mark of its sending",
        )
        for each in lost
    ][: context.limit]


async def lost_replies(context: RepairContext) -> tuple[list[SentReply], Emptied | None]:
    """Delivered replies without a mark, and whether Redis came back empty: replies of before are left out."""
    delivered = await finding.delivered_replies(context.pool, marks.window_of_marks(context))
    found = await _are_sent(context, delivered)
    return await marks.without_emptied(context, context.settings.reply_stream, delivered, found)


async def sent_twice(context: RepairContext) -> list[FoundBreach]:
    """Further entries of an outgoing stream with the id of an earlier one."""
    return [
        FoundBreach(
            breach=Breach.SENT_TWICE,
            subject=f"{name} {further}",
            found=f"a further entry of {mark}, which is {earlier}",
        )
        for name in sorted(set(_outgoing_streams(context)))
        async for further, earlier, mark in _further_entries(context, name)
    ][: context.limit]


async def lost_retries(context: RepairContext, *, letter: str | None = None) -> list[FoundBreach]:
    """Dead letters that were published again, whose new entry has no ending and is not in the stream.

    Of all dead letters, or of one.
    """
    layout = await load_layout(context.redis, context.settings.stream)
    retries = await finding.unfinished_retries(context.pool, context.window, letter=letter)
    found = []
    for entry_id, made in retries.items():
        place, made_id = layout.place_of(made)
        if not await context.redis.xrange(place.key, made_id, made_id):
            text = f"it was published again as {made}, which has no ending and is not in the stream"
            found.append(FoundBreach(breach=Breach.RETRY_LOST, subject=entry_id, found=text))
    return found


async def mark_all_sent(context: RepairContext, found: Sequence[FoundBreach]) -> frozenset[str]:
    """Record these replies as delivered, as a relay does; which of them were on the stream and unmarked."""
    named = {UUID(each.subject): each for each in found}
    done: set[UUID] = set()

    async def recorded(connection: Connection, decision_id: UUID) -> None:
        await fixing.log_within(connection, named[decision_id], context.person)

    decisions = list(named)
    for first in range(0, len(decisions), PAGE):
        done |= await mark_sent(
            context.pool,
            context.redis,
            stream=context.settings.reply_stream,
            now=context.now,
            decisions=decisions[first : first + PAGE],
            recorded=recorded,
        )
    return frozenset(map(str, done))


async def send_again(context: RepairContext, each: FoundBreach) -> bool:
    """Let the relays send a reply that Redis has lost, unless Redis has the reply again."""

    async def is_lost() -> bool:
        named = await finding.named_reply(context.pool, each.subject)
        return await _are_sent(context, named) == [False]

    since = marks.window_of_marks(context).since
    return await fixing.fix(context.pool, each, is_lost, person=context.person, since=since)


async def remove_further_entries(context: RepairContext, found: Sequence[FoundBreach]) -> frozenset[str]:
    """Delete further entries from their streams, while the earlier one is there; which were deleted."""
    named = {each.subject: each for each in found}
    remove, done = LuaScript(context.redis, REMOVE), set[str]()
    for name in set(_outgoing_streams(context)):
        async for further, earlier, _ in _further_entries(context, name):
            subject = f"{name} {further}"
            if subject in named:
                await fixing.log_repair(context.pool, named[subject], context.person)
                if await remove(keys=[name], args=[further, earlier]):
                    done.add(subject)
    return frozenset(done)


async def allow_retry(context: RepairContext, each: FoundBreach) -> bool:
    """Let a dead letter be published again, unless its entry was found or the letter was published anew."""

    async def is_lost() -> bool:
        if not await lost_retries(context, letter=each.subject):
            return False
        await retry.forget(context.redis, context.settings.stream, each.subject)
        return True

    return await fixing.fix(context.pool, each, is_lost, person=context.person, since=context.since)


def _outgoing_streams(context: RepairContext) -> tuple[str, ...]:
    settings = context.settings
    return settings.reply_stream, settings.retraction_stream, settings.escalation_stream


async def _are_sent(context: RepairContext, replies: Sequence[StoredReply]) -> list[bool]:
    """Whether each reply was put on the stream."""
    start = marks_of(context.settings.reply_stream)
    keys = [start + reply_mark(each.account, each.event_id) for each in replies]
    return await marks.existing(context.redis, keys)


async def _further_entries(context: RepairContext, name: str) -> AsyncIterator[tuple[str, str, str]]:
    """Each further entry of a stream with the same id: its entry, the earlier entry, and the id."""
    seen: dict[bytes, str] = {}
    async for entry_id, fields in _entries(context, name):
        mark = fields.get(b"ce_id")
        if mark is None:
            continue
        if mark in seen:
            yield entry_id, seen[mark], mark.decode(errors="replace")
        seen.setdefault(mark, entry_id)


async def _entries(context: RepairContext, name: str) -> AsyncIterator[tuple[str, dict[bytes, bytes]]]:
    start = "-"
    while True:
        rows = cast(
            "list[tuple[bytes, dict[bytes, bytes]]]",
            await context.redis.xrange(name, start, "+", count=PAGE),
        )
        for entry_id, fields in rows:
            yield entry_id.decode(), fields
        if len(rows) < PAGE:
            return
        start = f"({rows[-1][0].decode()}"
