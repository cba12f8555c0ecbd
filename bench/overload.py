"""What happens to an account's messages while it gets many times more than can be answered.

First the capacity is measured: messages decided per second by one worker that always has more to do. Then
``--factor`` times as many are published for ``--minutes``, and a third of the capacity from then on, until
the oldest unfinished message is young again. The model server answers after a fixed time and few messages run
at once, so the limit is the model, as in production, and not the processor. Times are differences of stream
entry ids, so one clock counts.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Final, cast

import psycopg
import typer
from redis import Redis
from rich.table import Table

from bench.load import (
    STREAM,
    WatchedWorker,
    add_account,
    entry_s,
    environment,
    event,
    has_worker,
    reply_ids,
    show,
    worker,
)
from cli.stack import Stack
from sandbox.server import SandboxHandle, start
from tasks.publishing.publish import publish_many
from worker.model import Shedding

MODERATION_S: Final = 0.05
STEP_S: Final = 0.05
LOOK_S: Final = 0.5
PATIENCE_S: Final = 120.0
YOUNG: Final = 2.0
"""The load is normal again when the oldest unfinished message is younger than so many usual decisions."""
WARM_UP, MEASURED = 2, 8
"""Messages for each place."""
PER_CONVERSATION: Final = 3
OUT: Final = Path("out/overload.json")
ENDINGS: Final = """
    SELECT d.event_id, d.scope, d.reason_code, o.event_id IS NOT NULL
    FROM ai_decisions d LEFT JOIN outbox o USING (user_id, event_id) WHERE d.user_id = %s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverloadResult:
    """One policy under overload.

    Attributes:
        published: during the overload and until the load was normal again.
        answered: messages with a reply, chats and comments.
        late: replies that came after the account's limit.
        wait_p50_s: from message to reply.
        too_late: messages that ended as TOO_LATE, with or without a call of the model.
        wasted: calls of the model without a reply.
        backlog: most unfinished messages.
        oldest_s: highest age of an unfinished message.
        normal_s: from the end of the overload until the oldest unfinished message was young.
        left_out_ms: processor time of the worker for a message that is left out, in milliseconds.
    """

    shedding: str
    capacity_per_s: float
    published_per_s: float
    published: int
    answered: int
    chats: int
    comments: int
    late: int
    wait_p50_s: float
    wait_p95_s: float
    too_late: int
    shed: int
    wasted: int
    backlog: int
    oldest_s: float
    normal_s: float
    cpu: float
    left_out_ms: float


