"""Takeovers by people's messages: seen when they are read, before their turn in the lane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog

from db.commits.stored_event import decided_events
from db.history.conversation_owners import OwnerCause, Takeover, take_conversation
from db.pool import Pool
from tasks.entries.rulebooks import Rulebooks
from tasks.process import telemetry
from worker.conversation_endings import people_until
from worker.errors import StorageUnavailable
from worker.model import DecisionKind, Event
from worker.supervisor import Supervisor

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyTakeovers:
    """Takes a conversation as soon as a person's message in it is read.

    A person's message skips the lane; otherwise it would wait for the event that is being answered. If a
    takeover fails here, it happens in lane order.

    Attributes:
        pool: the hot path's connections.
        rulebooks: accounts with their settings.
        now: the wall clock of the fleet.
        work: runs takeovers.
    """

    pool: Pool
    rulebooks: Rulebooks
    now: Callable[[], datetime]
    work: Supervisor

    def start(self, event: Event) -> None:
        """Take the conversation in the background."""
        self.work.start("early_takeover", partial(self.take, event), entry_id=event.entry_id)

    async def take(self, event: Event) -> None:
        """Take the conversation of a person's message, once."""
        try:
            if (takeover := await self._takeover(event)) is not None:
                await take_conversation(self.pool, takeover, self.now())
        except StorageUnavailable as error:
            log.warning("takeover_postponed", entry_id=event.entry_id, error=error.kind)
        except Exception as error:  # the entry takes the conversation at its turn in the lane
            log.exception("takeover_failed", entry_id=event.entry_id, exc_info=error)
            telemetry.report(error)

    async def _takeover(self, event: Event) -> Takeover | None:
        """None for a repetition of a decided event, and a message of long ago."""
        book = await self.rulebooks.get(event.user_id)
        until = people_until(event, book.account, DecisionKind.IGNORE, self.now())
        if until is None or await decided_events(self.pool, event.user_id, event.conversation_id, [event]):
            return None
        return Takeover(
            user_id=event.user_id,
            conversation_id=event.conversation_id,
            people_until=until,
            changed_by=event.author_id,
            cause=OwnerCause.AGENT_MESSAGE,
            agent_entry=event.entry_id,
        )
