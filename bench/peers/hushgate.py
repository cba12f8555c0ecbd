"""Hushgate: a worker with queue, history, retrieval, assessment, audit commit and delivery."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from redis import Redis

from bench.engine import IN_FLIGHT
from bench.load import REPLIES, WatchedWorker, add_account, environment, event, has_worker, worker
from bench.peers.messages import INSTRUCTIONS, KEYWORDS, documents
from cli.stack import Stack
from sandbox.server import SandboxHandle
from tasks.publishing.publish import publish

PATIENCE_MS = 60_000


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
        publish(self.redis, event(f"{self.run}-{self.published}", text=text))
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
        with worker(words, environment(stack, sandbox, IN_FLIGHT=IN_FLIGHT)) as watch:
            watch.until(lambda: has_worker(redis), 120)
            yield watch


def seed(stack: Stack) -> None:
    """The account and the documents that answer its questions."""
    add_account(
        stack.database_url, documents=documents(), flagged_keywords=list(KEYWORDS), prompt=INSTRUCTIONS
    )
