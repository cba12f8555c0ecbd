"""What measurements of a worker share: the account, its events, and the watched process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import orjson
import psutil
import psycopg
from psycopg.sql import SQL, Identifier
from redis import Redis
from rich.console import Console
from rich.table import Table

from cli.stack import Stack
from db.documents.storage import add_text_document
from db.pool import create_pool
from db.schema import migrate
from sandbox.server import SandboxHandle

STREAM = "hushgate:events"
REPLIES = "hushgate:replies"
LOG = Path("out/bench-worker.log")
RETURNS = {"Returns": ("A purchase may be returned within thirty days.",)}
SETTINGS = {
    "ai_control_enabled": True,
    "ai_enabled_for_chats": True,
    "burst_window_s": 0,
    "stale_reply": "send",
}


@dataclass(slots=True)
class WatchedWorker:
    """A worker process under observation."""

    process: psutil.Process
    rss: int = 0
    waiting_rss: list[int] = field(default_factory=list)

    def family(self) -> list[psutil.Process]:
        """The worker and its children."""
        return [self.process, *self.process.children(recursive=True)]

    def cpu_s(self) -> float:
        """CPU seconds used so far."""
        times = [each.cpu_times() for each in self.family()]
        return float(sum(each.user + each.system for each in times))

    def look(self) -> int:
        """The size; recorded if it is the largest so far."""
        size = sum(each.memory_info().rss for each in self.family())
        self.rss = max(self.rss, size)
        return size

    def until(self, condition: Callable[[], bool], patience_s: float = 600.0) -> None:
        """Wait for a condition and record the largest size."""

        def met() -> bool:
            self.look()
            return condition()

        until(met, patience_s)


@contextmanager
def worker(words: list[str], environment: dict[str, str]) -> Iterator[WatchedWorker]:
    """A worker process, ended by SIGTERM."""
    LOG.parent.mkdir(exist_ok=True)
    with LOG.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *words], env={**os.environ, **environment}, stdout=output, stderr=output
        )
    try:
        yield WatchedWorker(psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait(60)


def until(condition: Callable[[], Any], patience_s: float) -> None:
    """Wait for a condition.

    Raises:
        TimeoutError: it did not come true in time.
    """
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {patience_s} s")
        time.sleep(0.05)


def has_worker(redis: Redis) -> bool:
    """True when an engine has a heartbeat."""
    return bool(redis.scard(f"{{{STREAM}}}:workers"))


def event(number: int | str, **changed: str) -> dict[str, str]:
    """An event in a conversation of its own, which the document answers."""
    return {
        "event_id": f"e{number}",
        "user_id": "u",
        "scope": "chat",
        "conversation_id": f"c{number}",
        "message_id": f"m{number}",
        "author_id": "a",
        "text": "Within how many days may a purchase be returned?",
        "created_at": datetime.now(UTC).isoformat(),
        **changed,
    }


def environment(stack: Stack, sandbox: SandboxHandle, **more: object) -> dict[str, str]:
    """The variables of a whole worker; ``more`` without ``HUSHGATE_``."""
    return {
        "DATABASE_URL": stack.database_url,
        "REDIS_URL": stack.redis_url,
        "HUSHGATE_MODEL_URL": sandbox.base_url,
        "HUSHGATE_MODEL_KEY": "none",
        "HUSHGATE_MODERATION_REUSE_S": "0",  # all events have the same text
        **{f"HUSHGATE_{name}": str(value) for name, value in more.items()},
    }


def add_account(
    url: str,
    account: str = "u",
    *,
    documents: Mapping[str, Iterable[str]] = RETURNS,
    **settings: object,
) -> None:
    """Migrate the database, and store an account with its documents, by title."""
    migrate.upgrade(url)
    row = {"user_id": account, **SETTINGS, **settings}
    insert = SQL("INSERT INTO ai_rules ({}) VALUES ({})").format(
        SQL(", ").join(map(Identifier, row)), SQL(", ").join(SQL("%s") for _ in row)
    )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(insert, list(row.values()))
    asyncio.run(_add_documents(url, account, documents))


async def _add_documents(url: str, account: str, documents: Mapping[str, Iterable[str]]) -> None:
    async with create_pool(url, size=1, application="bench", role=None) as source:
        for title, paragraphs in documents.items():
            await add_text_document(source, account, title, list(paragraphs))


def require_replies(url: str, events: int | None = None) -> None:
    """Every decision must be a reply, of so many events: those that end early would lower the figures."""
    with psycopg.connect(url) as connection:
        query = "SELECT reason_code, count(*) FROM ai_decisions GROUP BY 1"
        endings: dict[str, int] = dict(connection.execute(query).fetchall())
    if set(endings) != {"REPLIED"} or events not in (None, endings["REPLIED"]):
        raise AssertionError(f"expected replies only, {events or 'any number'}, got {endings}")


def reply_ids(redis: Redis) -> dict[str, str]:
    """The stream entry of each reply, by event."""
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", redis.xrange(REPLIES))
    return {orjson.loads(fields[b"data"])["event_id"]: entry.decode() for entry, fields in entries}


def entry_s(entry_id: str) -> float:
    """The time of a stream entry, in seconds of Unix time."""
    return int(entry_id.partition("-")[0]) / 1000


def show(document: object, tables: Iterable[Table | str], out: Path) -> None:
    """Tables on a terminal, JSON in a pipe, JSON in the file always."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(document, indent=2) + "\n")
    if sys.stdout.isatty():
        console = Console()
        for each in tables:
            console.print(each)
    else:
        print(json.dumps(document))
