"""Every kind of breach: how to find and repair breaches of the kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import structlog

from db.outgoing.events import OutgoingEventType
from db.repair import finding, fixing
from db.repair.finding import SentEvent, count_ended
from db.repair.model import Breach, FoundBreach
from tasks.repair import lanes, marks, sends
from tasks.repair.context import RepairContext
from tasks.sending.escalations import entry_mark
from tasks.sending.once_stream import marks_of
from tasks.shards.backlog import backlog, load_layout
from tasks.shards.clients import LuaScript
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


ADD: Final = """#!lua flags=allow-oom
-- KEYS[1] stream; ARGV[1] entries to add to the count of those ever added.
local info, found = redis.call('XINFO', 'STREAM', KEYS[1]), {}
for i = 1, #info, 2 do found[info[i]] = info[i + 1] end
redis.call('XSETID', KEYS[1], found['last-generated-id'], 'ENTRIESADDED', found['entries-added'] + ARGV[1],
           'MAXDELETEDID', found['max-deleted-entry-id'])
return 1
"""


async def entries_uncounted(context: RepairContext) -> list[FoundBreach]:
    """More endings than entries: Redis lost its last writes, and the entries in them were decided."""
    short = await _uncounted(context)
    words = f"{short} entries have an ending, and the stream does not count them"
    return [_finding(context, Breach.ENTRIES_UNCOUNTED, words)] if short > 0 else []


async def endings_missing(context: RepairContext) -> list[FoundBreach]:
    """Entries that left the stream, and have no ending."""
    lost = await _missing(context)
    words = f"{lost} entries left the stream and have no decision, duplicate or dead letter"
    return [_finding(context, Breach.ENDINGS_MISSING, words)] if lost > 0 else []


async def count_entries(context: RepairContext, each: FoundBreach) -> bool:
    """Add to the stream's count what its endings prove."""
    async with fixing.sums_locked(context.pool):
        short = await _uncounted(context)
        if short <= 0:
            return False
        await fixing.log_repair(context.pool, each, context.person)
        layout = await load_layout(context.redis, context.settings.stream)
        first = layout.current()[0].name
        return bool(await LuaScript(context.redis, ADD)(keys=[first], args=[str(short)]))


async def count_lost(context: RepairContext, each: FoundBreach) -> bool:
    """Count the entries as lost, so that the conservation check finds the next ones."""

    async def missing() -> int:
        return await _missing(context)

    return await fixing.count_lost(context.pool, each, missing, person=context.person)


async def _uncounted(context: RepairContext) -> int:
    ended = await count_ended(context.pool)
    return ended - (await _counted(context))["accepted"]  # read after the endings: it only grows


async def _missing(context: RepairContext) -> int:
    before = await _counted(context)
    return before["accepted"] - before["unfinished"] - await count_ended(context.pool)


async def _counted(context: RepairContext) -> dict[str, int]:
    return await backlog(context.redis, context.settings.stream)


def _finding(context: RepairContext, breach: Breach, words: str) -> FoundBreach:
    return FoundBreach(breach=breach, subject=context.settings.stream, found=words)


log = structlog.get_logger(__name__)

