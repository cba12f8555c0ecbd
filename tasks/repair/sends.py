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
from tasks.repair.marks import PAGE
from tasks.repair.scene import Scene
from tasks.shards.backlog import load_layout

MOST_WAITING: Final = 100_000


async def replies_sent_unmarked(scene: Scene) -> list[FoundBreach]:
    """Replies on the stream that the outbox counts as waiting."""
    waiting = await finding.waiting_replies(scene.pool, scene.window)
    return [
        FoundBreach(
            breach=Breach.REPLY_SENT_UNMARKED,
            subject=decision_id,
            account=waiting[decision_id],
            found="the reply stream has it, and the outbox counts it as waiting",
        )
        for decision_id, sent in await _marks(scene, list(waiting))
        if sent
    ][: scene.limit]


async def replies_not_on_stream(scene: Scene) -> list[FoundBreach]:
    """Replies that the outbox counts as delivered, and that Redis has lost."""
    delivered = await finding.delivered_replies(scene.pool, marks.window_of_marks(scene))
    return [
        FoundBreach(
            breach=Breach.REPLY_NOT_ON_STREAM,
            subject=decision_id,
            account=delivered[decision_id],
            found="the outbox counts it as delivered, and Redis has no mark of its sending",
        )
        for decision_id, sent in await _marks(scene, list(delivered))
        if not sent
    ][: scene.limit]


async def sent_twice(scene: Scene) -> list[FoundBreach]:
    """Further entries of an outgoing stream with the id of an earlier one."""
    found: list[FoundBreach] = []
    for name in sorted(set(_outgoing_streams(scene))):
        seen: dict[bytes, str] = {}
        async for entry_id, fields in _entries(scene, name):
            mark = fields.get(b"ce_id")
            if mark is None:
                continue
            if mark in seen:
                text = f"a further entry of {mark.decode()}, which is {seen[mark]}"
                found.append(FoundBreach(breach=Breach.SENT_TWICE, subject=f"{name} {entry_id}", found=text))
            seen.setdefault(mark, entry_id)
    return found[: scene.limit]


async def lost_retries(scene: Scene) -> list[FoundBreach]:
    """Dead letters that were published again, whose new entry has no ending and is not in the stream."""
    layout = await load_layout(scene.redis, scene.settings.stream)
    found = []
    for letter, made in (await finding.unfinished_retries(scene.pool, scene.window)).items():
        place, entry_id = layout.place_of(made)
        if not await scene.redis.xrange(place.key, entry_id, entry_id):
            text = f"it was published again as {made}, which has no ending and is not in the stream"
            found.append(FoundBreach(breach=Breach.RETRY_LOST, subject=letter, found=text))
    return found


async def mark_all_sent(scene: Scene, found: Sequence[FoundBreach]) -> frozenset[str]:
    """Record the replies as delivered, as a relay does; which of them were still unmarked."""
    before = {each.subject for each in await replies_sent_unmarked(scene)}
    wrong = [each for each in found if each.subject in before]
    for each in wrong:
        await fixing.log_repair(scene.pool, each, scene.person)
    stream = scene.settings.reply_stream
    await mark_sent(scene.pool, scene.redis, stream=stream, now=scene.now, limit=MOST_WAITING)
    left = {each.subject for each in await replies_sent_unmarked(scene)}
    return frozenset(each.subject for each in wrong if each.subject not in left)


async def send_again(scene: Scene, each: FoundBreach) -> bool:
    """Let the relays send a reply that Redis has lost, unless it is there again."""
    if await _is_sent(scene, each.subject):
        return False
    return await fixing.fix(
        scene.pool, each, person=scene.person, since=scene.since - timedelta(days=1), now=scene.now
    )


async def store_reply(scene: Scene, each: FoundBreach) -> bool:
    """Store the missing row of a reply: delivered when the stream has it, else cancelled and never sent."""
    sent = await _is_sent(scene, each.subject)
    return await fixing.fix(
        scene.pool, each, person=scene.person, since=scene.since, now=scene.now, sent=sent
    )


async def remove_further_entry(scene: Scene, each: FoundBreach) -> bool:
    """Delete a further entry from its stream."""
    await fixing.log_repair(scene.pool, each, scene.person)
    name, _, entry_id = each.subject.rpartition(" ")
    return bool(await scene.redis.xdel(name, entry_id))


async def allow_retry(scene: Scene, each: FoundBreach) -> bool:
    """Let a dead letter be published again."""
    await retry.forget(scene.redis, scene.settings.stream, each.subject)
    return await fixing.fix(scene.pool, each, person=scene.person, since=scene.since, now=scene.now)


def _outgoing_streams(scene: Scene) -> tuple[str, ...]:
    settings = scene.settings
    return settings.reply_stream, settings.retraction_stream, settings.escalation_stream


async def _is_sent(scene: Scene, decision_id: str) -> bool:
    ((_, sent),) = await _marks(scene, [decision_id])
    return sent


async def _marks(scene: Scene, decisions: Sequence[str]) -> list[tuple[str, bool]]:
    """Of each decision whether its reply was put on the stream."""
    start = marks_of(scene.settings.reply_stream)
    found = await marks.existing(scene.redis, [start + decision_id for decision_id in decisions])
    return list(zip(decisions, found, strict=True))


async def _entries(scene: Scene, name: str) -> AsyncIterator[tuple[str, dict[bytes, bytes]]]:
    start = "-"
    while True:
        rows = cast(
            "list[tuple[bytes, dict[bytes, bytes]]]",
            await scene.redis.xrange(name, start, "+", count=PAGE),
        )
        for entry_id, fields in rows:
            yield entry_id.decode(), fields
        if len(rows) < PAGE:
            return
        start = f"({rows[-1][0].decode()}"
