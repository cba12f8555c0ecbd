"""The wall clock of Postgres, which the processes of a fleet share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from db.pool import Pool, checkout

KEPT_S: Final = 60.0
"""How long a reading is carried on by the machine's own seconds, which drift by a few milliseconds."""
ROUND_TRIP_S: Final = 1.0
"""A reading that took longer does not replace an earlier one: its answer was held back somewhere."""
READ: Final = "SELECT clock_timestamp()"


class DatabaseClock:
    """The current time of Postgres, carried on from its last good reading.

    Where several processes compare stored times, a process with a wrong clock would delay the others.

    Args:
        seconds: a clock that counts while the process is stopped, and that is never set.
        unread: the time until the first reading, or None.
    """

    def __init__(
        self, pool: Pool, *, seconds: Callable[[], float], unread: Callable[[], datetime] | None = None
    ) -> None:
        self._pool = pool
        self._seconds = seconds
        self._unread = unread
        self._refreshing = False
        self._read: datetime | None = None
        self._read_at_s = 0.0
        self._fresh_until_s = 0.0

    @property
    def is_read(self) -> bool:
        """Whether Postgres has said the time at least once."""
        return self._read is not None

    async def refresh(self) -> None:
        """Read the clock of Postgres, unless the last reading is fresh; raises what ``checkout`` raises."""
        if self._read is not None and (self._refreshing or self._seconds() < self._fresh_until_s):
            return
        self._refreshing = True
        try:
            await self._take_reading()
        finally:
            self._refreshing = False

    async def _take_reading(self) -> None:
        async with checkout(self._pool) as connection:
            asked_s = self._seconds()  # the wait for a connection is no part of the round trip
            ((found,),) = await (await connection.execute(READ)).fetchall()
            answered_s = self._seconds()
        is_good = answered_s - asked_s <= ROUND_TRIP_S
        if is_good or self._read is None:
            self._read, self._read_at_s = found, (asked_s + answered_s) / 2
        if is_good:
            self._fresh_until_s = answered_s + KEPT_S

    def now(self) -> datetime:
        """The time at Postgres.

        Raises:
            RuntimeError: it was never read, and there is no other.
        """
        if self._read is None and self._unread is not None:
            return self._unread()
        if self._read is None:
            raise RuntimeError("the clock of Postgres was not read yet")
        return self._read + timedelta(seconds=self._seconds() - self._read_at_s)
