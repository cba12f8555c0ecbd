"""A backtest: the decisions of a range made again with changed settings, by several processes."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from db.identifiers import uuid_at
from db.pool import Pool
from trials.jobs.batch import BatchFound, TrialBatch, decide_batch
from trials.pure.replay.groups import ReplayState
from trials.store.backtests import Backtest, next_chunk, reviewed_states, store_progress
from trials.store.findings import TrialFinding

CHUNK: Final = 1000
"""Decisions of one process between two stored positions."""
EXAMPLES: Final = 8
"""Of each group that changed."""


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
                TrialBatch(
                    url=url, ids=chunk[start::processes], user_id=found.user_id,
                    base_version=found.base_version, changes=found.changes, full=full,
                )
                for start in range(min(processes, len(chunk)))
            ]  # fmt: skip
            loop = asyncio.get_running_loop()
            results = await asyncio.gather(
                *(loop.run_in_executor(pool, decide_batch, each) for each in works)
            )
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
    now: datetime,
    created_by: str,
) -> Backtest:
    """A backtest of chosen decisions of an account: it is not stored, and has no range."""
    return Backtest(
        backtest_id=uuid_at(now),
        user_id=user_id,
        base_version=base_version,
        changes=changes,
        since=now,
        until=now,
        total=len(ids),
        done=0,
        position=None,
        created_by=created_by,
        created_at=now,
    )


async def _next_ids(source: Pool, found: Backtest, ids: Sequence[UUID] | None, most: int) -> tuple[UUID, ...]:
    if ids is None:
        return await next_chunk(source, found, most)
    return tuple(ids[found.done : found.done + most])


async def _counted(
    source: Pool, found: Backtest, ids: Sequence[UUID], results: Iterable[BatchFound]
) -> Backtest:
    """The backtest with a chunk's groups."""
    parts = list(results)
    others = [each for part in parts for each in part.findings]
    states = await reviewed_states(source, [each.decision_id for each in others]) if others else {}
    counts = Counter({name: number for name, number in found.counts.items() if name != "usd"})
    for part in parts:
        counts.update(part.counts)
    for each in others:
        counts["waits"] += each.waits
        if (state := states.get(each.decision_id)) is not None:
            counts[f"{each.kind}.{state}"] += 1
    usd = float(found.counts.get("usd", 0.0)) + sum(
        each.usd for each in others if each.kind == ReplayState.NEEDS_ANSWERS
    )
    return replace(
        found,
        done=found.done + len(ids),
        position=ids[-1],
        counts={**counts, "usd": usd},
        examples=_examples(found.examples, others),
    )


def _examples(known: Sequence[Mapping[str, Any]], others: Iterable[TrialFinding]) -> list[Mapping[str, Any]]:
    shown, numbers = list(known), Counter(each["group"] for each in known)
    for each in others:
        if numbers[each.kind] < EXAMPLES:
            numbers[each.kind] += 1
            shown.append(
                {
                    "decision_id": str(each.decision_id),
                    "group": each.kind,
                    "before": each.before_code,
                    "after": each.reason_code,
                }
            )
    return shown
