"""Figures of outgoing streams: entries, consumer groups, and how far each group is behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog
from redis.asyncio import Redis

from tasks.sending.entry_types import ENTRY_TYPES
from tasks.stream_upkeep.trimming import Keep, text_of, trim, trimmed_key
from worker.settings import OutgoingStreamSettings

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFigures:
    """One consumer group.

    Attributes:
        pending: entries delivered to a consumer and not acknowledged.
        lag: entries not delivered yet, as Redis counts them; None when Redis does not know.
        unread_s: age of the oldest entry that is not acknowledged, delivered or not; None without one.
    """

    name: str
    consumers: int
    pending: int
    lag: int | None
    unread_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFigures:
    """One stream.

    Attributes:
        name: of its setting: ``reply``, ``retraction``, ``escalation``.
        oldest_s: age of its first entry; None when it is empty.
        trimmed_to: limit of the last deletion, an entry id; None before the first.
    """

    name: str
    stream: str
    entries: int
    oldest_s: float | None
    trimmed_to: str | None
    groups: tuple[GroupFigures, ...]

    @property
    def furthest_behind(self) -> GroupFigures | None:
        """The group with the oldest entry that is not acknowledged."""
        behind = [each for each in self.groups if each.unread_s is not None]
        return max(behind, key=lambda each: each.unread_s or 0.0, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamProblem:
    """Why a stream needs a person; ``fix`` says what to do."""

    stream: str
    found: str
    fix: str


WARN_ENTRIES: Final = 100_000
"""About 100 MB of Redis; a consumer that keeps up leaves a few thousand."""
WARN_UNREAD_S: Final = 3600.0
"""A reply that no consumer fetched for so long is late for its author."""
GROUP_FIX: Final = (
    "start the consumers of the group; if nothing uses it any more, XGROUP DESTROY lets entries be deleted"
)
GROUPLESS_FIX: Final = (
    "let consumers read in a group (XGROUP CREATE), or reduce ungrouped_streams_days of HUSHGATE_KEEP:"
    " entries of a stream without groups are kept for so many days, with 0 for ever"
)
LONG_FIX: Final = "check that beat runs, or reduce streams_days of HUSHGATE_KEEP"


def stream_names(settings: OutgoingStreamSettings) -> dict[str, str]:
    """The key of each outgoing stream, by its name; several types may share a stream."""
    return {each.setting.removesuffix("_stream"): getattr(settings, each.setting) for each in ENTRY_TYPES}


async def load_figures(redis: Redis, name: str, stream: str) -> StreamFigures:
    """The figures of one stream; of a missing one zeros.

    Raises:
        RedisError: Redis did not answer, or the key holds no stream.
    """
    entries = int(await redis.xlen(stream))
    now_s, microseconds = await redis.time()
    now_ms = now_s * 1000 + microseconds // 1000
    exists = bool(await redis.exists(stream))
    rows: Sequence[Any] = await redis.xinfo_groups(stream) if exists else ()
    groups = [await _group(redis, stream, row, now_ms) for row in rows]
    first = await _first_id(redis, stream, "-")
    trimmed_to = await redis.get(trimmed_key(stream))
    return StreamFigures(
        name=name,
        stream=stream,
        entries=entries,
        oldest_s=_age_s(first, now_ms),
        trimmed_to=text_of(trimmed_to) if trimmed_to else None,
        groups=tuple(groups),
    )


def stream_problems(found: StreamFigures) -> Iterator[StreamProblem]:
    """What is wrong with a stream, longer than ``WARN_ENTRIES`` or unread for ``WARN_UNREAD_S``."""
    group = found.furthest_behind
    if group is not None and (group.unread_s or 0.0) > WARN_UNREAD_S:
        text = f"group {group.name}: oldest entry without an acknowledgement is {group.unread_s:.0f} s old"
        yield StreamProblem(stream=found.stream, found=text, fix=GROUP_FIX)
    if found.entries > WARN_ENTRIES:
        text = f"{found.entries} entries, {len(found.groups)} groups"
        fix = LONG_FIX if found.groups else GROUPLESS_FIX
        yield StreamProblem(stream=found.stream, found=text, fix=fix)


async def _group(redis: Redis, stream: str, row: Any, now_ms: int) -> GroupFigures:
    name, lag = text_of(row["name"]), row.get("lag")
    pending: Any = await redis.xpending(stream, row["name"])
    undelivered = await _first_id(redis, stream, f"({text_of(row['last-delivered-id'])}")
    unread = [text_of(each) for each in (pending["min"], undelivered) if each is not None]
    return GroupFigures(
        name=name,
        consumers=int(row["consumers"]),
        pending=int(row["pending"]),
        lag=None if lag is None else int(lag),
        unread_s=max((_age_s(each, now_ms) or 0.0 for each in unread), default=None),
    )


async def _first_id(redis: Redis, stream: str, start: str) -> str | None:
    rows: Any = await redis.xrange(stream, start, "+", count=1)
    return text_of(rows[0][0]) if rows else None


def _age_s(entry_id: str | None, now_ms: int) -> float | None:
    return None if entry_id is None else max(0, now_ms - int(entry_id.partition("-")[0])) / 1000


async def sweep_streams(redis: Redis, settings: OutgoingStreamSettings) -> None:
    """Delete entries that every group has read, and log the figures and the problems of each stream.

    Raises:
        RedisError: safe to repeat.
    """
    for name, stream in stream_names(settings).items():
        trimmed = await trim(redis, stream, Keep.of(settings))
        found = await load_figures(redis, name, stream)
        behind = found.furthest_behind
        log.info(
            "stream_swept",
            stream=stream,
            deleted=trimmed.entries,
            entries=found.entries,
            groups=len(found.groups),
            unread_s=behind.unread_s if behind else None,
        )
        for problem in stream_problems(found):
            log.warning("stream_needs_attention", stream=stream, found=problem.found, fix=problem.fix)
