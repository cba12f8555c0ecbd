"""How much slower decisions are committed while the sweep deletes rows, in alternating windows of one run.

Commits run one after another on one connection, as fast as they go, alternating with and without the sweep;
the sweep goes on where it stopped. What else the machine does changes both windows of a pair.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import statistics
import sys
import time
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from cli.stack import Stack
from db import decisions, migrate
from db.identifiers import uuid_at
from db.pool import Pool, create_pool
from tasks.governance.sweep import SweepPace, sweep
from worker.model import Decision, DecisionKind, Event, Scope
from worker.reasons import Reason
from worker.settings import RetentionSettings

ROWS = 500_000
WINDOW_S = 5.0
PAIRS = 24
TABLES = ("event_keys", "messages", "outbox")
OUT = Path("out/bench-retention.json")
NUMBERS = count(1)
FILL = (
    "INSERT INTO event_keys SELECT 'old', 'e' || i, i || '-0', gen_random_uuid(), %(at)s::timestamptz +"
    " i * interval '1 ms' FROM generate_series(1, %(rows)s::int) i",
    "INSERT INTO messages (user_id, conversation_id, message_id, decision_id, role, text, created_at)"
    " SELECT 'old', 'c' || i %% 9999, 'm' || i, gen_random_uuid(), 'user', repeat('text ', 20),"
    " %(at)s::timestamptz + i * interval '1 ms' FROM generate_series(1, %(rows)s::int) i",
    "INSERT INTO outbox (user_id, event_id, decision_id, conversation_id, message_id, scope, text,"
    " created_at, delivered_at) SELECT 'old', 'e' || i, gen_random_uuid(), 'c' || i %% 9999, 'm', 'chat',"
    " repeat('text ', 20), %(at)s::timestamptz + i * interval '1 ms', %(at)s"
    " FROM generate_series(1, %(rows)s::int) i",
)


def fill(url: str, rows: int) -> None:
    """Put this many old rows into three tables that every decision writes."""
    with psycopg.connect(url, autocommit=True) as owner:
        at = datetime.now(UTC) - timedelta(days=1000)
        for statement in FILL:
            owner.execute(statement, {"at": at, "rows": rows // len(FILL)})
        owner.execute("VACUUM ANALYZE")
        owner.execute("CHECKPOINT")


def sample() -> Decision:
    """A replied event, of a conversation of its own."""
    at, number = datetime.now(UTC), next(NUMBERS)
    event = Event(
        event_id=f"new-{number}", entry_id=f"{number}-0", user_id="new", scope=Scope.CHAT,
        conversation_id=f"c{number}", message_id=f"m{number}", author_id="a", text="When are you open?",
        created_at=at, received_at=at,
    )  # fmt: skip
    return Decision(
        decision_id=uuid_at(at), decided_at=at, event=event, kind=DecisionKind.RESPOND,
        reason_code=Reason.REPLIED, reason="", confidence=1.0, rules_version=1, remember=True,
        reply="From nine.",
    )  # fmt: skip


async def commits(source: Pool) -> list[float]:
    """The times of the commits of one window, in milliseconds."""
    times, ends = [], time.perf_counter() + WINDOW_S
    while (started := time.perf_counter()) < ends:
        await decisions.record_decision(source, sample())
        times.append((time.perf_counter() - started) * 1000)
    return times


async def measure(url: str) -> dict[str, Any]:
    """Alternating windows; the ratios of each pair."""
    settings = RetentionSettings.model_validate({"DATABASE_URL": url})
    deleted = dict.fromkeys(TABLES, 0)

    def note(table: str, rows: int) -> None:
        deleted[table] += rows

    pairs = []
    async with (
        create_pool(url, size=1, application="bench") as hot,
        create_pool(url, size=1, application="bench-sweep") as cold,
    ):
        await commits(hot)
        for number in range(PAIRS):
            found = {}
            for sweeping in (True, False) if number % 2 else (False, True):
                pace = SweepPace(deleted=note)
                now = datetime.now(UTC)
                only = (TABLES[number % len(TABLES)],)
                work = sweep(cold, settings, now, pace=pace, only=only) if sweeping else None
                job = asyncio.create_task(work) if work else None
                found[sweeping] = await commits(hot)
                if job is not None:
                    job.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await job
            pairs.append(found)
    return report(pairs, deleted)


def report(pairs: list[dict[bool, list[float]]], deleted: dict[str, int]) -> dict[str, Any]:
    """Medians over the pairs: how much slower a commit is, and how many fewer there are."""
    slower = [statistics.fmean(pair[True]) / statistics.fmean(pair[False]) for pair in pairs]
    middle = [statistics.median(pair[True]) / statistics.median(pair[False]) for pair in pairs]
    return {
        "pairs": len(pairs),
        "window_s": WINDOW_S,
        "commit_ms": round(statistics.median(statistics.median(pair[False]) for pair in pairs), 2),
        "slower_mean_percent": round((statistics.median(slower) - 1) * 100, 1),
        "slower_median_percent": round((statistics.median(middle) - 1) * 100, 1),
        "deleted": deleted,
        "deleted_per_s": round(sum(deleted.values()) / (len(pairs) * WINDOW_S)),
        "load": os.getloadavg()[0],
    }


def main() -> None:
    """Measure, print and write the result; the argument is the number of old rows."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with Stack() as servers:
        migrate.upgrade(servers.database_url)
        fill(servers.database_url, rows)
        found = {"rows": rows} | asyncio.run(measure(servers.database_url))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(found, indent=2))
    sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main()
