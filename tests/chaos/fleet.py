"""A fleet of real worker processes on own servers, judged by the laws of chaos runs."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import orjson
import psycopg
from redis import Redis
from redis.exceptions import RedisError

from chaos.kinds import Law
from chaos.laws.observations import EventKind, PublishedEvent, SeenReply, SeenWebhook
from chaos.laws.oracle import breaches
from chaos.ledger import Ledger
from chaos.load import MALFORMED
from chaos.observing.collect import stored
from cli.stack import Stack
from sandbox.server import SandboxHandle
from tasks.publishing.publish import append
from tests.support.samples import body_of
from tests.support.seeding import seed_document

Value = TypeVar("Value")
STREAM = "hushgate:events"
HANDOFF_TEXT = "A colleague will answer here."
IN_FLIGHT = 60
TTL_S = 2
PATIENCE_S = 90.0
"""A condition that does not come true by then never will; the longest wait of a healthy run is some 10 s."""

TEXTS = {
    **dict.fromkeys(("this is spam", "more spam for you", "spam, spam and spam", "SPAM!"), EventKind.RULE),
    "What are your opening hours?": EventKind.QUESTION,
    "Can I return a purchase after thirty days?": EventKind.QUESTION,
    "I will kill you": EventKind.MODERATED,
    "[[sandbox:llm=500:1]] opening hours?": EventKind.SLOW,
}
"""Half of them end at the rules, so that thousands of events take a minute and not five."""
LAWS = (
    *(Law.LOST, Law.TWICE, Law.INVENTED, Law.DEAD_LETTERS, Law.ORDER),
    *(Law.NOT_SENT, Law.UNAPPROVED, Law.SENT_TWICE),
)


@dataclass(slots=True)
class Fleet:
    """Worker processes, started and ended by pid."""

    stack: Stack
    sandbox: SandboxHandle
    database_url: str
    logs: Path
    rng: random.Random = field(default_factory=lambda: random.Random(20261121))
    ledger: Ledger = field(default_factory=Ledger)
    workers: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    started: int = 0

    @property
    def redis(self) -> Redis:
        """A client of the fleet's Redis, on one connection of its own."""
        return Redis.from_url(self.stack.redis_url, socket_timeout=20)

    def start_worker(self) -> int:
        """Start one ``celery -A tasks.app worker``; its pid."""
        self.started += 1
        name = f"w{self.started}"
        with (self.logs / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tasks", "worker", "-n", f"{name}@%h"],
                env={**os.environ, **self._environment()},
                stdout=log,
                stderr=log,
            )
        self.workers[process.pid] = process
        return process.pid

    def _environment(self) -> dict[str, str]:
        return {
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.stack.redis_url,
            "HUSHGATE_MODEL_URL": self.sandbox.base_url,
            "HUSHGATE_MODEL_KEY": "none",
            "HUSHGATE_HEARTBEAT_TTL_S": str(TTL_S),
            "HUSHGATE_IN_FLIGHT": str(IN_FLIGHT),
            "HUSHGATE_MODEL_FIRST_WAIT_S": "0.05",
            "HUSHGATE_DRAIN_S": "5",
            "HUSHGATE_MAX_STARTS": "100",
            "HUSHGATE_MODERATION_REUSE_S": "0",  # few texts, often: every one is asked about
        }

    def send(self, pid: int, number: signal.Signals) -> int:
        """Signal a worker; for those that end it, wait for the end. Its exit code, or 0 while it lives."""
        os.kill(pid, number)
        if number in (signal.SIGSTOP, signal.SIGCONT):
            return 0
        return self.workers.pop(pid).wait(PATIENCE_S)

    def publish(
        self, events: int, conversations: Sequence[str], texts: Iterable[str] = TEXTS, account: str = "u"
    ) -> None:
        """Publish a mixed batch of these conversations, one in 40 malformed, one in 20 a repetition."""
        bodies: list[tuple[str, bytes]] = []
        for _ in range(events):
            draw = self.rng.random()
            if draw < 0.025:
                bodies.append(self._malformed())
            elif draw < 0.075 and bodies:
                bodies.append(bodies[-1])
            else:
                bodies.append(self._event(self.rng.choice(conversations), self.rng.choice([*texts]), account))
        with self.redis as redis:
            ids = append(redis, [body for _, body in bodies], stream=STREAM)
        self.ledger.entries.update(zip(ids, (name for name, _ in bodies), strict=True))

    def _malformed(self) -> tuple[str, bytes]:
        name = self._named("", EventKind.MALFORMED)
        return name, self.rng.choice(MALFORMED).format(f" {name} ").encode()

    def _event(self, conversation: str, text: str, account: str) -> tuple[str, bytes]:
        name = self._named(conversation, TEXTS[text] if account == "u" else EventKind.OFF)
        return name, orjson.dumps(body_of(name, user_id=account, conversation_id=conversation, text=text))

    def _named(self, conversation: str, kind: EventKind) -> str:
        name = f"e{len(self.ledger.published)}.{self.rng.getrandbits(48):012x}"
        self.ledger.published[name] = PublishedEvent(name=name, conversation=conversation, kind=kind)
        return name

    def owned(self) -> dict[int, int]:
        """Lanes that each of our living workers owns, by pid."""
        with self.redis as redis:
            names = cast("set[bytes]", redis.smembers(f"{{{STREAM}}}:workers"))
            owned = {
                int(name.split(b":")[1]): cast("int", redis.scard(f"{{{STREAM}}}:owned:{name.decode()}"))
                for name in names
            }
        return {pid: lanes for pid, lanes in owned.items() if pid in self.workers}

    def busy_worker(self) -> int:
        """A worker with events in flight; waits for one, and publishes more when the stream is empty."""

        def busiest() -> int:
            owned = self.owned()
            if not any(owned.values()) and self.unfinished() == 0:
                self.publish(20, ["more-1", "more-2", "more-3"])
            return max((pid for pid in owned if owned[pid]), key=lambda pid: owned[pid], default=0)

        return until(busiest, "a worker has events in flight")

    def unfinished(self) -> int:
        """Entries still on the stream."""
        with self.redis as redis:
            return cast("int", redis.xlen(STREAM))

    def settle(self) -> None:
        """Wait until every entry is finished and every reply is on its stream; patient while it works."""
        while (left := until(lambda: self.unfinished() + 1, "Redis answers") - 1) > 0:
            until(lambda left=left: self.unfinished() < left, "further entries are finished")  # type: ignore[misc]
        waiting = "SELECT count(*) FROM outbox WHERE delivered_at IS NULL AND cancelled_at IS NULL"
        until(lambda: self.rows(waiting) == [(0,)], "every reply is delivered")
        unsent = "SELECT count(*) FROM outgoing_events WHERE streamed_at IS NULL"
        until(lambda: self.rows(unsent) == [(0,)], "every escalation is on its stream")

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of a query, on a connection of its own."""
        with psycopg.connect(self.database_url) as connection:
            return connection.execute(query, values).fetchall()

    def stop(self) -> None:
        """End every worker that still runs."""
        for process in self.workers.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
        for process in self.workers.values():
            process.wait(PATIENCE_S)
        self.workers.clear()


def until(condition: Callable[[], Value], what: str) -> Value:
    """The first true value of a condition; unreachable servers count as not yet."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with contextlib.suppress(RedisError, psycopg.OperationalError):
            if value := condition():
                return value
        time.sleep(0.02)
    raise AssertionError(f"not within {PATIENCE_S:.0f} s: {what}")


