"""The wall clock of Postgres, which the processes of a fleet share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from db.pool import Pool, fetch_value

KEPT_S: Final = 60.0
"""How long a reading is carried on by the machine's own seconds: drift is far below a millisecond then."""
READ: Final = "SELECT clock_timestamp()"


class DatabaseClock:
    """Where several processes compare stored times, a process with a wrong clock would delay the others.

    Args:
        seconds: a clock that counts while the process is stopped, and that is never set.
    """

    def __init__(self, pool: Pool, *, seconds: Callable[[], float]) -> None:
        self._pool = pool
        self._seconds = seconds
        self._read: datetime | None = None
        self._read_at_s = 0.0

    async def refresh(self) -> None:
        """Read the clock of Postgres, unless the last reading is fresh; raises what ``checkout`` raises."""
        if self._read is not None and self._seconds() - self._read_at_s < KEPT_S:
            return
        self._read = await fetch_value(self._pool, READ)
        self._read_at_s = self._seconds()

    def now(self) -> datetime:
        """The time at Postgres.

        Raises:
            RuntimeError: it was never read.
        """
        if self._read is None:
            raise RuntimeError("the clock of Postgres was not read yet")
        return self._read + timedelta(seconds=self._seconds() - self._read_at_s)
