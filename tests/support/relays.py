"""What relays put on streams, and relays as failures leave them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from redis.asyncio import Redis

from db import outbox
from db.pool import Pool
from tasks.sending.once_stream import OnceStream
from tasks.sending.replies import REPLY_ROWS


async def stream_entries(redis: Redis, stream: str) -> list[dict[str, Any]]:
    """The entries of a stream: fields as text, ``data`` parsed."""
    found = cast("list[tuple[bytes, dict[bytes, bytes]]]", await redis.xrange(stream))
    rows = [{key.decode(): value.decode() for key, value in fields.items()} for _, fields in found]
    return [row | {"data": json.loads(row["data"])} for row in rows]


class Killed(Exception):
    """Ends a relay where SIGKILL would."""


async def none_sent(events: Sequence[tuple[str, str]]) -> list[UUID | None]:
    """No relay put any of these replies on the stream."""
    return [None] * len(events)


async def send_and_die(source: Pool, redis: Redis, stream: str, now: datetime) -> None:
    """Put every waiting reply on the stream and end before Postgres records it."""
    with suppress(Killed):
        async with (
            OnceStream(redis, stream).lease() as lease,
            outbox.waiting_replies(source, 200, now, none_sent) as batch,
        ):
            assert lease is not None
            assert batch is not None
            await lease.put([REPLY_ROWS.entry(row) for row in batch.rows])
            raise Killed
