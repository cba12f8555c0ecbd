"""Backtests with shortcuts against deciding every event again, and the cost of recording.

``python -m bench.backtest [DECISIONS [rules | thresholds]]``; two processes, a Postgres of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from bench.backtest_rows import DECIDED, case, decided, fill, ports, say
from cli.stack import Stack
from db import migrate
from db.accounts import store_account
from db.commits.values import commit_values
from db.pool import Pool, create_pool
from trials.jobs.backtest_job import run_backtest
from trials.store.backtests import Backtest, begin_backtest
from worker.account_settings import changed
from worker.model import Account
from worker.pipeline import decide
from worker.recordings.recorder import Recorder
from worker.recordings.stored import encoded

MEASURED: Final = 100
"""Decisions made with and without a recorder, in turn."""
FULL_SHARE: Final = 0.02
"""Of the decisions, the newest, for the comparison with backtests without shortcuts."""
CHANGES: Final[Mapping[str, dict[str, Any]]] = {
    "rules": {"flagged_keywords": ["casino", *(f"parcel {number}" for number in range(40, 60))]},
    "thresholds": {"moderation_thresholds": {"violence": 0.0195}},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestRun:
    """One change: with shortcuts, and without them on the newest fiftieth.

    Attributes:
        fast_cpu_s: CPU of the two processes that decide; Postgres and waiting for a core are not part of it.
        cpu_ratio: CPU of a decision without shortcuts to CPU with them.
        equal: both put the same numbers of the newest fiftieth into the same groups.
    """

    change: str
    decisions: int
    fast_s: float
    fast_cpu_s: float
    full_s: float
    full_cpu_s: float
    full_decisions: int
    cpu_ratio: float
    equal: bool
    groups: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedBacktest:
    """A backtest with its seconds."""

    backtest: Backtest
    wall_s: float
    cpu_s: float


async def recording_cost(account: Account) -> dict[str, float]:
    """CPU of a decision with its recording to CPU without, and bytes of a recording to those of its row."""
    plain = recorded = 0.0
    row = data = 0
    await decide(case(account, 0), ports())  # compiles patterns
    for number in range(1, 2 * MEASURED, 2):
        each, other = case(account, number), case(account, number + 1)  # an equal text would be read once
        start = time.process_time()
        made = await decide(each, ports())
        middle = time.process_time()
        recorder = Recorder(case=other, behind=ports())
        await decide(other, recorder.ports)
        stored = encoded(recorder.recording())
        recorded += time.process_time() - middle
        plain += middle - start
        data += len(stored)
        row += len(str(commit_values(made)["snapshot"])) + len(each.event.text)
    return {
        "cpu_ratio": round(recorded / plain, 3),
        "cpu_ms": round((recorded - plain) / MEASURED * 1000, 3),
        "bytes": round(data / MEASURED),
        "bytes_ratio": round(data / row, 2),
    }


async def measure(url: str, number: int, names: Sequence[str]) -> dict[str, Any]:
    """All figures, as JSON."""
    account = changed(
        Account(user_id="bench", version=0),
        {"ai_control_enabled": True, "ai_enabled_for_chats": True, "flagged_keywords": ["casino"]},
    )
    async with create_pool(url, size=10, application="bench", role=None) as source:
        version = await store_account(source, account, changed_by="bench")
        account = replace(account, version=version)
        say(f"cost of recording, {2 * MEASURED} decisions")
        cost = await recording_cost(account)
        say(f"filling, {number:,} decisions")
        await fill(source, await decided(account, range(min(number, DECIDED))), number)
        runs = [await _run(source, url, name, version) for name in names]
    return {"recording": cost, "backtests": [asdict(each) for each in runs]}


async def _run(source: Pool, url: str, name: str, version: int) -> BacktestRun:
    say(f"backtests of {name}")
    fast = await _backtest(source, url, name, version, full=False, share=1.0)
    full = await _backtest(source, url, name, version, full=True, share=FULL_SHARE)
    same = await _backtest(source, url, name, version, full=False, share=FULL_SHARE)
    full_done = max(full.backtest.done, 1)
    return BacktestRun(
        change=name,
        decisions=fast.backtest.done,
        fast_s=round(fast.wall_s, 1),
        fast_cpu_s=round(fast.cpu_s, 1),
        full_s=round(full.wall_s, 1),
        full_cpu_s=round(full.cpu_s, 1),
        full_decisions=full.backtest.done,
        cpu_ratio=round((full.cpu_s / full_done) / (fast.cpu_s / max(fast.backtest.done, 1)), 1),
        equal=full.backtest.counts == same.backtest.counts,
        groups=fast.backtest.counts,
    )


async def _backtest(
    source: Pool, url: str, name: str, version: int, *, full: bool, share: float
) -> TimedBacktest:
    """The newest ``share`` of the decisions."""
    now = datetime.now(UTC)
    oldest = await _oldest(source, share)
    begun = await begin_backtest(
        source,
        "bench",
        base_version=version,
        changes=CHANGES[name],
        since=oldest,
        until=now,
        created_by="bench",
    )
    started, before = time.perf_counter(), _cpu_of_children()
    found = await run_backtest(
        source, url, begun, now=lambda: datetime.now(UTC), processes=2, full=full, progress=_progress
    )
    return TimedBacktest(
        backtest=found, wall_s=time.perf_counter() - started, cpu_s=_cpu_of_children() - before
    )


def _cpu_of_children() -> float:
    """CPU seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _progress(found: Backtest) -> None:
    if found.done % 10_000 < 2_000:
        say(f"{found.done:,} of {found.total:,}")


async def _oldest(source: Pool, share: float) -> datetime:
    async with source.connection() as connection:
        query = "SELECT percentile_disc(%s) WITHIN GROUP (ORDER BY created_at) FROM ai_decisions"
        row = await (await connection.execute(query, (1.0 - share,))).fetchone()
    found: datetime = row[0] if row else datetime.now(UTC)
    return found - timedelta(milliseconds=1 if share == 1.0 else 0)


def main() -> None:
    """Measure on servers of this process, and print JSON."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    names = sys.argv[2:] or list(CHANGES)
    if unknown := set(names) - set(CHANGES):
        raise SystemExit(f"change: expected one of {', '.join(CHANGES)}, got {', '.join(sorted(unknown))}")
    with Stack() as stack:
        migrate.upgrade(stack.database_url)
        found = asyncio.run(measure(stack.database_url, number, names))
    print(json.dumps({"load": os.getloadavg()[0], **found}, indent=2))


if __name__ == "__main__":
    main()
