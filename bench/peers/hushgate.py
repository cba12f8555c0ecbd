"""Hushgate: a worker with queue, history, retrieval, assessment, audit commit and delivery."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import psycopg
from redis import Redis

from bench.engine import WatchedWorker, event, has_worker, pipeline_environment, worker
from bench.peers.messages import INSTRUCTIONS, KEYWORDS, documents
from cli.stack import Stack
from db.documents.storage import add_text_document
from db.pool import create_pool
from db.schema import migrate
from sandbox.server import SandboxHandle
from tasks.publishing.publish import publish

REPLIES = "hushgate:replies"
PATIENCE_MS = 60_000
NAMES = ("event_id", "conversation_id", "message_id")


@dataclass(slots=True, kw_only=True)
class Publisher:
    """Keeps ``concurrency`` messages unanswered, from publishing each to its entry on the reply stream."""

    redis: Redis
    concurrency: int
    run: str
    last: str = "0-0"
    published: int = 0

    def answered(self, messages: Sequence[str]) -> int:
        """Publish all messages and return how many were answered.

        Raises:
            TimeoutError: no reply for a minute, as for a message that ended in silence.
        """
        waiting, open_messages, answered = iter(messages), 0, 0
        while answered < len(messages):
            while open_messages < self.concurrency and (text := next(waiting, None)) is not None:
                self._publish(text)
                open_messages += 1
            found = len(self._replies())
            open_messages, answered = open_messages - found, answered + found
        return answered

    def _publish(self, text: str) -> None:
        names = {field: f"{self.run}-{field}-{self.published}" for field in NAMES}
        publish(self.redis, event(self.published) | {"text": text} | names)
        self.published += 1

    def _replies(self) -> list[Any]:
        found = cast("Any", self.redis.xread({REPLIES: self.last}, block=PATIENCE_MS))
        if not found:
            raise TimeoutError(f"no reply within {PATIENCE_MS / 1000:.0f} s")
        entries: list[Any] = found[0][1]
        self.last = entries[-1][0]
        return entries


@contextmanager
def running(stack: Stack, sandbox: SandboxHandle) -> Iterator[WatchedWorker]:
    """A worker on empty streams."""
    with Redis.from_url(stack.redis_url) as redis:
        redis.flushall()
        words = ["tasks", "worker"]
        with worker(words, pipeline_environment(stack, sandbox)) as watch:
            watch.until(lambda: has_worker(redis), 120)
            yield watch


def seed(stack: Stack) -> None:
    """The account and the documents that answer its questions."""
    migrate.upgrade(stack.database_url)
    with psycopg.connect(stack.database_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO ai_rules (user_id, ai_control_enabled, ai_enabled_for_chats, burst_window_s,"
            " stale_reply, flagged_keywords, prompt) VALUES ('u', true, true, 0, 'send', %s, %s)",
            (list(KEYWORDS), INSTRUCTIONS),
        )
    asyncio.run(_add_documents(stack.database_url))


def check_endings(stack: Stack) -> None:
    """Every decision must be a reply of the model; events that end early, and fallback texts, cost less."""
    with psycopg.connect(stack.database_url) as connection:
        found: dict[str, int] = dict(
            connection.execute("SELECT reason_code, count(*) FROM ai_decisions GROUP BY 1").fetchall()
        )
    if set(found) != {"REPLIED"}:
        raise AssertionError(f"expected replies only, got {found}")


async def _add_documents(url: str) -> None:
    async with create_pool(url, size=1, application="bench", role=None) as source:
        for title, paragraphs in documents().items():
            await add_text_document(source, "u", title, paragraphs)
