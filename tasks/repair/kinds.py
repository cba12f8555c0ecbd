"""Every kind of breach: how it is found, and how it is put right."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import structlog

from db.repair import finding, fixing
from db.repair.model import Breach, FoundBreach
from tasks.repair import counts, lanes, outgoing, sends
from tasks.repair.scene import Scene

log = structlog.get_logger(__name__)

Find: TypeAlias = Callable[[Scene], Awaitable[list[FoundBreach]]]
Fix: TypeAlias = Callable[[Scene, Sequence[FoundBreach]], Awaitable[frozenset[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of breach.

    Attributes:
        repair: what ``fix`` does, as a sentence; where it is None, what a person can do.
        fix: puts findings right that are still there; the subjects of those that it changed.
    """

    breach: Breach
    repair: str
    find: Find
    fix: Fix | None


def _each(change: Callable[[Scene, FoundBreach], Awaitable[bool]]) -> Fix:
    async def fix(scene: Scene, found: Sequence[FoundBreach]) -> frozenset[str]:
        return frozenset([each.subject for each in found if await change(scene, each)])

    return fix


async def _restore(scene: Scene, each: FoundBreach) -> bool:
    await fixing.log_repair(scene.pool, each, scene.person)
    return await lanes.restore(scene, each)


async def _change(scene: Scene, each: FoundBreach) -> bool:
    return await fixing.fix(scene.pool, each, person=scene.person, since=scene.since, now=scene.now)


def _of_lanes(breach: Breach, find: Find, repair: str) -> Kind:
    return Kind(breach=breach, repair=repair, find=find, fix=_each(_restore))


def _query(breach: Breach) -> Find:
    async def find(scene: Scene) -> list[FoundBreach]:
        return await finding.find(scene.pool, breach, scene.window)

    return find


def _stored(breach: Breach, repair: str) -> Kind:
    return Kind(breach=breach, repair=repair, find=_query(breach), fix=_each(_change))


def _between(breach: Breach, find: Find, fix: Fix, repair: str) -> Kind:
    return Kind(breach=breach, repair=repair, find=find, fix=fix)


KINDS: Final = (
    _of_lanes(Breach.ENTRY_IN_NO_LANE, lanes.entries_in_no_lane, "put it into its lane; a worker decides it"),
    _of_lanes(
        Breach.ENTRY_MISSING,
        lanes.entries_missing,
        "forget it: its payload is gone; publish the event again from its source",
    ),
    _of_lanes(Breach.LANE_NOT_QUEUED, lanes.lanes_not_queued, "put the lane into the queue"),
    _of_lanes(
        Breach.LANE_OF_LOST_WORKER,
        lanes.lanes_of_lost_workers,
        "take the lane from the worker and put it into the queue",
    ),
    _of_lanes(Breach.ACCOUNT_MISCOUNTED, lanes.accounts_miscounted, "count its running lanes again"),
    _stored(Breach.ENTRY_ENDED_TWICE, "keep the decision, else the dead letter; delete the other ending"),
    _stored(Breach.DECISION_WITHOUT_KEY, "store the key, so that the event is not decided again"),
    Kind(
        breach=Breach.EVENT_DECIDED_TWICE,
        repair="the audit is append-only: review both decisions, and take the wrong reply back",
        find=_query(Breach.EVENT_DECIDED_TWICE),
        fix=None,
    ),
    Kind(
        breach=Breach.DECISION_WITHOUT_REPLY,
        repair="store the row: delivered when the stream has the reply, else cancelled; nothing is sent",
        find=_query(Breach.DECISION_WITHOUT_REPLY),
        fix=_each(sends.store_reply),
    ),
    _between(
        Breach.REPLY_SENT_UNMARKED,
        sends.replies_sent_unmarked,
        sends.mark_all_sent,
        "record it as delivered; nothing is sent",
    ),
    _between(
        Breach.REPLY_NOT_ON_STREAM,
        sends.replies_not_on_stream,
        _each(sends.send_again),
        "let the relay send it, unless it is too late by now",
    ),
    _between(
        Breach.OUTGOING_NOT_ON_STREAM,
        outgoing.outgoing_not_on_stream,
        _each(outgoing.send_again),
        "let the relays put it on its stream; webhooks are not repeated",
    ),
    _between(
        Breach.SENT_TWICE,
        sends.sent_twice,
        _each(sends.remove_further_entry),
        "delete the later entry from the stream; a reader that has read it must compare the key",
    ),
    _stored(Breach.UNSENT_REPLY_IN_HISTORY, "remove it from the history"),
    _stored(Breach.ORPHANED_HOLD, "delete the held draft, which no page can show"),
    _between(Breach.RETRY_LOST, sends.lost_retries, _each(sends.allow_retry), "let it be published again"),
    _between(
        Breach.ENTRIES_UNCOUNTED,
        counts.entries_uncounted,
        _each(counts.count_entries),
        "add them to the stream's count",
    ),
    _between(
        Breach.ENDINGS_MISSING,
        counts.endings_missing,
        _each(counts.count_lost),
        "publish the events again from their source, then count these entries as lost",
    ),
)
"""In the order in which they are repaired best: first what workers still have to decide."""
SUMS: Final = frozenset({Breach.ENTRIES_UNCOUNTED, Breach.ENDINGS_MISSING})
"""Kinds that name no entry; most other breaches change these sums too."""
BY_NAME: Final = {kind.breach: kind for kind in KINDS}


async def find_all(scene: Scene, kinds: Sequence[Kind] = KINDS) -> list[FoundBreach]:
    """Every breach of these kinds; the sums are looked at when nothing else explains them."""
    found = [each for kind in kinds if kind.breach not in SUMS for each in await kind.find(scene)]
    return found or [each for kind in kinds if kind.breach in SUMS for each in await kind.find(scene)]


async def repair(scene: Scene, kind: Kind, found: Sequence[FoundBreach]) -> frozenset[str]:
    """Put findings of one kind right; the subjects of those that were still there."""
    if kind.fix is None:
        return frozenset()
    done = await kind.fix(scene, found)
    for each in found:
        if each.subject in done:
            log.warning("breach_repaired", breach=each.breach.value, subject=each.subject)
    return done
