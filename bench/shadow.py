"""Decisions per second of a worker with and without a shadow, in turn.

``python -m bench.shadow [EVENTS] [ROUNDS]``; servers, worker and sandbox of its own. ``shipped`` is the run
of beat, where shadows wait while events do; ``always`` decides beside the worker at any load.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import orjson
from redis import Redis

from cli.stack import Stack
from db import migrate
from db.accounts import store_account
from db.candidates.candidates import CandidateSource, add_candidate
from db.candidates.shadows import ShadowStep, get_shadow, start_shadow, stop_shadow
from db.pool import Pool, create_pool, fetch_value
from sandbox.server import SandboxHandle, start
from tasks.publish import append
from tasks.replays.shadow_load import is_loaded
from tasks.replays.shadow_process import ShadowProcess
from tasks.replays.shadow_run import ShadowLimits, ShadowRunner
from tasks.runtime import Runtime
from tasks.shards.clients import connect
from worker.account_settings import changed
from worker.model import Account
from worker.settings import Settings

USER: Final = "bench"
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


def decisions_a_second(settings: Settings, redis: Redis, events: int, number: int) -> float:
    """Publish so many events at once, and wait for their decisions."""
    query = "SELECT count(*) FROM ai_decisions WHERE user_id = %s"
    before = call(settings, lambda source: fetch_value(source, query, (USER,)))
    started = time.perf_counter()
    append(redis, [_event(f"{number}-{each}") for each in range(events)])
    while call(settings, lambda source: fetch_value(source, query, (USER,))) < before + events:
        time.sleep(0.1)
    return events / (time.perf_counter() - started)


def _event(name: str) -> bytes:
    body = {"event_id": name, "user_id": USER, "scope": "chat", "conversation_id": name, "message_id": name}
    text = f"Within how many days may parcel {name} be returned, please?"
    return orjson.dumps(body | {"author_id": "a", "text": text, "created_at": datetime.now(UTC).isoformat()})


def measure(settings: Settings, events: int, rounds: int, *, always: bool) -> dict[str, Any]:
    """The rates of rounds without a shadow and with one, in turn; and how many the shadow decided."""
    candidate_id = call(settings, _set_up)
    context = multiprocessing.get_context("spawn")
    runner = context.Process(target=run_shadows, args=(settings,), kwargs={"always": always})
    runner.start()
    rates: dict[str, list[float]] = {"without": [], "with": []}
    seen = 0
    try:
        with Redis.from_url(settings.redis_url.get_secret_value()) as redis:
            decisions_a_second(settings, redis, events, time.time_ns())
            for number in range(rounds):
                rates["without"].append(decisions_a_second(settings, redis, events, time.time_ns()))
                step = ShadowStep(made_by="bench", reason=str(number), now=datetime.now(UTC))
                shadow = call(settings, partial(start_shadow, candidate_id=candidate_id, step=step))
                rates["with"].append(decisions_a_second(settings, redis, events, time.time_ns()))
                found = call(settings, partial(get_shadow, shadow_id=shadow.shadow_id))
                seen += sum(found.counts.values())
                call(settings, partial(stop_shadow, shadow_id=shadow.shadow_id, step=step))
    finally:
        runner.kill()
        runner.join()
    middle = {name: statistics.median(found) for name, found in rates.items()}
    return {
        "decisions_a_second": {name: round(found, 1) for name, found in middle.items()},
        "ratio": round(middle["with"] / middle["without"], 3),
        "decided_again_meanwhile": seen,
        "rounds": {name: [round(each, 1) for each in found] for name, found in rates.items()},
    }


def main() -> None:
    """Measure, and print JSON."""
    events, rounds = (int(each) for each in (*sys.argv[1:3], *("1000", "5")[len(sys.argv) - 1 :]))
    with Stack() as stack, start() as sandbox:
        migrate.upgrade(stack.database_url)
        settings = settings_of(stack, sandbox)
        runtime = Runtime(settings)
        runtime.start()
        try:
            found = {
                name: measure(settings, events, rounds, always=name == "always")
                for name in ("shipped", "always")
            }
        finally:
            runtime.stop()
    print(json.dumps({"load": os.getloadavg()[0], **found}, indent=2))


if __name__ == "__main__":
    main()
