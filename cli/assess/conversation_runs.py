"""One run of a measurement: every question published as a customer would, until each has its decision."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

import orjson
from redis import Redis

from cli.assess.conversation_fleet import MeasuredPolicy
from cli.stack.fleet import Fleet
from db.history.conversation_sets import (
    PastMessage,
    QuestionEnding,
    count_decided,
    load_endings,
    store_history,
)
from db.pool import Pool
from sandbox.cases import Case, Writes
from tasks.publishing.publish import append
from worker.errors import ConfigurationError
from worker.model import Message, MessageRole

EVENTS: Final = "hushgate:events"
AGE_S: Final = 2.5
"""Age of published questions: over the default ``burst_window_s``, which is then not waited for."""
HISTORY_S: Final = 60.0
STILL_S: Final = 120.0
"""A run without a new decision for this long is counted as it is."""
LOOK_S: Final = 0.1
IN_FLIGHT: Final = 16
"""Most questions without a decision; more at once would measure how long the servers are waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """Who writes and who judges, under which policy."""

    name: str
    policy: MeasuredPolicy
    judge: str
    writes: Writes


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The endings of a run with their cases, and the calls of the sandbox in it.

    Attributes:
        calls: by route of the sandbox.
    """

    run: MeasuredRun
    cases: Sequence[Case]
    endings: Sequence[tuple[Case, QuestionEnding]]
    calls: dict[str, int]


async def measured(
    source: Pool, running: Fleet, run: MeasuredRun, cases: Sequence[Case], advance: Callable[[int], None]
) -> RunResult:
    """Publish the cases of a run, wait for their decisions, and load their endings.

    ``advance`` takes how many decisions are new.
    """
    sandbox = running.sandbox
    assert sandbox is not None  # a measuring fleet has no key of its caller
    sandbox.set_conversations(writes=run.writes, judge=run.judge)
    before = _calls(running)
    now = datetime.now(UTC)
    by_event = {f"{run.name}-{case.case_id}": case for case in cases}
    await store_history(
        source, [line for event_id, case in by_event.items() for line in _past(run, event_id, case, now)]
    )
    await _ask(source, running, run, by_event, advance)
    endings = [(by_event[each.event_id], each) for each in await load_endings(source, run.name)]
    after = _calls(running)
    calls = {route: after[route] - count for route, count in before.items()}
    return RunResult(run=run, cases=cases, endings=endings, calls=calls)


async def _ask(
    source: Pool,
    running: Fleet,
    run: MeasuredRun,
    by_event: Mapping[str, Case],
    advance: Callable[[int], None],
) -> None:
    """Publish ``IN_FLIGHT`` at a time until all are decided, or until no decision is new for ``STILL_S``."""
    waiting, asked = iter(by_event.items()), 0
    moved, seen = time.monotonic(), 0
    while seen < len(by_event) and time.monotonic() - moved < STILL_S:
        now = datetime.now(UTC)
        more = islice(waiting, IN_FLIGHT - (asked - seen))
        payloads = [orjson.dumps(_event(run, event_id, case, now)) for event_id, case in more]
        if payloads:
            await asyncio.to_thread(_publish, running.stack.redis_url, payloads)
            asked += len(payloads)
        if (last_lines := running.ended_output()) is not None:
            raise ConfigurationError(last_lines)
        if (count := await count_decided(source, run.name)) > seen:
            advance(count - seen)
            moved, seen = time.monotonic(), count
        else:
            await asyncio.sleep(LOOK_S)


def _publish(url: str, payloads: Sequence[bytes]) -> None:
    with Redis.from_url(url) as client:
        append(client, payloads, stream=EVENTS)


def _event(run: MeasuredRun, event_id: str, case: Case, now: datetime) -> dict[str, Any]:
    """The question as an event of a conversation and an author of its own."""
    return {
        "event_id": event_id,
        "user_id": run.policy.user_id(case.domain),
        "scope": case.scope,
        "conversation_id": event_id,
        "message_id": event_id,
        "author_id": f"author-of-{event_id}",
        "text": case.query,
        "created_at": (now - timedelta(seconds=AGE_S)).isoformat(),
    }


def _past(run: MeasuredRun, event_id: str, case: Case, now: datetime) -> list[PastMessage]:
    return [
        PastMessage(
            user_id=run.policy.user_id(case.domain),
            conversation_id=event_id,
            message=Message(role=MessageRole(line.role), text=line.text),
            created_at=now - timedelta(seconds=HISTORY_S - place),
        )
        for place, line in enumerate(case.history)
    ]


def _calls(running: Fleet) -> dict[str, int]:
    assert running.sandbox is not None
    counted = running.sandbox.control("GET", "stats?texts=0")["calls"]
    assert isinstance(counted, dict)
    return {str(route): int(count) for route, count in counted.items()}