@dataclass(slots=True, kw_only=True)
class OverloadBench:
    """Servers and options of one run."""

    stack: Stack
    redis: Redis
    sandbox: SandboxHandle
    places: int
    factor: float
    seconds: float
    max_age_s: float
    numbers: int = 0
    backlog: int = 0
    oldest_s: float = 0.0

    def measure(self, shedding: Shedding) -> OverloadResult:
        """Start a worker on an empty Redis, measure its capacity, and overload it."""
        self.redis.flushall()
        self.backlog, self.oldest_s = 0, 0.0
        account = f"{shedding.value}-{os.urandom(3).hex()}"
        add_account(
            self.stack.database_url,
            account,
            ai_enabled_for_comments=True,
            shedding=shedding.value,
            reply_max_age_s=self.max_age_s,
        )
        variables = environment(self.stack, self.sandbox, IN_FLIGHT=self.places, DRAIN_S=1)
        with worker(["tasks", "worker"], variables) as watch:
            watch.until(lambda: has_worker(self.redis), PATIENCE_S)
            capacity, busy_ms = self._capacity(watch, account)
            before_s, calls = watch.cpu_s(), self.sandbox.calls("chat")
            began = time.monotonic()
            ids = self._publish_for(watch, account, self.factor * capacity, self.seconds)
            normal_s, more = self._recover(watch, account, capacity)
            took_s, cpu_s = time.monotonic() - began, watch.cpu_s() - before_s
            watch.until(lambda: self.redis.xlen(STREAM) == 0, PATIENCE_S)
            return self._result(
                account,
                ids | more,
                shedding=shedding.value,
                capacity_per_s=round(capacity, 1),
                published_per_s=round(self.factor * capacity, 1),
                calls=self.sandbox.calls("chat") - calls,
                normal_s=round(normal_s, 1),
                cpu=round(cpu_s / took_s, 2),
                cpu_ms=1000 * cpu_s,
                busy_ms=busy_ms,
            )

    def _capacity(self, watch: WatchedWorker, account: str) -> tuple[float, float]:
        """Messages per second, and milliseconds of processor time for each, after a warm-up."""
        for count in (WARM_UP * self.places, MEASURED * self.places):
            began, before_s = time.monotonic(), watch.cpu_s()
            self._publish(account, count)
            watch.until(lambda: self.redis.xlen(STREAM) == 0, PATIENCE_S)
        return count / (time.monotonic() - began), 1000 * (watch.cpu_s() - before_s) / count

    def _publish_for(
        self, watch: WatchedWorker, account: str, per_s: float, seconds: float
    ) -> dict[str, str]:
        """Publish at a rate; event -> entry. What waits is looked at meanwhile."""
        ids: dict[str, str] = {}
        began, looked_s = time.monotonic(), 0.0
        while (now := time.monotonic() - began) < seconds:
            due = int(now * per_s) - len(ids)
            if due > 0:
                ids |= self._publish(account, due)
            if now - looked_s > LOOK_S:
                looked_s = now
                watch.until(lambda: True, 1)  # it ends the run when the worker has died
                self._look()
            time.sleep(STEP_S)
        return ids

    def _recover(self, watch: WatchedWorker, account: str, capacity: float) -> tuple[float, dict[str, str]]:
        """Publish at a low rate until the oldest message is young; how long that took, and what was sent."""
        stop, ids = threading.Event(), dict[str, str]()
        young_s = YOUNG * self.places / capacity

        def send() -> None:
            while not stop.is_set():
                ids.update(self._publish(account, 1))
                stop.wait(3 / capacity)

        thread = threading.Thread(target=send, daemon=True)
        began = time.monotonic()
        thread.start()
        watch.until(lambda: self._look() < young_s, PATIENCE_S + 4 * self.max_age_s)
        took_s = time.monotonic() - began
        stop.set()
        thread.join()
        return took_s, ids

    def _look(self) -> float:
        """The age of the oldest unfinished message; it and the backlog are noted."""
        self.backlog = max(self.backlog, int(self.redis.xlen(STREAM)))
        entries = cast("list[tuple[bytes, object]]", self.redis.xrange(STREAM, count=1))
        if not entries:
            return 0.0
        seconds, micros = self.redis.time()
        age_s = seconds + micros / 1e6 - int(entries[0][0].split(b"-")[0]) / 1000
        self.oldest_s = max(self.oldest_s, age_s)
        return age_s

    def _publish(self, account: str, count: int) -> dict[str, str]:
        """Publish messages, chats and comments in turn, several in a conversation; event -> entry."""
        numbers = range(self.numbers, self.numbers + count)
        self.numbers += count
        events = [
            event(
                number,
                user_id=account,
                scope=("chat", "comment")[number % 2],
                conversation_id=f"c{number // (2 * PER_CONVERSATION)}.{number % 2}",
            )
            for number in numbers
        ]
        ids = publish_many(self.redis, events)
        return {each["event_id"]: entry for each, entry in zip(events, ids, strict=True)}

    def _result(
        self,
        account: str,
        ids: dict[str, str],
        *,
        calls: int,
        cpu_ms: float,
        busy_ms: float,
        **figures: object,
    ) -> OverloadResult:
        with psycopg.connect(self.stack.database_url) as connection:
            rows = [row for row in connection.execute(ENDINGS, (account,)) if row[0] in ids]
        assert len(rows) == len(ids), f"{len(ids)} published, {len(rows)} decided"
        reasons = Counter(reason for _, _, reason, _ in rows)
        replied = [scope for _, scope, _, reply in rows if reply]
        waits = self._waits(ids)
        left_out = reasons["SHED"] + reasons["TOO_LATE"]
        return OverloadResult(
            **figures,  # type: ignore[arg-type]  # names and types are those of the class
            published=len(ids),
            answered=len(replied),
            chats=replied.count("chat"),
            comments=replied.count("comment"),
            late=sum(wait > self.max_age_s for wait in waits),
            wait_p50_s=round(statistics.median(waits), 1),
            wait_p95_s=round(statistics.quantiles(waits, n=20)[-1], 1),
            too_late=reasons["TOO_LATE"],
            shed=reasons["SHED"],
            wasted=calls - len(replied),
            backlog=self.backlog,
            oldest_s=round(self.oldest_s, 1),
            left_out_ms=round(max(0.0, cpu_ms - busy_ms * (len(ids) - left_out)) / max(1, left_out), 2),
        )

    def _waits(self, ids: dict[str, str]) -> list[float]:
        """Seconds from message to reply."""
        replied = reply_ids(self.redis)
        return [entry_s(replied[each]) - entry_s(entry) for each, entry in ids.items() if each in replied]


def shown(results: list[OverloadResult]) -> Table:
    """The results for people."""
    names = (
        "published", "answered", "chats", "comments", "late", "wait_p50_s", "wait_p95_s", "too_late", "shed",
        "wasted", "backlog", "oldest_s", "normal_s", "cpu", "left_out_ms",
    )  # fmt: skip
    table = Table("figure", *(each.shedding for each in results))
    for name in names:
        table.add_row(name, *(f"{getattr(each, name):,}" for each in results))
    return table


def main(
    minutes: Annotated[float, typer.Option(min=0.01, help="Length of the overload.")] = 10.0,
    factor: Annotated[float, typer.Option(min=1, help="Load as a multiple of the capacity.")] = 10.0,
    max_age_s: Annotated[float, typer.Option(min=1, help="The account's reply_max_age_s.")] = 60.0,
    places: Annotated[int, typer.Option(min=1, help="HUSHGATE_IN_FLIGHT.")] = 12,
    completion_s: Annotated[float, typer.Option(help="How long the model takes for an answer.")] = 4.0,
    policy: Annotated[list[Shedding] | None, typer.Option(help="Only these; repeatable.")] = None,
    out: Annotated[Path, typer.Option(help="The results as JSON.")] = OUT,
) -> None:
    """Overload one worker with each policy; a table on a terminal, JSON in a pipe and in the file."""
    options = ("--moderation-latency", str(MODERATION_S), "--chat-latency", str(completion_s))
    with Stack() as stack, Redis.from_url(stack.redis_url) as redis, start(options=options) as sandbox:
        bench = OverloadBench(
            stack=stack,
            redis=redis,
            sandbox=sandbox,
            places=places,
            factor=factor,
            seconds=60 * minutes,
            max_age_s=max_age_s,
        )
        results = [bench.measure(each) for each in policy or Shedding]
    load = round(os.getloadavg()[1], 1)
    document = {"places": places, "max_age_s": max_age_s, "minutes": minutes, "load": load}
    show(document | {"results": [asdict(each) for each in results]}, [shown(results)], out)


if __name__ == "__main__":
    typer.run(main)
