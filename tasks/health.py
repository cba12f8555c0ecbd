"""``python -m tasks.health worker|beat``: the container health check."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from redis import Redis
from redis.exceptions import RedisError

from tasks.shards.agreement import current_layout
from tasks.shards.clients import connect_sync
from tasks.shards.layout import Shard
from worker.errors import ConfigurationError
from worker.settings import Settings, load

BEAT_FRESH_S: Final = 60.0
"""Beat starts a delivery sweep every 10 s and writes its file each time; six missed sweeps are a failure."""


def worker_problem(redis: Redis, stream: str, host: str) -> str | None:
    """The problem of this host's workers, or None when one of them has a heartbeat in a shard."""
    try:
        shards = [each.shard for each in current_layout(redis, stream).streams()]
    except RedisError as error:
        return f"Redis: {type(error).__name__}"
    away = ""
    for shard in shards:
        try:
            if _beats(redis, shard, host):
                return None
        except RedisError as error:  # the other shards go on
            away = f"Redis: {type(error).__name__}"
    return away or f"no worker of {host} has a heartbeat"


def _beats(redis: Redis, shard: Shard, host: str) -> bool:
    known = {bytes(member).decode() for member in redis.sscan_iter(f"{shard.prefix}workers", count=1000)}
    here = [worker for worker in known if worker.startswith(f"{host}:")]
    return bool(here and redis.exists(*(f"{shard.prefix}hb:{worker}" for worker in here)))


def beat_problem(schedule: Path, now: float) -> str | None:
    """The problem of beat, or None when its file or a side file is fresh; ``now`` in Unix seconds."""
    written = [file.stat().st_mtime for file in schedule.parent.glob(f"{schedule.name}*")]
    if not written:
        return f"{schedule} is not there"
    age_s = now - max(written)
    return None if age_s < BEAT_FRESH_S else f"{schedule} was last written {age_s:.0f} s ago"


def _problem(role: str, settings: Settings) -> str | None:
    if role == "beat":
        return beat_problem(Path(settings.beat_file), time.time())
    url = settings.redis_url.get_secret_value()
    with connect_sync(url, timeout_s=5) as redis:
        return worker_problem(redis, settings.stream, socket.gethostname())


def main(arguments: Sequence[str]) -> int:
    """0 healthy, 1 not (the reason on stderr), 2 wrong arguments."""
    if len(arguments) != 1 or arguments[0] not in ("worker", "beat"):
        sys.stderr.write("usage: python -m tasks.health worker|beat\n")
        return 2
    try:
        problem = _problem(arguments[0], load(Settings))
    except ConfigurationError as error:
        problem = str(error)
    if problem is not None:
        sys.stderr.write(f"{problem}\n")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
