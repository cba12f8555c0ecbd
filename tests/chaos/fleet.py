"""A fleet of real worker processes on own servers, what was published to it, and the laws it must keep."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, cast

import orjson
import psycopg
from redis import Redis
from redis.exceptions import RedisError

from cli.stack import Stack
from sandbox.server import SandboxHandle
from tasks.publishing.publish import append
from tests.support.samples import body_of
from tests.support.seeding import seed_document

Value = TypeVar("Value")
STREAM = "hushgate:events"
REPLIES = "hushgate:replies"
ESCALATIONS = "hushgate:escalations"
HANDOFF_TEXT = "A colleague will answer here."
IN_FLIGHT = 60
TTL_S = 2
PATIENCE_S = 90.0
"""A condition that does not come true by then never will; the longest wait of a healthy run is some 10 s."""

TEXTS = (
    *("this is spam", "more spam for you", "spam, spam and spam", "SPAM!"),
    "What are your opening hours?",
    "Can I return a purchase after thirty days?",
    "I will kill you",
    "[[sandbox:llm=500:1]] opening hours?",
)
"""Half of them end at the rules, so that thousands of events take a minute and not five."""

MALFORMED = (b"{bad", b"\xff\xfe", b"[]", b'{"user_id":"u"}', b'{"text":"\\ud800"}')


@dataclass(slots=True)
class Published:
    """Everything that was put on the stream, in order.

    Attributes:
        conversations: conversation -> its entries that are events, as (entry id, event id), in stream order.
        malformed: entries that cannot be events.
    """

    conversations: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    malformed: set[str] = field(default_factory=set)

    @property
    def entries(self) -> set[str]:
        """Ids of all entries."""
        return self.malformed | {entry for each in self.conversations.values() for entry, _ in each}

    @property
    def event_ids(self) -> set[str]:
        """Ids of all events, each once."""
        return {event for each in self.conversations.values() for _, event in each}


@dataclass(slots=True)
class Fleet:
    """Worker processes, started and ended by pid."""

    stack: Stack
    sandbox: SandboxHandle
    database_url: str
    logs: Path
    rng: random.Random = field(default_factory=lambda: random.Random(20261121))
    published: Published = field(default_factory=Published)
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
        self, events: int, conversations: Sequence[str], texts: Sequence[str] = TEXTS, account: str = "u"
    ) -> None:
        """Publish a mixed batch of these conversations, one in 40 malformed, one in 20 a repetition."""
        bodies: list[tuple[str, str, bytes]] = []
        for _ in range(events):
            draw = self.rng.random()
            if draw < 0.025:
                bodies.append(("", "", self.rng.choice(MALFORMED)))
            elif draw < 0.075 and bodies and bodies[-1][0]:
                bodies.append(bodies[-1])
            else:
                bodies.append(self._event(self.rng.choice(conversations), self.rng.choice(texts), account))
        with self.redis as redis:
            ids = append(redis, [body for _, _, body in bodies], stream=STREAM)
        for entry_id, (conversation, event_id, _) in zip(ids, bodies, strict=True):
            if conversation:
                self.published.conversations[conversation].append((entry_id, event_id))
            else:
                self.published.malformed.add(entry_id)

    def _event(self, conversation: str, text: str, account: str) -> tuple[str, str, bytes]:
        number = len(self.published.conversations[conversation])
        event_id = f"{conversation}/{number}/{self.rng.getrandbits(48):012x}"
        body = body_of(event_id, user_id=account, conversation_id=conversation, text=text)
        return conversation, event_id, orjson.dumps(body)

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

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of a query, on a connection of its own."""
        with psycopg.connect(self.database_url) as connection:
            return connection.execute(query).fetchall()

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
    """A sentence for each law that does not hold now."""
    return [*_conservation(fleet), *_order(fleet), *_replies(fleet), *_escalations(fleet)]


def _conservation(fleet: Fleet) -> Iterator[str]:
    """Every entry ends as exactly one row; every event as exactly one decision."""
    ends = Counter[str]()
    for table in ("event_keys WHERE decision_id IS NOT NULL", "duplicates", "dead_letters"):
        ends.update(entry_id for (entry_id,) in fleet.rows(f"SELECT entry_id FROM {table}"))
    if lost := fleet.published.entries - set(ends):
        yield f"{len(lost)} entries without an end: {sorted(lost)[:3]}"
    if twice := [entry for entry, count in ends.items() if count > 1]:
        yield f"{len(twice)} entries with several ends: {twice[:3]}"
    if strange := set(ends) - fleet.published.entries:
        yield f"{len(strange)} ends of entries that were not published: {sorted(strange)[:3]}"
    dead = {row[0] for row in fleet.rows("SELECT entry_id FROM dead_letters")}
    if dead != fleet.published.malformed:
        yield f"dead letters differ: {sorted(dead ^ fleet.published.malformed)[:3]}"
    decided = Counter(row[0] for row in fleet.rows("SELECT event_id FROM ai_decisions"))
    if set(decided) != fleet.published.event_ids:
        yield f"decided events differ: {sorted(set(decided) ^ fleet.published.event_ids)[:3]}"
    if again := [event for event, count in decided.items() if count > 1]:
        yield f"{len(again)} events decided more than once: {again[:3]}"
    unmatched = (
        "SELECT count(*) FROM (SELECT * FROM event_keys WHERE decision_id IS NOT NULL) k"
        " FULL JOIN ai_decisions d ON d.id = k.decision_id"
        " AND d.event_id = k.event_id WHERE k.event_id IS NULL OR d.event_id IS NULL"
    )
    if (count := fleet.rows(unmatched)[0][0]) != 0:
        yield f"{count} keys and decisions that do not belong together"


