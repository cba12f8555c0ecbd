"""Every kind of breach: how to find and repair breaches of the kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import structlog

from db.repair import finding, fixing
from db.repair.model import Breach, FoundBreach
from tasks.repair import counts, lanes, outgoing, sends
from tasks.repair.context import RepairContext

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
        find=outgoing.outgoing_not_on_stream,
        fix=_each(outgoing.send_again),
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
        find=counts.entries_uncounted,
        fix=_each(counts.count_entries),
    ),
    Kind(
        breach=Breach.ENDINGS_MISSING,
        repair="publish the events again from their source, then count these entries as lost",
        find=counts.endings_missing,
        fix=_each(counts.count_lost),
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
