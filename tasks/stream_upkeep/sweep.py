"""The sweep of the outgoing streams: delete, measure, warn."""

from __future__ import annotations

import structlog
from redis.asyncio import Redis

from tasks.stream_upkeep.figures import load_figures, stream_names, stream_problems
from tasks.stream_upkeep.trimming import Keep, trim
from worker.settings import OutgoingStreamSettings

log = structlog.get_logger(__name__)


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
