"""Compiled rule sets, shared by all workers."""

from __future__ import annotations

from typing import Final

from db.pool import Pool, checkout, fetch_value

STORED: Final = "SELECT data FROM compiled_rules WHERE user_id = %s AND version = %s AND build = %s"
KEEP: Final = """
    WITH older AS (DELETE FROM compiled_rules WHERE user_id = %(user_id)s AND version < %(version)s)
    INSERT INTO compiled_rules (user_id, version, build, data)
    VALUES (%(user_id)s, %(version)s, %(build)s, %(data)s) ON CONFLICT DO NOTHING
"""


class CompiledSets:
    """The compiled sets of one build of the matcher.

    Args:
        build: identifies the matcher; sets of other builds are not used.
    """

    def __init__(self, source: Pool, build: str) -> None:
        self._source = source
        self._build = build

    async def stored(self, user_id: str, version: int) -> bytes | None:
        """The stored set, or None."""
        data = await fetch_value(self._source, STORED, (user_id, version, self._build))
        return None if data is None else bytes(data)

    async def keep(self, user_id: str, version: int, data: bytes) -> None:
        """Store a set in place of the account's older ones."""
        values = {"user_id": user_id, "version": version, "build": self._build, "data": data}
        async with checkout(self._source) as connection:
            await connection.execute(KEEP, values)
