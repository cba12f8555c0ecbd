"""Which database lists are read from: a replica that answers and is recent enough, else the primary."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

import sqlalchemy as sa
import structlog

from db.connection import Connection
from worker.errors import StorageUnavailable

log = structlog.get_logger(__name__)

MOST_LAG_S: Final = 30.0
"""A replica that is further behind is not read: people then miss decisions that they look for."""
LOOK_S: Final = 5.0
"""Pause between two looks at the replica; one request at a time looks."""
WRITTEN: Final = sa.text("SELECT pg_current_wal_lsn()::text")
REPLAYED: Final = sa.text(
    "SELECT pg_is_in_recovery() AS recovering, CASE"
    " WHEN NOT pg_is_in_recovery() OR pg_last_wal_replay_lsn() >= CAST(:written AS pg_lsn) THEN 0"
    " ELSE extract(epoch FROM now() - pg_last_xact_replay_timestamp()) END AS lag_s"
)
"""The age of the newest commit that the replica has, unless it has all that the primary had written."""
TIMED_OUT: Final = "QueryCanceled"
"""The statement took too long on the replica, and would take as long on the primary."""

Value = TypeVar("Value")
Connect: TypeAlias = Callable[[], AbstractAsyncContextManager[Connection]]
Read: TypeAlias = Callable[[Connection], Awaitable[Value]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaLag:
    """How far a replica is behind.

    Attributes:
        recovering: False for a server that is no replica.
        lag_s: the age of its newest commit while it lacks later ones; None when it has no commit yet.
    """

    recovering: bool
    lag_s: float | None


async def written_position(primary: Connection) -> str:
    """How far the primary has written its log."""
    return str((await primary.execute(WRITTEN)).scalar_one())


async def replica_lag(replica: Connection, written: str) -> ReplicaLag:
    """The lag of a replica behind a position of its primary."""
    row = (await replica.execute(REPLAYED, {"written": written})).one()
    return ReplicaLag(
        recovering=row.recovering, lag_s=None if row.lag_s is None else round(float(row.lag_s), 1)
    )


class ReadReplica:
    """Reads from the replica while it answers, from the primary otherwise; each change is one log line."""

    def __init__(
        self,
        *,
        primary: Connect,
        replica: Connect,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._primary = primary
        self._replica = replica
        self._now_s = now_s
        self._looking = asyncio.Lock()
        self._looked_s = -LOOK_S
        self._usable: bool | None = None

    async def read(self, read: Read[Value]) -> Value:
        """What ``read`` returns; ``read`` may run twice, as the primary follows a replica that fails.

        Raises:
            StorageUnavailable: the primary did not answer either, or the statement took too long.
        """
        if await self._is_usable():
            try:
                async with self._replica() as connection:
                    return await read(connection)
            except StorageUnavailable as error:
                if error.kind == TIMED_OUT:
                    raise
                self._looked_s = -LOOK_S
                await self._is_usable()
        async with self._primary() as connection:
            return await read(connection)

    async def _is_usable(self) -> bool:
        if self._now_s() - self._looked_s < LOOK_S or (self._looking.locked() and self._usable is not None):
            return bool(self._usable)
        async with self._looking:
            if self._now_s() - self._looked_s >= LOOK_S:
                await self._look()
                self._looked_s = self._now_s()
        return bool(self._usable)

    async def _look(self) -> None:
        async with self._primary() as connection:
            written = await written_position(connection)
        try:
            async with self._replica() as connection:
                found = await replica_lag(connection, written)
        except StorageUnavailable as error:
            self._note(usable=False, kind=error.kind, lag_s=None)
            return
        recent = found.lag_s is not None and found.lag_s <= MOST_LAG_S
        self._note(usable=recent, kind="" if recent else "behind", lag_s=found.lag_s)

    def _note(self, *, usable: bool, kind: str, lag_s: float | None) -> None:
        """Log once that lists are read from the primary, and once that the replica serves again."""
        if not usable and self._usable is not False:
            log.warning("read_replica_left", kind=kind, lag_s=lag_s)
        if usable and self._usable is False:
            log.info("read_replica_used", lag_s=lag_s)
        self._usable = usable
