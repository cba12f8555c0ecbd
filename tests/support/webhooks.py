"""A receiver of webhooks on loopback, endpoints, events, and a clock that tests set."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

from db import access_log
from db.pool import Pool, checkout
from db.webhooks import endpoints, subscriptions
from db.webhooks.endpoints import NewEndpoint
from db.webhooks.subscriptions import WebhookEvent
from tasks.webhooks.poller import WebhookPoller
from worker.cancellation import cancel_all
from worker.webhooks.signing import encode_secret
from worker.webhooks.types import WebhookType

KEY = b"k" * 32
SECRET = encode_secret(KEY)
NUMBERS = count(1)
LOGGED = access_log.LogEntry(action=access_log.LoggedAction.WEBHOOK, person="test")


async def send_due(poller: WebhookPoller) -> None:
    """Send all that is due now and wait for the attempts, within the sender."""
    attempts = poller._attempts
    while await poller.look() or attempts.running:
        if attempts.running:
            await asyncio.wait(set(attempts.running))


@dataclass(slots=True)
class Clock:
    """The time of a test; it stands still."""

    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def now(self) -> datetime:
        """The time."""
        return self.at

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self.at += timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def identifier(self) -> str:
        """Its ``webhook-id``."""
        return self.headers["webhook-id"]

    @property
    def json(self) -> Any:
        """Its body."""
        return json.loads(self.body)


Answer = Callable[[Request], Awaitable[bytes]]


def answer(status: int = 200, body: bytes = b"", **headers: str) -> bytes:
    """An HTTP answer."""
    lines = [f"HTTP/1.1 {status} Said"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines += [f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


@dataclass(slots=True)
class Receiver:
    """An HTTP server; ``says`` gives the answer's bytes, as broken as a test wants them.

    Attributes:
        requests: every one that came as a whole, in order.
        keeps_open: whether a connection stays open behind its answer, until the sender closes it.
    """

    keeps_open: bool = False
    requests: list[Request] = field(default_factory=list)
    status: int = 200
    port: int = 0
    says: Answer | None = None
    serving: set[asyncio.Task[Any]] = field(default_factory=set)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}/hook"

    def ids(self) -> list[str]:
        """The ids of the events, each once, in the order of their first requests."""
        return list(dict.fromkeys(each.identifier for each in self.requests))

    async def count(self, requests: int) -> None:
        """Wait for so many requests."""
        async with asyncio.timeout(90), self.changed:
            await self.changed.wait_for(lambda: len(self.requests) >= requests)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        task = asyncio.current_task()
        assert task is not None
        self.serving.add(task)
        task.add_done_callback(self.serving.discard)
        try:
            request = await read_request(reader)
            async with self.changed:
                self.requests.append(request)
                self.changed.notify_all()
            said = answer(self.status) if self.says is None else await self.says(request)
            writer.write(said)
            await writer.drain()
            if self.keeps_open:
                await reader.read()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # Python 3.11 logs a cancelled connection as an error
        finally:
            writer.close()


async def read_request(reader: asyncio.StreamReader) -> Request:
    """One request of a connection."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (line.split(": ", 1) for line in head[1:] if line)
    headers = {name.lower(): value for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(path=head[0].split(" ")[1], headers=headers, body=body)


@asynccontextmanager
async def receiving(receiver: Receiver | None = None) -> AsyncIterator[Receiver]:
    """A running receiver."""
    receiver = receiver or Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        await cancel_all(receiver.serving)
        await server.wait_closed()


async def hang(_: Request) -> bytes:
    """Never answer."""
    await asyncio.Event().wait()
    return b""


def new_account() -> str:
    """An account that no other test has."""
    return f"account-{next(NUMBERS)}"


async def add_endpoint(source: Pool, account: str, url: str, *types: str, at: datetime | None = None) -> UUID:
    """An enabled endpoint with ``SECRET``; without types it receives all."""
    new = NewEndpoint(
        user_id=account, url=url, description="", types=types or tuple(WebhookType), created_by="test"
    )
    began = at or datetime.now(UTC) - timedelta(minutes=1)
    made = await endpoints.add_endpoint(source, new, KEY, began, logged=LOGGED)
    assert made is not None
    return made


async def add_events(
    source: Pool, account: str, *conversations: str, at: datetime | None = None
) -> list[str]:
    """A decision's event for each conversation, in order; their keys."""
    keys = [f"key-{next(NUMBERS):06}" for _ in conversations]
    events = [
        WebhookEvent(
            user_id=account,
            conversation_id=conversation,
            key=key,
            body={"number": key, "conversation_id": conversation},
            created_at=at or datetime.now(UTC),
        )
        for conversation, key in zip(conversations, keys, strict=True)
    ]
    async with checkout(source) as connection, connection.transaction():
        await subscriptions.store_events(connection, WebhookType.DECISION_MADE, events)
    return keys
