"""A backtest: the decisions of a range made again with changed settings, by several processes."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from db.customer_feedback.reading import called_wrong
from db.pool import Pool
from trials.jobs.batch import BatchFound, TrialBatch, decide_batch
from trials.pure.replay.groups import ReplayState
from trials.pure.trial import Trial
from trials.store.candidates import TrialRefused
from trials.store.differences import TrialDifference, reviewed_states
from trials.store.progress import (
    TrialPosition,
    TrialProgress,
    advanced,
    finish_trial,
    next_decisions,
    store_progress,
)

CHUNK: Final = 1000
"""Decisions of one process between two stored positions."""
EXAMPLES: Final = 8
"""Examples of each group that changed."""


async def run_backtest(
    source: Pool,
    url: str,
    trial: Trial,
    *,
    now: Callable[[], datetime],
    processes: int = 2,
    full: bool = False,
    ids: Sequence[UUID] | None = None,
    progress: Callable[[Trial], None] = lambda _: None,
) -> Trial:
    """Count until all decisions of the range are counted; a later run continues after the last chunk.

    With ``ids``: count these decisions, and store nothing.

    Raises:
        TrialRefused: another run counts the same backtest.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, initializer=_end_at_once) as pool:
        while positions := await _next_positions(source, trial, ids, CHUNK * processes):
            chunk = [each.decision_id for each in positions]
            works = [
                TrialBatch(
                    url=url, ids=tuple(chunk[start::processes]), user_id=trial.user_id,
                    base_version=trial.base_version, changes=trial.changes, full=full,
                )
                for start in range(min(processes, len(chunk)))
            ]  # fmt: skip
            loop = asyncio.get_running_loop()
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # and in what starts here
            calls = [loop.run_in_executor(pool, decide_batch, each) for each in works]
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            parts = await asyncio.gather(*calls)
            done, today = await _counted(source, trial, positions, parts), now().date()
            moved = await store_progress(source, trial, done, today) if ids is None else None
            if ids is None and moved is None:
                raise TrialRefused(f"backtest: expected the only run of {trial.trial_id}, got a second")
            trial = moved or advanced(trial, done, today)
            progress(trial)
    return trial if ids is not None else await finish_trial(source, trial, now())


def _end_at_once() -> None:
    """Let Ctrl-C end a process that starts or decides, without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


async def _next_positions(
    source: Pool, trial: Trial, ids: Sequence[UUID] | None, most: int
) -> Sequence[TrialPosition]:
    if ids is None:
        assert trial.until is not None  # a backtest of a range
        return await next_decisions(source, trial, before=trial.until, most=most)
    return [
        TrialPosition(at=trial.reached_at, decision_id=each) for each in ids[trial.done : trial.done + most]
    ]


async def _counted(
    source: Pool, trial: Trial, positions: Sequence[TrialPosition], parts: Iterable[BatchFound]
) -> TrialProgress:
    """The groups of a chunk; ``waits``, ``usd`` of new answers, and what people said as ``GROUP.agree``."""
    counts: Counter[str] = Counter()
    others: list[TrialDifference] = []
    for part in parts:
        counts.update(part.counts)
        others += part.differences
    ids = [each.decision_id for each in others]
    states = await reviewed_states(source, ids) if ids else {}
    wrong = await called_wrong(source, ids) if ids else frozenset()
    for each in others:
        counts["waits"] += each.waits
        if each.decision_id in wrong:
            counts[f"{each.kind}.wrong"] += 1
        if (state := states.get(each.decision_id)) is not None:
            counts[f"{each.kind}.{state}"] += 1
    usd = sum(each.usd for each in others if each.kind == ReplayState.NEEDS_ANSWERS)
    return TrialProgress(
        to=positions[-1],
        counts={**counts, "usd": usd},
        seen=len(positions),
        examples=_examples(trial.examples, others),
    )


def _examples(
    known: Sequence[Mapping[str, Any]], others: Iterable[TrialDifference]
) -> list[Mapping[str, Any]]:
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
