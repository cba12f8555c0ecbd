"""An engine inside the test process, on real servers, and what tests ask of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, cast

import orjson
import psycopg
from psycopg.rows import dict_row
from redis import Redis

from db.account_settings import accounts
from db.pool import create_pool
from sandbox.server import SandboxHandle
from tasks.publishing.publish import append
from tasks.runtime import Runtime
from tests.support.samples import body_of
from tests.support.seeding import seed_document
from worker.account_settings import changed
from worker.model import Account
from worker.settings import Settings

PATIENCE_S = 90.0
NUMBERS = count(1)
OPEN = {
    "ai_control_enabled": True,
    "ai_enabled_for_chats": True,
    "ai_enabled_for_comments": True,
    "burst_window_s": 0.0,
}
"""An account that answers everywhere, without a wait for further messages."""


def eventually(look: Callable[[], Any], what: str) -> Any:
    """The first truthy value that ``look`` gives; the failure says what was waited for."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited {PATIENCE_S:.0f} s for {what}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A running engine with its database, its Redis and its sandbox."""

    runtime: Runtime
    url: str
    redis_url: str
    database: psycopg.Connection[dict[str, Any]]
    redis: Redis
    sandbox: SandboxHandle

    def account(self, *, documents: Mapping[str, list[str]] | None = None, **settings: Any) -> str:
        """A new account that answers everywhere unless ``settings`` say otherwise; its name."""
        user_id: str = settings.pop("name", f"account-{next(NUMBERS)}")
        account = changed(Account(user_id=user_id, version=0), {**OPEN, **settings})
        asyncio.run(store_account(self.url, account))
        for title, paragraphs in (documents or {}).items():
            seed_document(self.url, user_id, title, paragraphs)
        return user_id

    def change(self, user_id: str, **settings: Any) -> None:
        """Store the next version of an account's settings."""
        asyncio.run(_change(self.url, user_id, settings))

    def publish(self, user_id: str, text: str, **more: Any) -> str:
        """Publish one event; its id."""
        event_id = more.pop("event_id", f"event-{next(NUMBERS)}")
        body = body_of(event_id, user_id=user_id, text=text, **more)
        append(self.redis, [orjson.dumps(body)])
        return str(body["event_id"])

    def row(self, query: str, *values: object) -> dict[str, Any] | None:
        """The first row of a query."""
        return self.database.execute(query, values).fetchone()

    def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        """All rows of a query."""
        return self.database.execute(query, values).fetchall()

    def decided(self, user_id: str, event_id: str) -> dict[str, Any]:
        """The audit row of an event, once it is there."""
        query = "SELECT * FROM ai_decisions WHERE user_id = %s AND event_id = %s"
        row: dict[str, Any] = eventually(
            lambda: self.row(query, user_id, event_id), f"a decision on {event_id}"
        )
        return row

    def decide(self, user_id: str, text: str, **more: Any) -> dict[str, Any]:
        """Publish a text and return its audit row."""
        return self.decided(user_id, self.publish(user_id, text, **more))

    def reply(self, user_id: str, event_id: str) -> dict[str, Any] | None:
        """The reply stream's entry of an event, or None."""
        key = f"{user_id}/{event_id}".encode()
        entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", self.redis.xrange("hushgate:replies"))
        found = [fields[b"data"] for _, fields in entries if fields[b"key"] == key]
        assert len(found) <= 1
        return dict(orjson.loads(found[0])) if found else None


async def store_account(url: str, account: Account) -> None:
    """Store the first version of an account."""
    async with create_pool(url, size=1, application="test", role=None) as source:
        await accounts.store_account(source, account, changed_by="test")


async def _change(url: str, user_id: str, settings: Mapping[str, Any]) -> None:
    async with create_pool(url, size=1, application="test", role=None) as source:
        account = await accounts.current_account(source, user_id)
        await accounts.store_account(source, changed(account, settings), changed_by="test")


def settings_of(url: str, redis_url: str, sandbox: SandboxHandle, **environment: str) -> Settings:
    """Settings of a worker with short waits; ``environment`` overrides them, an empty value removes one."""
    values = {
        "DATABASE_URL": url,
        "REDIS_URL": redis_url,
        "HUSHGATE_MODEL_URL": sandbox.base_url,
        "HUSHGATE_MODEL_KEY": "sandbox",
        "HUSHGATE_MODEL_FIRST_WAIT_S": "0.01",
        "HUSHGATE_MODEL_TIMEOUT_S": "5",
        "HUSHGATE_MODERATION_REUSE_S": "0",
        **environment,
    }
    return Settings.model_validate({name: value for name, value in values.items() if value})


@contextmanager
def running(url: str, redis_url: str, sandbox: SandboxHandle, **environment: str) -> Iterator[Running]:
    """An engine with short waits; ``environment`` overrides its settings."""
    settings = settings_of(url, redis_url, sandbox, **environment)
    runtime = Runtime(settings)
    runtime.start()
    try:
        with (
            psycopg.connect(url, autocommit=True, row_factory=dict_row) as database,
            Redis.from_url(redis_url) as redis,
        ):
            yield Running(
                runtime=runtime, url=url, redis_url=redis_url, database=database, redis=redis, sandbox=sandbox
            )
    finally:
        runtime.stop()
