"""What every finder and every repair needs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from redis.asyncio import Redis

from db.pool import Pool
from db.repair.finding import Window
from worker.settings import StreamSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairContext:
    """Both servers, and which rows and entries are looked at.

    Attributes:
        since: earlier rows are not checked.
        is_chosen: a person chose ``since``: entries sent before Redis came back empty are checked too.
        older_than: younger rows and entries are not checked: a worker may be about to finish them.
        limit: most breaches of one kind.
        person: who repairs, for the access log.
    """

    pool: Pool
    redis: Redis
    settings: StreamSettings
    now: datetime
    since: datetime
    older_than: timedelta
    limit: int
    person: str
    is_chosen: bool = False

    @property
    def window(self) -> Window:
        """The rows that are looked at."""
        return Window(since=self.since, until=self.now - self.older_than, limit=self.limit)