def seed_account(database_url: str) -> None:
    """The account ``u``, with rules and a document to answer from; people own a conversation for a second."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO ai_rules (user_id, ai_control_enabled, ai_enabled_for_chats, burst_window_s,"
            " stale_reply, flagged_keywords, people_idle_s, handoff_texts)"
            " VALUES ('u', true, true, 0, 'send', ARRAY['spam'], 0.5, jsonb_build_object('en', %s::text))",
            (HANDOFF_TEXT,),
        )
    paragraphs = ["Our opening hours are nine to five.", "A purchase may be returned within thirty days."]
    seed_document(database_url, "u", "Hours", paragraphs)


def broken_laws(fleet: Fleet) -> list[str]:
    """A sentence for each breach of a law; a reply may be kept back in any conversation."""
    ledger = replace(
        fleet.ledger, taken={each.conversation: "0-0" for each in fleet.ledger.published.values()}
    )
    seen = stored(fleet, ledger)
    found = breaches(replace(seen, webhooks=tuple(map(_received, seen.replies))))
    return [sentence for law in LAWS for sentence in found[law]]


def _received(reply: SeenReply) -> SeenWebhook:
    """A reply as a receiver that misses nothing has it: this fleet has none."""
    values = {
        name: getattr(reply, name) for name in ("name", "conversation", "handoff", "decision_id", "text")
    }
    return SeenWebhook(identifier=reply.stream_id, **values)
