"""Backtests with shortcuts against deciding every event again, and the cost of recording.

``python -m bench.backtest [DECISIONS]``; two processes, a Postgres of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from cli.stack import Stack
from db import decisions, migrate
from db.accounts import store_account
from db.candidates.backtests import begin_backtest
from db.commits.values import commit_values
from db.pool import Pool, create_pool
from tasks.replays.backtest_job import run_backtest
from worker.account_settings import changed
from worker.adapters.system_clock import SystemClock
from worker.model import (
    Account,
    Completion,
    Event,
    Message,
    MessageRole,
    ModerationScores,
    Passage,
    Prompt,
    Retrieved,
    Scope,
    Tokens,
)
from worker.pipeline import decide
from worker.ports import Ports
from worker.replay.deciding import compiled_version
from worker.replay.recorder import Recorder
from worker.replay.stored import encoded
from worker.steps.run import EventCase

CLOCK: Final = SystemClock()
MEASURED: Final = 100
"""Decisions made with and without a recorder, in turn."""
DECIDED: Final = 1_000
"""Events that are decided and committed; the other rows are copies of theirs."""
OTHER_COLUMNS: Final = """
    SELECT column_name FROM information_schema.columns
    WHERE table_name = %s AND column_name <> ALL(%s) AND is_generated = 'NEVER' AND is_identity = 'NO'