Find: TypeAlias = Callable[[RepairContext], Awaitable[list[FoundBreach]]]
Fix: TypeAlias = Callable[[RepairContext, Sequence[FoundBreach]], Awaitable[frozenset[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of breach.

    Attributes:
        repair: what ``fix`` does, as a sentence; without ``fix``, what a person can do.
        fix: repairs findings that are still there; returns the subjects of the repaired findings.
    """

    breach: Breach
    repair: str
    find: Find
    fix: Fix | None


def _each(change: Callable[[RepairContext, FoundBreach], Awaitable[bool]]) -> Fix:
    async def fix(context: RepairContext, found: Sequence[FoundBreach]) -> frozenset[str]:
        return frozenset([each.subject for each in found if await change(context, each)])

    return fix


async def _restore(context: RepairContext, each: FoundBreach) -> bool:
    await fixing.log_repair(context.pool, each, context.person)
    return await lanes.restore(context, each)


def _of_lanes(breach: Breach, find: Find, repair: str) -> Kind:
    return Kind(breach=breach, repair=repair, find=find, fix=_each(_restore))


KINDS: Final = (
    _of_lanes(Breach.ENTRY_IN_NO_LANE, lanes.entries_in_no_lane, "put it into its lane; a worker decides it"),
    _of_lanes(
        Breach.ENTRY_MISSING,
        lanes.entries_missing,
        "forget it: its payload is gone; publish the event again from its source",
    ),
    _of_lanes(
        Breach.LANE_NOT_QUEUED,
        lambda context: lanes.broken_lanes(context, Breach.LANE_NOT_QUEUED),
        "put the lane into the queue",
    ),
    _of_lanes(
        Breach.LANE_OF_LOST_WORKER,
        lambda context: lanes.broken_lanes(context, Breach.LANE_OF_LOST_WORKER),
        "take the lane from the worker and put it into the queue",
    ),
    Kind(
        breach=Breach.EVENT_DECIDED_TWICE,
        repair="the audit is append-only: review both decisions, and take the wrong reply back",
        find=lambda context: finding.events_decided_twice(context.pool, context.window),
        fix=None,
    ),
    Kind(
        breach=Breach.REPLY_SENT_UNMARKED,
        repair="record it as delivered; nothing is sent",
        find=sends.replies_sent_unmarked,
        fix=sends.mark_all_sent,
    ),
    Kind(
        breach=Breach.REPLY_NOT_ON_STREAM,
        repair="let the relay send it, unless it is too late by now",
        find=sends.replies_not_on_stream,
        fix=_each(sends.send_again),
    ),
    Kind(
        breach=Breach.OUTGOING_NOT_ON_STREAM,
        repair="let the relays put it on its stream; webhooks are not repeated",
        find=outgoing_not_on_stream,
        fix=_each(send_again),
    ),
    Kind(
        breach=Breach.SENT_TWICE,
        repair="delete the later entry from the stream; a reader that has read it must compare the key",
        find=sends.sent_twice,
        fix=sends.remove_further_entries,
    ),
    Kind(
        breach=Breach.RETRY_LOST,
        repair="let it be published again",
        find=sends.lost_retries,
        fix=_each(sends.allow_retry),
    ),
    Kind(
        breach=Breach.ENTRIES_UNCOUNTED,
        repair="add them to the stream's count",
        find=entries_uncounted,
        fix=_each(count_entries),
    ),
    Kind(
        breach=Breach.ENDINGS_MISSING,
        repair="publish the events again from their source, then count these entries as lost",
        find=endings_missing,
        fix=_each(count_lost),
    ),
)
"""In the order in which they are repaired best: first what workers still have to decide."""
SUMS: Final = frozenset({Breach.ENTRIES_UNCOUNTED, Breach.ENDINGS_MISSING})
"""Kinds that name no entry; most other breaches change these sums too."""
BESIDE_SUMS: Final = frozenset({Breach.REPLY_NOT_ON_STREAM, Breach.OUTGOING_NOT_ON_STREAM})
"""Kinds that change no sum: nothing has to be sent before a sum can be repaired."""
BY_NAME: Final = {kind.breach: kind for kind in KINDS}


async def find_all(context: RepairContext, kinds: Sequence[Kind] = KINDS) -> list[FoundBreach]:
    """Every breach of these kinds; sums are checked when no other breach explains a difference."""
    found = [each for kind in kinds if kind.breach not in SUMS for each in await kind.find(context)]
    if any(each.breach not in BESIDE_SUMS for each in found):
        return found
    return found + [each for kind in kinds if kind.breach in SUMS for each in await kind.find(context)]


async def repair(context: RepairContext, kind: Kind, found: Sequence[FoundBreach]) -> frozenset[str]:
    """Repair findings of one kind; the subjects of the findings that were still there."""
    if kind.fix is None:
        return frozenset()
    done = await kind.fix(context, found)
    for each in found:
        if each.subject in done:
            log.warning("breach_repaired", breach=each.breach.value, subject=each.subject)
    return done
