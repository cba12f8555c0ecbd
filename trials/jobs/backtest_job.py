"""A backtest: the decisions of a range made again with changed settings, by several processes."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from db.identifiers import uuid_at
from db.pool import Pool, create_pool
from trials.pure.replay.difference import DifferenceKind
from trials.store.backtest_examples import changed_settings
from trials.store.backtests import Backtest, next_chunk, reviewed_states, store_progress
from trials.store.recordings import load_decisions
from trials.store.replaying import ReplayedDecision, Replayer, ReplayState
from worker.model import DecisionKind

CHUNK: Final = 1000
"""Decisions of one process between two stored positions."""
EXAMPLES: Final = 8
"""Of each group that changed."""
KEPT: Final = frozenset({*DifferenceKind, ReplayState.NEEDS_ANSWERS}) - {DifferenceKind.UNCHANGED}
"""Groups whose decisions may become examples and are counted by their reviews."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkWork:
    """What a process makes again.

    Attributes:
        full: decide every one again, without shortcuts; for comparison.
    """

    url: str
    ids: tuple[UUID, ...]
    user_id: str
    base_version: int
    changes: Mapping[str, Any]
    full: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A decision that ends otherwise, or needs answers; without texts."""

    decision_id: UUID
    group: str
    why: str
    before: str
    after: str
    usd: float = 0.0
    waits: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkResult:
    """The groups of a chunk's decisions, and those that changed."""

    groups: Mapping[str, int]
    changed: tuple[Changed, ...]


async def run_backtest(
    source: Pool,
    url: str,
    found: Backtest,
    *,
    now: Callable[[], datetime],
    processes: int = 2,
    full: bool = False,
    ids: Sequence[UUID] | None = None,
    progress: Callable[[Backtest], None] = lambda _: None,
) -> Backtest:
    """Count until all decisions of the range are counted; a later run continues after the last chunk.

    With ``ids`` of ``backtest_of_ids``: count these decisions, and store nothing.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=processes, mp_context=context) as pool:
        while chunk := await _next_ids(source, found, ids, CHUNK * processes):
            works = [
                ChunkWork(
                    url=url, ids=chunk[start::processes], user_id=found.user_id,
                    base_version=found.base_version, changes=found.changes, full=full,
                )
                for start in range(min(processes, len(chunk)))
            ]  # fmt: skip
            loop = asyncio.get_running_loop()
            results = await asyncio.gather(*(loop.run_in_executor(pool, made_again, each) for each in works))
            found = await _counted(source, found, chunk, results)
            if ids is None:
                await store_progress(source, found)
            progress(found)
    found = replace(found, finished_at=now())
    if ids is None:
        await store_progress(source, found)
    return found


def backtest_of_ids(
    user_id: str,
    ids: Sequence[UUID],
    *,
    base_version: int,
    changes: Mapping[str, Any],
    since: datetime,
    until: datetime,
    created_by: str,
) -> Backtest:
    """A backtest of chosen decisions of an account; it is not stored."""
    return Backtest(
        backtest_id=uuid_at(until),
        user_id=user_id,
        base_version=base_version,
        changes=changes,
        since=since,
        until=until,
        total=len(ids),
        done=0,
        position=None,
        created_by=created_by,
        created_at=until,
    )


async def _next_ids(source: Pool, found: Backtest, ids: Sequence[UUID] | None, most: int) -> tuple[UUID, ...]:
    if ids is None:
        return await next_chunk(source, found, most)
    return tuple(ids[found.done : found.done + most])


def made_again(work: ChunkWork) -> ChunkResult:
    """A chunk in a process of its own."""
    return asyncio.run(_made_again(work))


async def _made_again(work: ChunkWork) -> ChunkResult:
    async with create_pool(work.url, size=1, application="hushgate-backtest", role=None) as source:
        account = await changed_settings(source, work.user_id, work.base_version, work.changes)
        replayer = Replayer(source=source, candidates={work.user_id: account})
        groups: Counter[str] = Counter()
        kept: list[Changed] = []
        for stored in await load_decisions(source, work.ids, light=True):
            group, made = await replayer.group_of(stored, full=work.full)
            groups[group] += 1
            if made is not None and group in KEPT:
                kept.append(_changed(made, group))
    return ChunkResult(groups=groups, changed=tuple(kept))


def _changed(made: ReplayedDecision, group: str) -> Changed:
    before, after = made.stored.outcome, made.difference.after if made.difference else None
    waits = 0
    if after is not None:
        waits = (after.kind == DecisionKind.ESCALATE) - (before.kind == DecisionKind.ESCALATE)
    return Changed(
        decision_id=made.stored.decision_id,
        group=group,
        why=made.difference.why if made.difference else made.why,
        before=before.reason_code,
        after=after.reason_code if after else "",
        usd=made.stored.usd,
        waits=waits,
    )


async def _counted(
    source: Pool, found: Backtest, ids: Sequence[UUID], results: Iterable[ChunkResult]
) -> Backtest:
    """The backtest with a chunk's groups."""
    parts = list(results)
    others = [each for part in parts for each in part.changed]
    states = await reviewed_states(source, [each.decision_id for each in others]) if others else {}
    counts = Counter({name: number for name, number in found.counts.items() if name != "usd"})
    for part in parts:
        counts.update(part.groups)
    for each in others:
        counts["waits"] += each.waits
        if (state := states.get(each.decision_id)) is not None:
            counts[f"{each.group}.{state}"] += 1
    usd = float(found.counts.get("usd", 0.0)) + sum(
        each.usd for each in others if each.group == ReplayState.NEEDS_ANSWERS
    )
    return replace(
        found,
        done=found.done + len(ids),
        position=ids[-1],
        counts={**counts, "usd": usd},
        examples=_examples(found.examples, others),
    )


def _examples(known: Sequence[Mapping[str, Any]], others: Iterable[Changed]) -> list[Mapping[str, Any]]:
    shown, numbers = list(known), Counter(each["group"] for each in known)
    for each in others:
        if numbers[each.group] < EXAMPLES:
            numbers[each.group] += 1
            shown.append(
                {
                    "decision_id": str(each.decision_id),
                    "group": each.group,
                    "before": each.before,
                    "after": each.after,
                }
            )
    return shown