def _order(fleet: Fleet) -> Iterator[str]:
    """Decisions and stored history of a conversation follow the order of its first entries."""
    decided, stored = defaultdict(list), defaultdict(list)
    keys = "SELECT k.event_id, k.entry_id FROM event_keys k JOIN ai_decisions d ON d.id = k.decision_id"
    for event_id, entry_id in fleet.rows(f"{keys} ORDER BY d.created_at, d.id"):
        decided[event_id.split("/")[0]].append((entry_id, event_id))
    for conversation, event_id in fleet.rows(
        "SELECT conversation_id, message_id FROM messages WHERE role = 'user' ORDER BY id"
    ):
        stored[conversation].append(event_id)
    for conversation, entries in fleet.published.conversations.items():
        first: dict[str, str] = {}
        for entry_id, event_id in entries:
            first.setdefault(event_id, entry_id)
        expected = [(entry_id, event_id) for event_id, entry_id in first.items()]
        if decided[conversation] != expected:
            yield f"{conversation}: decided out of order"
        places = [list(first).index(event_id) for event_id in stored[conversation]]
        if any(later <= earlier for earlier, later in pairwise(places)):
            yield f"{conversation}: stored out of order: {places}"


def _sent(fleet: Fleet, stream: str) -> list[dict[str, Any]]:
    """The bodies of a stream's entries, in order."""
    with fleet.redis as redis:
        entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", redis.xrange(stream))
    return [orjson.loads(fields[b"data"]) for _, fields in entries]


def _replies(fleet: Fleet) -> Iterator[str]:
    """Every approved reply is on the reply stream, each once, and nothing else is but texts at handoffs."""
    entries = _sent(fleet, REPLIES)
    sent = Counter(each["event_id"] for each in entries if not each["handoff"])
    approved = {row[0] for row in fleet.rows("SELECT event_id FROM ai_decisions WHERE decision = 'respond'")}
    approved -= {row[0] for row in fleet.rows("SELECT event_id FROM outbox WHERE cancelled_at IS NOT NULL")}
    yield from _differences("replies", approved, approved, sent)
    texts = Counter(each["event_id"] for each in entries if each["handoff"])
    handed = "SELECT event_id FROM outbox WHERE origin = 'handoff'"
    stored = {row[0] for row in fleet.rows(handed)}
    due = {row[0] for row in fleet.rows(f"{handed} AND cancelled_at IS NULL")}
    yield from _differences("texts at handoffs", due, stored, texts)


def _escalations(fleet: Fleet) -> Iterator[str]:
    """Every decision that escalates is opened once on the stream, what is closed once after that."""
    entries = _sent(fleet, ESCALATIONS)
    opened = Counter(each["decision_id"] for each in entries if "cause" not in each)
    closed = Counter(each["decision_id"] for each in entries if "cause" in each)
    decided = {str(row[0]) for row in fleet.rows("SELECT id FROM ai_decisions WHERE decision = 'escalate'")}
    ended = "SELECT decision_id FROM escalations WHERE closed_at IS NOT NULL"
    over = {str(row[0]) for row in fleet.rows(ended)}
    yield from _differences("opened escalations", decided, decided, opened)
    yield from _differences("closed escalations", over, over, closed)
    seen = set[str]()
    for each in entries:
        if "cause" in each and each["decision_id"] not in seen:
            yield f"closed before it was opened: {each['decision_id']}"
        seen.add(each["decision_id"])


def _differences(what: str, due: set[str], allowed: set[str], sent: Counter[str]) -> Iterator[str]:
    """What is missing on a stream, what nothing allows there, and what is there more than once."""
    if missing := due - set(sent):
        yield f"{len(missing)} {what} missing: {sorted(missing)[:3]}"
    if strange := set(sent) - allowed:
        yield f"{len(strange)} {what} without a cause: {sorted(strange)[:3]}"
    if twice := [each for each, count in sent.items() if count > 1]:
        yield f"{len(twice)} {what} sent more than once: {twice[:3]}"
