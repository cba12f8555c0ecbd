"""New texts of the audit, merged into their search index before a commit has to do it.

Postgres keeps new entries of such an index in a list, and the commit that fills the list merges it: with five
million decisions and a list of 4 MB it waited for 1.3 s. Merging 4 MB instead of 256 kB at a time halves the
CPU and the log of a stored decision (``bench/results/audit.md``).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final, Protocol

from db.pool import Pool, fetch_value
from worker.errors import StorageUnavailable

MERGE: Final = "SELECT hushgate_merge_texts()"
PAGES: Final = 256
"""Pages of 8 kB to merge at a time, of about eight texts each: an eighth of what Postgres lets wait."""
LEAST_PAUSE_S: Final = 1.0
MOST_PAUSE_S: Final = 30.0


class HasPool(Protocol):
    """The parts of a worker."""

    @property
    def pool(self) -> Pool:
        """Connections to Postgres."""


async def merge_forever(parts: HasPool) -> None:
    """Merge as often as new texts come. Every worker does this: what one has merged lets the others wait."""
    pause_s = LEAST_PAUSE_S
    while True:
        await asyncio.sleep(pause_s)
        with suppress(StorageUnavailable):
            pause_s = next_pause_s(pause_s, await fetch_value(parts.pool, MERGE))


def next_pause_s(pause_s: float, pages: int) -> float:
    """Seconds after which about ``PAGES`` wait again, when so many pages came within ``pause_s``."""
    return min(MOST_PAUSE_S, max(LEAST_PAUSE_S, pause_s * PAGES / max(1, pages)))
