"""Breaches between the outbox and the reply stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Final, cast

from db.repair import finding, fixing
from db.repair.model import Breach, FoundBreach
from tasks.once_stream import marks_of
from tasks.relay import mark_sent
from tasks.repair import marks, retry
from tasks.repair.context import RepairContext
from tasks.repair.marks import PAGE
from tasks.shards.backlog import load_layout

MOST_WAITING: Final = 100_000


async def replies_sent_unmarked(context: RepairContext) -> list[FoundBreach]:
    """Replies on the stream that the outbox counts as waiting."""
    waiting = await finding.waiting_replies(context.pool, context.window)
    return [
        FoundBreach(
            breach=Breach.REPLY_SENT_UNMARKED,
            subject=decision_id,
            account=waiting[decision_id],
            found="the reply stream has it, and the outbox counts it as waiting",
        )
        for decision_id, sent in await _marks(context, list(waiting))
        if sent
    ][: context.limit]


async def replies_not_on_stream(context: RepairContext) -> list[FoundBreach]:
    """Replies that the outbox counts as delivered, and that Redis has lost."""
    delivered = await finding.delivered_replies(context.pool, marks.window_of_marks(context))
    return [
        FoundBreach(
            breach=Breach.REPLY_NOT_ON_STREAM,
            subject=decision_id,
            account=delivered[decision_id],
            found="the outbox counts it as delivered, and Redis has no mark of its sending",
        )
        for decision_id, sent in await _marks(context, list(delivered))
        if not sent
    ][: context.limit]


async def sent_twice(context: RepairContext) -> list[FoundBreach]:
    """Further entries of an outgoing stream with the id of an earlier one."""
    found: list[FoundBreach] = []
    for name in sorted(set(_outgoing_streams(context))):
        seen: dict[bytes, str] = {}
        async for entry_id, fields in _entries(context, name):
            mark = fields.get(b"ce_id")
            if mark is None:
                continue
            if mark in seen:
                text = f"a further entry of {mark.decode()}, which is {seen[mark]}"
                found.append(FoundBreach(breach=Breach.SENT_TWICE, subject=f"{name} {entry_id}", found=text))
            seen.setdefault(mark, entry_id)
    return found[: context.limit]


async def lost_retries(context: RepairContext) -> list[FoundBreach]:
    """Dead letters that were published again, whose new entry has no ending and is not in the stream."""
    layout = await load_layout(context.redis, context.settings.stream)
    found = []
    for letter, made in (await finding.unfinished_retries(context.pool, context.window)).items():
        place, entry_id = layout.place_of(made)
        if not await context.redis.xrange(place.key, entry_id, entry_id):
            text = f"it was published again as {made}, which has no ending and is not in the stream"
            found.append(FoundBreach(breach=Breach.RETRY_LOST, subject=letter, found=text))
    return found


async def mark_all_sent(context: RepairContext, found: Sequence[FoundBreach]) -> frozenset[str]:
    """Record the replies as delivered, as a relay does; which of them were still unmarked."""
    before = {each.subject for each in await replies_sent_unmarked(context)}
    wrong = [each for each in found if each.subject in before]
    for each in wrong:
        await fixing.log_repair(context.pool, each, context.person)
    stream = context.settings.reply_stream
    await mark_sent(context.pool, context.redis, stream=stream, now=context.now, limit=MOST_WAITING)
    left = {each.subject for each in await replies_sent_unmarked(context)}
    return frozenset(each.subject for each in wrong if each.subject not in left)


async def send_again(context: RepairContext, each: FoundBreach) -> bool:
    """Let the relays send a reply that Redis has lost, unless it is there again."""
    if await _is_sent(context, each.subject):
        return False
    return await fixing.fix(
        context.pool, each, person=context.person, since=context.since - timedelta(days=1), now=context.now
    )


async def store_reply(context: RepairContext, each: FoundBreach) -> bool:
    """Store the missing row of a reply: delivered when the stream has it, else cancelled and never sent."""
    sent = await _is_sent(context, each.subject)
    return await fixing.fix(
        context.pool, each, person=context.person, since=context.since, now=context.now, sent=sent
    )


async def remove_further_entry(context: RepairContext, each: FoundBreach) -> bool:
    """Delete a further entry from its stream."""
    await fixing.log_repair(context.pool, each, context.person)
    name, _, entry_id = each.subject.rpartition(" ")
    return bool(await context.redis.xdel(name, entry_id))


async def allow_retry(context: RepairContext, each: FoundBreach) -> bool:
    """Let a dead letter be published again."""
    await retry.forget(context.redis, context.settings.stream, each.subject)
    return await fixing.fix(context.pool, each, person=context.person, since=context.since, now=context.now)


def _outgoing_streams(context: RepairContext) -> tuple[str, ...]:
    settings = context.settings
    return settings.reply_stream, settings.retraction_stream, settings.escalation_stream


async def _is_sent(context: RepairContext, decision_id: str) -> bool:
    ((_, sent),) = await _marks(context, [decision_id])
    return sent


async def _marks(context: RepairContext, decisions: Sequence[str]) -> list[tuple[str, bool]]:
    """Of each decision whether its reply was put on the stream."""
    start = marks_of(context.settings.reply_stream)
    found = await marks.existing(context.redis, [start + decision_id for decision_id in decisions])
    return list(zip(decisions, found, strict=True))


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
