"""Signs of life of beat and of the workers that run its tasks: keys whose time to live is their age."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress
from typing import Any, Final

import structlog
from celery.signals import after_task_publish
from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import RedisError

from tasks.shards.clients import LuaScript, connect_sync

log = structlog.get_logger(__name__)

KEPT_S: Final = 86_400
"""The longest age that is known; a missing key has this age."""
SEEN_S: Final = 30
REACH_S: Final = 5.0
SIGN: Final = """#!lua flags=allow-oom
-- KEYS[1] beats; ARGV[1] this beat, ARGV[2] seconds that are kept.
local now = tonumber(redis.call('TIME')[1])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
"""
LATELY: Final = """#!lua flags=no-writes
-- KEYS[1] beats; ARGV[1] seconds.
return redis.call('ZRANGEBYSCORE', KEYS[1], redis.call('TIME')[1] - ARGV[1], '+inf')
"""


def beat_key(stream: str) -> str:
    """Written when beat sends a task."""
    return f"{{{stream}}}:beat"


def tasks_key(stream: str) -> str:
    """Written when a worker runs a task of beat, and when beat first starts: they may be late from then."""
    return f"{{{stream}}}:tasks"


def beats_key(stream: str) -> str:
    """The beats that sent a task lately; score: when, in seconds by the clock of Redis."""
    return f"{{{stream}}}:beats"


def sign_beat(url: str, stream: str) -> None:
    """Sign now and whenever this process sends a task; called once, when beat starts."""
    redis = connect_sync(url, timeout_s=REACH_S)
    name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"

    def sign(**_signal: Any) -> None:
        try:
            redis.set(beat_key(stream), 1, ex=KEPT_S)
            LuaScript(redis, SIGN).run(keys=[beats_key(stream)], args=[name, KEPT_S])
        except RedisError as error:  # the next task is sent within 10 s
            log.warning("beat_not_signed", error=type(error).__name__)

    sign()
    with suppress(RedisError):  # as ``sign`` logs
        redis.set(tasks_key(stream), 1, ex=KEPT_S, nx=True)
    after_task_publish.connect(sign, weak=False)


async def sign_tasks(redis: AsyncRedis, stream: str) -> None:
    """Sign that a worker ran a task of beat; a Redis that does not answer is ignored."""
    try:
        await redis.set(tasks_key(stream), 1, ex=KEPT_S)
    except RedisError as error:
        log.warning("tasks_not_signed", error=type(error).__name__)


async def load_beats(redis: AsyncRedis, stream: str) -> tuple[str, ...]:
    """The beats that sent a task within ``SEEN_S``: host, process and a random part of each."""
    found = await LuaScript(redis, LATELY)(keys=[beats_key(stream)], args=[SEEN_S])
    return tuple(bytes(each).decode(errors="replace") for each in found)


async def load_ages(redis: AsyncRedis, stream: str) -> tuple[float, float]:
    """Seconds since beat sent a task, and since a worker ran one or beat started; ``KEPT_S`` at most."""
    sent, ran = [await redis.pttl(key) for key in (beat_key(stream), tasks_key(stream))]
    return _age_s(sent), _age_s(ran)


def _age_s(left_ms: int) -> float:
    return KEPT_S - max(0, left_ms) / 1000
