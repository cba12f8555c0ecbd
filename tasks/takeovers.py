"""Takeovers by people's messages: seen when they are read, before their turn in the lane."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

import structlog

from db.conversation_owners import OwnerCause, Takeover, take_conversation
from db.pool import Pool
from tasks.accounts import Rulebooks
from tasks.stream import AgentEntry
from worker.contract import idle_end
from worker.errors import StorageUnavailable

log = structlog.get_logger(__name__)


class EarlyTakeovers:
    """Takes a conversation as soon as a person's message in it is read.

    Without it the message would wait for its turn behind an event whose reply is being made. A takeover that
    fails here happens at that turn.

    Args:
        pool: the hot path's connections.
        rulebooks: accounts with their settings.
        now: the wall clock.
    """

    def __init__(self, pool: Pool, rulebooks: Rulebooks, *, now: Callable[[], datetime]) -> None:
        self._pool = pool
        self._rulebooks = rulebooks
        self._now = now
        self._running: set[asyncio.Task[None]] = set()

    def start(self, entry: AgentEntry) -> None:
        """Take the conversation in the background."""
        task = asyncio.create_task(self.take(entry))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def take(self, entry: AgentEntry) -> None:
        """Take the conversation of a person's message, once."""
        try:
            book = await self._rulebooks.get(entry.user_id)
            now = self._now()
            takeover = Takeover(
                user_id=entry.user_id,
                conversation_id=entry.conversation_id,
                people_until=idle_end(book.account, now),
                changed_by=entry.author_id,
                cause=OwnerCause.AGENT_MESSAGE,
                agent_entry=entry.entry_id,
            )
            await take_conversation(self._pool, takeover, now)
        except StorageUnavailable as error:
            log.warning("takeover_postponed", entry_id=entry.entry_id, error=error.kind)
