"""Entries of streams that belong to what is erased: found by reading the streams page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import orjson
from redis.asyncio import Redis

from compliance.erasure.records import Erasure, ErasureKind
from compliance.erasure.steps import ErasureTargets
from tasks.shards.layout import ShardLayout

PAGE: Final = 200
FIELDS: Final = {
    ErasureKind.AUTHOR: "author_id",
    ErasureKind.CONVERSATION: "conversation_id",
}
NOTHING: Final = "0-0"


async def newest_entries(redis: Redis, layout: ShardLayout) -> str:
    """The id of each shard's newest entry ever, with the shard's mark; ``0-0`` for a shard without entries.

    Raises:
        RedisError: Redis did not answer, or the shards are being doubled; repeat it.
    """
    found = []
    for each in layout.streams():
        newest = NOTHING
        if await redis.exists(each.key):
            info: Any = await redis.xinfo_stream(each.key)
            newest = _text(info["last-generated-id"])
        found.append(newest + each.shard.mark)
    return " ".join(found)


async def waiting_events(redis: Redis, layout: ShardLayout, erasure: Erasure) -> int:
    """Events of an erasure that no worker has decided yet, among entries up to ``until_entry``.

    Among all, where it has not begun, and in shards that were made after it has begun.

    Raises:
        RedisError: as of ``newest_entries``.
    """
    limits = {mark: entry_id for entry_id, _, mark in _parts(erasure.until_entry or "")}
    found = 0
    for each in layout.streams():
        last = limits.get(each.shard.mark.removeprefix("@"), "+")
        async for _, payload in _entries(redis, each.key, last):
            found += _is_of(erasure, payload)
    return found


async def count_entries(redis: Redis, stream: str, targets: ErasureTargets) -> int:
    """The entries of an outgoing stream that belong to an erasure."""
    found = 0
    async for entry_id, payload in _entries(redis, stream, "+"):
        found += targets.include(entry_id, _body(payload))
    return found


async def erase_entries(redis: Redis, stream: str, targets: ErasureTargets) -> int:
    """Delete the entries of an outgoing stream of an erasure; how many.

    Each is acknowledged in every group first: an entry that is gone and pending would stop the trimming.
    """
    if not await redis.exists(stream):
        return 0
    groups = [_text(row["name"]) for row in await redis.xinfo_groups(stream)]
    deleted = 0
    async for entry_id, payload in _entries(redis, stream, "+"):
        if targets.include(entry_id, _body(payload)):
            pipe = redis.pipeline(transaction=True)
            for group in groups:
                pipe.xack(stream, group, entry_id)
            pipe.xdel(stream, entry_id)
            deleted += int((await pipe.execute())[-1])
    return deleted


async def _entries(redis: Redis, stream: str, last: str) -> AsyncIterator[tuple[str, bytes]]:
    start = "-"
    while True:
        rows: Any = await redis.xrange(stream, start, last, count=PAGE)
        for entry_id, fields in rows:
            yield _text(entry_id), fields.get(b"data") or b""
        if len(rows) < PAGE:
            return
        start = f"({_text(rows[-1][0])}"


def _is_of(erasure: Erasure, payload: bytes) -> bool:
    """Whether an event's payload belongs to an erasure; an unreadable payload if the name is in it."""
    body, subject = _body(payload), erasure.subject or ""
    field = FIELDS.get(ErasureKind(erasure.kind))
    account = body.get("user_id")
    if isinstance(account, str) and account != erasure.user_id:
        return False
    if field is None:
        return account == erasure.user_id or (not body and _names(payload, erasure.user_id))
    value = body.get(field)
    return value == subject if isinstance(value, str) else _names(payload, subject)


def _names(payload: bytes, subject: str) -> bool:
    escaped = orjson.dumps(subject)
    return escaped in payload or ascii(subject)[1:-1].encode() in payload


def _body(payload: bytes) -> Mapping[str, Any]:
    """The event in a payload, without its CloudEvents envelope; empty for another payload."""
    try:
        body = orjson.loads(payload)
    except orjson.JSONDecodeError:
        return {}
    if isinstance(body, dict) and "specversion" in body and isinstance(body.get("data"), dict):
        body = body["data"]
    return body if isinstance(body, dict) else {}


def _parts(until: str) -> list[tuple[str, str, str]]:
    return [each.partition("@") for each in until.split()]


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
