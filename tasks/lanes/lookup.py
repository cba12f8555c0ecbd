"""Where the entries of one event are in the stream and its lanes; read-only, a lane is never changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, cast

import orjson
from redis import Redis
from redis.exceptions import ResponseError

from tasks.lanes.stream import GROUP
from tasks.shards.agreement import current_layout
from tasks.shards.layout import ShardStream, lane_of
from worker.errors import PayloadRejected
from worker.payload import Arrival, parse, received_at

PAGE: Final = 200
"""Entries read at a time: at the default limit of a payload a page is at most 50 MB."""


class EntryState(StrEnum):
    """What happens to an entry of the stream.

    Attributes:
        UNREAD: no worker has read it.
        WAITING: earlier entries of its conversation come first, or its lane waits for a worker.
        RUNNING: a worker decides it: calls, retries, or a hold until moderation answers.
        STALLED: the lane's worker has no heartbeat; another worker takes the lane over.
    """

    UNREAD = "unread"
    WAITING = "waiting"
    RUNNING = "running"
    STALLED = "stalled"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEntry:
    """One entry of the event that is still in the stream.

    Attributes:
        user_id: the account; None when the payload does not name one.
        published_at: the time inside ``entry_id``.
        starts: how often it was handed to a worker.
        lane: the queue of its conversation; None before a worker has read the entry.
        position: place in its lane, 1 is the head; None before a worker has read the entry.
        heartbeat_left_s: how long the owner's last heartbeat is still valid; None when it has expired.
        problem: why the payload cannot become an event; empty when it can.
    """

    entry_id: str
    user_id: str | None
    published_at: datetime
    state: EntryState
    starts: int
    lane: str | None
    position: int | None
    lane_entries: int
    worker: str | None
    heartbeat_left_s: float | None
    read_s: float | None
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Match:
    entry_id: str
    user_id: str | None
    lanes: tuple[str, ...]
    problem: str


def find_entries(
    redis: Redis, stream: str, event_id: str, *, progress: Callable[[int, int], None]
) -> tuple[FoundEntry, ...]:
    """Every entry of an event in the stream, oldest first in each shard, by reading all shards page by page.

    ``progress`` is called with the entries read so far and the entries in the stream.
    """
    found: list[FoundEntry] = []
    for each in current_layout(redis, stream).streams():
        matches = [
            match
            for entry_id, fields in _entries(redis, each.key, progress)
            if (match := _matched(entry_id, each.shard.mark, fields, event_id)) is not None
        ]
        found += filter(None, (_located(redis, each, match) for match in matches))
    return tuple(found)


def locate_entry(
    redis: Redis, stream: str, entry_id: str, *, user_id: str, conversation_id: str
) -> FoundEntry | None:
    """Where one entry of a chat is, without reading the stream; None when it is not in the stream.

    ``entry_id`` is an id as ``tasks.publishing.publish`` gives it, with the mark of its shard.
    """
    for each in current_layout(redis, stream).streams():
        own_id = entry_id.removesuffix(each.shard.mark) if each.shard.mark else entry_id
        if f"{own_id}{each.shard.mark}" != entry_id:
            continue
        lanes = _lanes(own_id, user_id, conversation_id)
        match = _Match(entry_id=own_id, user_id=user_id, lanes=lanes, problem="")
        with suppress(ResponseError):  # the id is that of another shard
            if (found := _located(redis, each, match)) is not None:
                return found
    return None


def _entries(
    redis: Redis, stream: str, progress: Callable[[int, int], None]
) -> Iterator[tuple[str, dict[bytes, bytes]]]:
    """The entries that are in the stream now; those published meanwhile are left out."""
    try:
        info: dict[str, Any] = redis.xinfo_stream(stream)
    except ResponseError:
        return  # nothing was ever published
    last, start, done = bytes(info["last-generated-id"]).decode(), "-", 0
    while True:
        rows = cast("list[tuple[bytes, dict[bytes, bytes]]]", redis.xrange(stream, start, last, count=PAGE))
        yield from ((entry_id.decode(), fields) for entry_id, fields in rows)
        done += len(rows)
        progress(done, max(done, int(info["length"])))
        if len(rows) < PAGE:
            return
        start = f"({rows[-1][0].decode()}"


def _matched(entry_id: str, mark: str, fields: dict[bytes, bytes], event_id: str) -> _Match | None:
    payload = fields.get(b"data")
    if payload is None or not _may_match(entry_id + mark, payload, event_id):
        return None
    arrival = Arrival(entry_id=entry_id + mark, size_bytes=len(payload), received_at=received_at(entry_id))
    try:
        event = parse(payload, arrival)
    except PayloadRejected as error:
        body = _body(payload)
        if event_id not in {entry_id + mark, body.get("event_id")}:
            return None
        user_id = body.get("user_id")
        return _Match(
            entry_id=entry_id,
            user_id=user_id if isinstance(user_id, str) else None,
            lanes=_lanes(entry_id, user_id, body.get("conversation_id")),
            problem=str(error),
        )
    if event.event_id != event_id:
        return None
    lanes = _lanes(entry_id, event.user_id, event.conversation_id)
    return _Match(entry_id=entry_id, user_id=event.user_id, lanes=lanes, problem="")


def _may_match(entry_id: str, payload: bytes, event_id: str) -> bool:
    """False when parsing cannot give this event id; a backlog is long, and parsing all of it is slow."""
    escaped_or_wrapped = b"\\" in payload or b'"specversion"' in payload
    return escaped_or_wrapped or event_id.encode(errors="replace") in payload or event_id == entry_id


def _body(payload: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(payload)
    except orjson.JSONDecodeError:
        return {}
    inner = body.get("data") if isinstance(body, dict) and "specversion" in body else body
    return inner if isinstance(inner, dict) else {}


def _lanes(entry_id: str, user_id: object, conversation_id: object) -> tuple[str, ...]:
    """The lanes that ``lane_of`` in prelude.lua may have chosen: the conversation's, or the entry's own."""
    own = f"!{entry_id}"
    if not isinstance(user_id, str) or not isinstance(conversation_id, str):
        return (own,)
    return lane_of(user_id, conversation_id), own


def _located(redis: Redis, place: ShardStream, match: _Match) -> FoundEntry | None:
    """Where a matched entry is, from one snapshot; None when it has left the stream meanwhile."""
    prefix, stream, mark = place.shard.prefix, place.key, place.shard.mark
    pipe = redis.pipeline(transaction=True)
    pipe.xrange(stream, match.entry_id, match.entry_id)
    pipe.hget(f"{prefix}starts", match.entry_id)
    for lane in match.lanes:
        pipe.zrank(f"{prefix}lane:{lane}", _padded(match.entry_id))
        pipe.zcard(f"{prefix}lane:{lane}")
        pipe.hget(f"{prefix}owner", lane)
    present, starts, *of_lanes = pipe.execute()
    if not present:
        return None
    places = [
        (lane, *of_lanes[3 * number : 3 * number + 3])
        for number, lane in enumerate(match.lanes)
        if of_lanes[3 * number] is not None
    ]
    lane, rank, entries, ownership = places[0] if places else (None, None, 0, None)
    worker = bytes(ownership).decode().rpartition(" ")[0] if ownership else None
    left_ms = int(redis.pttl(f"{prefix}hb:{worker}")) if worker else -2
    return FoundEntry(
        entry_id=match.entry_id + mark,
        user_id=match.user_id,
        published_at=datetime.fromtimestamp(received_at(match.entry_id).timestamp(), tz=UTC),
        state=_state(rank, owned=worker is not None, alive=left_ms >= 0),
        starts=int(starts or 0),
        lane=lane,
        position=None if rank is None else int(rank) + 1,
        lane_entries=int(entries),
        worker=worker,
        heartbeat_left_s=left_ms / 1000 if left_ms >= 0 else None,
        read_s=_read_s(redis, stream, match.entry_id),
        problem=match.problem,
    )


def _state(rank: int | None, *, owned: bool, alive: bool) -> EntryState:
    if rank is None:
        return EntryState.UNREAD
    if rank > 0 or not owned:
        return EntryState.WAITING
    return EntryState.RUNNING if alive else EntryState.STALLED


def _read_s(redis: Redis, stream: str, entry_id: str) -> float | None:
    try:
        rows = cast("list[dict[str, Any]]", redis.xpending_range(stream, GROUP, entry_id, entry_id, 1))
    except ResponseError:
        return None  # no worker was ever started: there is no group
    return rows[0]["time_since_delivered"] / 1000 if rows else None


def _padded(entry_id: str) -> str:
    """An entry id as lanes hold it: both numbers with 20 digits."""
    milliseconds, _, sequence = entry_id.partition("-")
    return f"{milliseconds:0>20}-{sequence:0>20}"
