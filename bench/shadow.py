"""Decisions per second and CPU of a worker with and without a shadow, in turn.

``python -m bench.shadow [EVENTS] [ROUNDS]``; servers, worker and sandbox of its own. ``shipped`` is the run
of beat, where shadows wait while events do; ``always`` decides beside the worker at any load.
"""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import orjson
import psycopg
import structlog
from redis import Redis

from cli.stack import Stack
from db import migrate
from db.accounts import store_account
from db.candidates.candidates import CandidateSource, add_candidate
from db.candidates.shadows import ShadowStep, get_shadow, start_shadow, stop_shadow
from db.pool import Pool, create_pool
from sandbox.server import SandboxHandle, start
from tasks.publishing.publish import append
from tasks.replays.shadow_load import is_loaded
from tasks.replays.shadow_process import ShadowProcess
from tasks.replays.shadow_run import ShadowLimits, ShadowRunner
from tasks.runtime import Runtime
from tasks.shards.clients import connect
from worker.account_settings import changed
from worker.model import Account
from worker.settings import Settings

USER: Final = "bench"
LOOK_S: Final = 0.05
CHANGES: Final[dict[str, Any]] = {
    "flagged_keywords": ["parcel 77"],
    "moderation_thresholds": {"violence": 0.3},
}


def settings_of(stack: Stack, sandbox: SandboxHandle) -> Settings:
    """A worker's settings."""
    return Settings.model_validate(
        {
            "DATABASE_URL": stack.database_url,
            "REDIS_URL": stack.redis_url,
            "OPENAI_API_KEY": "sandbox",
            "OPENAI_BASE_URL": sandbox.base_url,
            "OPENROUTER_API_KEY": "sandbox",
            "OPENROUTER_BASE_URL": sandbox.base_url,
        }
    )


def call(settings: Settings, work: Callable[[Pool], Awaitable[Any]]) -> Any:
    """What ``work`` returns for a pool."""

    async def run() -> Any:
        url = settings.database_url.get_secret_value()
        async with create_pool(url, size=1, application="bench", role=None) as source:
            return await work(source)

    return asyncio.run(run())


def run_shadows(settings: Settings, *, always: bool) -> None:
    """Run the shadows, as beat does, until this process is ended."""
    asyncio.run(_run_shadows(settings, always=always))


async def _run_shadows(settings: Settings, *, always: bool) -> None:
    url = settings.database_url.get_secret_value()
    async with (
        create_pool(url, size=1, application="bench-shadow", role=None) as source,
        connect(settings.redis_url.get_secret_value()) as redis,
    ):
        runner = ShadowRunner(
            source=source,
            url=url,
            role=None,
            now=lambda: datetime.now(UTC),
            child=ShadowProcess(),
            limits=ShadowLimits(settled=timedelta(0), decisions_a_day=10**9),
            loaded=None if always else lambda: is_loaded(redis, settings.stream),
        )
        while True:
            if not await runner.round():
                await asyncio.sleep(0.2)


async def _set_up(source: Pool) -> Any:
    """An account that answers chats, and a candidate of it."""
    account = changed(
        Account(user_id=USER, version=0),
        {"ai_control_enabled": True, "ai_enabled_for_chats": True, "burst_window_s": 0.0},
    )
    await store_account(source, account, changed_by="bench")
    now = datetime.now(UTC)
    made = await add_candidate(
        source, USER, CHANGES, now=now, made_by=CandidateSource.PERSON, created_by="bench"
    )
    return made.candidate_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What one round took: decisions a second, and the worker's CPU for a decision."""

    per_second: float
    cpu_ms: float


def pace(settings: Settings, redis: Redis, events: int) -> Pace:
    """Publish so many events at once, and wait for their decisions."""
    with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as database:
        wanted = _decided(database) + events
        number = time.time_ns()
        payloads = [_event(f"{number}-{each}") for each in range(events)]
        started, cpu = time.perf_counter(), time.process_time()
        append(redis, payloads)
        while _decided(database) < wanted:
            time.sleep(LOOK_S)
        took_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu
    return Pace(per_second=events / took_s, cpu_ms=cpu_s * 1000 / events)


def _decided(database: psycopg.Connection[Any]) -> int:
    row = database.execute("SELECT count(*) FROM ai_decisions WHERE user_id = %s", (USER,)).fetchone()
    return int(row[0]) if row else 0


def _event(name: str) -> bytes:
    body = {"event_id": name, "user_id": USER, "scope": "chat", "conversation_id": name, "message_id": name}
    text = f"Within how many days may parcel {name} be returned, please?"
    return orjson.dumps(body | {"author_id": "a", "text": text, "created_at": datetime.now(UTC).isoformat()})


def measure(settings: Settings, events: int, rounds: int, *, always: bool) -> dict[str, Any]:
    """Rounds without a shadow and with one, in turn; and how many decisions the shadow saw meanwhile."""
    candidate_id = call(settings, _set_up)
    context = multiprocessing.get_context("spawn")
    runner = context.Process(target=run_shadows, args=(settings,), kwargs={"always": always})
    runner.start()
    without: list[Pace] = []
    beside: list[Pace] = []
    seen = 0
    try:
        with Redis.from_url(settings.redis_url.get_secret_value()) as redis:
            pace(settings, redis, events)
            for number in range(rounds):
                without.append(pace(settings, redis, events))
                step = ShadowStep(made_by="bench", reason=str(number), now=datetime.now(UTC))
                shadow = call(settings, partial(start_shadow, candidate_id=candidate_id, step=step))
                beside.append(pace(settings, redis, events))
                found = call(settings, partial(get_shadow, shadow_id=shadow.shadow_id))
                seen += sum(found.counts.values())
                call(settings, partial(stop_shadow, shadow_id=shadow.shadow_id, step=step))
    finally:
        runner.kill()
        runner.join()
    return {"seen_meanwhile": seen} | {
        name: _compared([getattr(each, name) for each in without], [getattr(each, name) for each in beside])
        for name in ("per_second", "cpu_ms")
    }


def _compared(without: list[float], beside: list[float]) -> dict[str, Any]:
    ratio = statistics.median(beside) / statistics.median(without)
    shown = {"without": without, "with": beside}
    return {"ratio": round(ratio, 3)} | {
        name: [round(each, 2) for each in found] for name, found in shown.items()
    }


def main() -> None:
    """Measure, and print a line of JSON for each run."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    events, rounds = (int(each) for each in (*sys.argv[1:3], *("1000", "5")[len(sys.argv) - 1 :]))
    with Stack() as stack, start() as sandbox:
        migrate.upgrade(stack.database_url)
        settings = settings_of(stack, sandbox)
        runtime = Runtime(settings)
        runtime.start()
        try:
            for name in ("shipped", "always"):
                found = measure(settings, events, rounds, always=name == "always")
                print(json.dumps({"run": name, "load": os.getloadavg()[0], **found}), flush=True)
        finally:
            runtime.stop()


if __name__ == "__main__":
    main()
