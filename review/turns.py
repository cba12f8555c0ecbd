"""Taking turns: one person's requests never take all connections to the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

AT_ONCE: Final = 3
"""Requests of one person that are answered at the same time; the store has eight connections."""
WAITING: Final = 30
"""More than a browser ever has under way for one person."""


class TooManyAtOnce(Exception):  # noqa: N818  # becomes a refusal
    """Somebody has more requests waiting than a person can have asked for."""


@dataclass(slots=True)
class _Line:
    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    inside: int = 0


class Turns:
    """Who has requests under way."""

    def __init__(self) -> None:
        self._lines: dict[UUID, _Line] = {}

    @asynccontextmanager
    async def of(self, person_id: UUID) -> AsyncIterator[None]:
        """Wait until fewer than ``AT_ONCE`` requests of this person are being answered.

        Raises:
            TooManyAtOnce: ``WAITING`` wait already.
        """
        line = self._lines.setdefault(person_id, _Line())
        if line.inside >= AT_ONCE + WAITING:
            raise TooManyAtOnce
        line.inside += 1
        try:
            async with line.free:
                yield
        finally:
            line.inside -= 1
            if not line.inside:
                del self._lines[person_id]
