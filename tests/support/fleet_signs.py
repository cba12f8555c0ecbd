"""The signs of life that workers and beat leave in Redis, without the processes."""

from __future__ import annotations

from redis import Redis

from tasks.fleet.beats import KEPT_S, beat_key, tasks_key

STREAM = "hushgate:events"


def sign_fleet(redis_url: str, *, age_s: int = 1) -> None:
    """A worker that lives, and a beat whose task was run this long ago."""
    with Redis.from_url(redis_url) as redis:
        redis.sadd(f"{{{STREAM}}}:workers", "here:1")
        redis.set(f"{{{STREAM}}}:hb:here:1", 1)
        for key in (beat_key(STREAM), tasks_key(STREAM)):
            redis.set(key, 1, ex=KEPT_S - age_s)
