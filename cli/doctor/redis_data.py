"""``hushgate doctor``: did Redis come back empty?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from redis.asyncio import Redis

from cli.doctor.check import DoctorCheck, passed, warned
from cli.events.repair import emptied_words
from cli.options import own_connections, with_redis
from tasks.repair.context import RepairContext
from tasks.repair.marks import Emptied
from tasks.repair.sends import lost_replies
from tasks.sending.once_stream import begun_key
from worker.settings import Settings

SPAN: Final = timedelta(days=1)
"""Replies of so long before Redis had its first key: without any, there is nothing to compare."""
FIX: Final = "do what it says, then hushgate repair --fix entries-uncounted --yes (docs/recovery.md)"


def redis_data(settings: Settings) -> Iterator[DoctorCheck]:
    """Whether replies were sent before the first key of Redis, and none of them has its mark."""
    found = with_redis(settings, lambda redis: _emptied(settings, redis))
    if found is None:
        yield passed("redis data", "not lost, as far as replies show")
    else:
        yield warned("redis data", emptied_words(found), FIX)


async def _emptied(settings: Settings, redis: Redis) -> Emptied | None:
    stored = await redis.get(begun_key(settings.reply_stream))
    if stored is None:
        return None
    begun = datetime.fromtimestamp(int(stored), tz=UTC)
    async with own_connections(settings.database_url.get_secret_value()) as source:
        context = RepairContext(
            pool=source, redis=redis, settings=settings, now=begun + timedelta(seconds=1),
            since=begun - SPAN, older_than=timedelta(), limit=1, person="",
        )  # fmt: skip
        _, emptied = await lost_replies(context)
        return emptied