"""
COPIED: Final = {
    "ai_decisions": ("id", "event_id", "'copy-' || new"),
    "recordings": ("decision_id", "", ""),
}
"""Table -> its key, the column with the event's id, and what a copy has there."""
COPY: Final = """
    INSERT INTO {table} ({columns})
    SELECT {values}
    FROM unnest(%(old)s::uuid[], %(new)s::uuid[], %(at)s::timestamptz[]) AS pair (old, new, at)
    JOIN {table} ON {key} = old
"""
CHANGES: Final[Mapping[str, dict[str, Any]]] = {
    "rules": {"flagged_keywords": ["casino", "parcel 77"]},
    "thresholds": {"moderation_thresholds": {"violence": 0.02}},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestRun:
    """One change: seconds with shortcuts and without, and what ends otherwise."""

    change: str
    decisions: int
    fast_s: float
    full_s: float
    full_decisions: int
    ratio: float
    stopped: int


class Answers:
    """Ports that answer at once: what a decision costs without the models' time."""

    async def moderate(self, text: str, image_urls: object) -> ModerationScores:  # noqa: ARG002
        """Scores that depend on the text."""
        score = (len(text) * 7919 % 1000) / 50_000
        return ModerationScores(scores={"violence": score, "hate": 0.001}, flagged=frozenset(), model="m")

    async def complete(self, prompt: Prompt, timeout_s: float) -> Completion:  # noqa: ARG002
        """A grounded draft."""
        text = "A purchase may be returned within thirty days with its receipt [1]."
        return Completion(text=text, model="m", tokens=Tokens(prompt=900, completion=30))

    async def search(self, *given: Any, **named: Any) -> Retrieved:  # noqa: ARG002
        """Three passages of 600 characters."""
        words = "A purchase may be returned within thirty days with its receipt. " * 9
        found = (
            Passage(passage_id=f"1#{number}", title="Returns", text=f"{number} {words}", similarity=0.8)
            for number in range(3)
        )
        return Retrieved(passages=tuple(found))

    async def history(self, *given: Any) -> tuple[Message, ...]:  # noqa: ARG002
        """Four lines."""
        line = Message(role=MessageRole.USER, text="Hello, I bought a lamp with you last week.")
        return (line,) * 4


def ports() -> Ports:
    """The ports of the benchmark."""
    answers = Answers()
    return Ports(clock=CLOCK, moderator=answers, model=answers, retriever=answers, conversations=answers)


def case(account: Account, number: int) -> EventCase:
    """One of many messages."""
    version, now = compiled_version(account, {}), CLOCK.now()
    event = Event(
        event_id=f"e{number}", entry_id=f"{number}-0", user_id=account.user_id, scope=Scope.CHAT,
        conversation_id=f"c{number}", message_id=f"m{number}", author_id="a",
        text=f"Within how many days may parcel {number % 1000} be returned, please{'!' * (number % 40)}",
        created_at=now, received_at=now,
    )  # fmt: skip
    return EventCase(
        event=event, account=account, rules=version.rules, policy=version.policy, delivery=version.delivery
    )


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


async def fill(source: Pool, account: Account, number: int) -> None:
    """Decide events, commit them with their recordings, and copy their rows until there are enough."""
    made = []
    for each in range(min(number, DECIDED)):
        one = case(account, each)
        recorder = Recorder(case=one, behind=ports())
        made.append(replace(await decide(one, recorder.ports), recording=encoded(recorder.recording())))
    for start in range(0, len(made), 200):
        group = made[start : start + 200]
        await asyncio.gather(*(decisions.record_decision(source, each) for each in group))
    await _copy(source, [each.decision_id for each in made], number)


async def _copy(source: Pool, originals: Sequence[UUID], number: int) -> None:
    """Copy rows of decisions and recordings under new ids, a millisecond apart, ten thousand at once."""
    last = CLOCK.now()
    for start in range(len(originals), number, 10_000):
        places = range(start, min(start + 10_000, number))
        times = [last - timedelta(milliseconds=number - place) for place in places]
        values = {
            "old": [originals[place % len(originals)] for place in places],
            "new": [CLOCK.new_id(at) for at in times],
            "at": times,
        }
        async with source.connection() as connection:
            for table, (key, event, new_event) in COPIED.items():
                named = [key, "created_at", *filter(None, [event])]
                found = await connection.execute(OTHER_COLUMNS, (table, named))
                rest = [row[0] for row in await found.fetchall()]
                statement = COPY.format(
                    table=table,
                    key=key,
                    columns=", ".join((*named, *rest)),
                    values=", ".join(("new", "at", *filter(None, [new_event]), *rest)),
                )
                await connection.execute(statement.encode(), values)
        _say(f"filled {places[-1] + 1:,} of {number:,}")


async def measure(url: str, number: int) -> dict[str, Any]:
    """All figures, as JSON."""
    account = changed(
        Account(user_id="bench", version=0),
        {"ai_control_enabled": True, "ai_enabled_for_chats": True, "flagged_keywords": ["casino"]},
    )
    async with create_pool(url, size=10, application="bench", role=None) as source:
        version = await store_account(source, account, changed_by="bench")
        account = replace(account, version=version)
        _say(f"cost of recording, {2 * MEASURED} decisions")
        cost = await recording_cost(account)
        _say(f"filling, {number:,} decisions")
        await fill(source, account, number)
        runs = [await _run(source, url, name, version) for name in CHANGES]
    return {"recording": cost, "backtests": [asdict(each) for each in runs]}


async def _run(source: Pool, url: str, name: str, version: int) -> BacktestRun:
    _say(f"backtests of {name}")
    fast, fast_s = await _backtest(source, url, name, version, full=False, share=1.0)
    full, full_s = await _backtest(source, url, name, version, full=True, share=0.1)
    ratio = (full_s / max(full.done, 1)) / (fast_s / max(fast.done, 1))
    return BacktestRun(
        change=name, decisions=fast.done, fast_s=round(fast_s, 1), full_s=round(full_s, 1),
        full_decisions=full.done, ratio=round(ratio, 1), stopped=fast.counts.get("newly_stopped", 0),
    )  # fmt: skip


async def _backtest(
    source: Pool, url: str, name: str, version: int, *, full: bool, share: float
) -> tuple[Any, float]:
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
    started = time.perf_counter()
    found = await run_backtest(source, url, begun, now=lambda: datetime.now(UTC), processes=2, full=full)
    return found, time.perf_counter() - started


async def _oldest(source: Pool, share: float) -> datetime:
    async with source.connection() as connection:
        query = "SELECT percentile_disc(%s) WITHIN GROUP (ORDER BY created_at) FROM ai_decisions"
        row = await (await connection.execute(query, (1.0 - share,))).fetchone()
    found: datetime = row[0] if row else datetime.now(UTC)
    return found - timedelta(milliseconds=1 if share == 1.0 else 0)


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def main() -> None:
    """Measure on servers of this process, and print JSON."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with Stack() as stack:
        migrate.upgrade(stack.database_url)
        found = asyncio.run(measure(stack.database_url, number))
    print(json.dumps({"load": os.getloadavg()[0], **found}, indent=2))


if __name__ == "__main__":
    main()
