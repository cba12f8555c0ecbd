"""One entry, from its grant to its row in Postgres."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from db import dead_letters
from db.commits.record import record_decision
from db.commits.stored_event import Recorded, StoredEvent, look_up_event
from db.dead_letters import DeadLetter
from db.pool import Pool
from tasks.entries.deciding import Decider
from tasks.entries.outcomes import OutcomeHooks
from tasks.entries.rulebooks import Rulebook, Rulebooks
from tasks.entries.storage import Storage
from tasks.lanes.received import poison
from tasks.lanes.stream import EntryGrant
from tasks.limits.spending import Spending
from worker import conversation_endings
from worker.errors import PayloadRejected
from worker.model import Decision, Event

LAST_RUNS: Final = 2
"""Runs of an entry that was granted more than ``max_starts`` times, begun while decisions can be stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryHandler:
    """Runs entries; returns only when the outcome is stored.

    Attributes:
        spending: watches budgets.
        hooks: called after each commit.
        now: the clock of Postgres, by which messages are too old and replies too late.
        max_starts: grants after which an entry has ``LAST_RUNS`` left; then it is poison.
        begin_run: counts such a run; from ``tasks.lanes.stream.Lanes``.
    """

    pool: Pool
    rulebooks: Rulebooks
    spending: Spending
    decider: Decider
    storage: Storage
    hooks: OutcomeHooks
    now: Callable[[], datetime]
    max_starts: int
    begin_run: Callable[[str], Awaitable[int]]

    async def __call__(self, grant: EntryGrant) -> None:
        """Store the outcome of one entry: a decision, or a dead letter."""
        if grant.starts > self.max_starts and not await self._has_last_run(grant.entry_id):
            await self._bury(grant, poison(f"handed out {grant.starts} times without an outcome"))
        elif problem := await self.storage.run_to_outcome(grant.entry_id, self._run, grant):
            await self._bury(grant, poison(problem))

    def _run(self, grant: EntryGrant) -> Coroutine[Any, Any, None]:
        if isinstance(grant.event, Event):
            return self._decide(grant.event, grant.starts)
        return self._bury(grant, grant.event)

    async def _decide(self, event: Event, starts: int) -> None:
        """Decide an event that has no outcome yet, store the decision, then call what follows it."""
        outlasting = self.storage.outlasting_outages
        live = await outlasting(self.rulebooks.get, event.user_id)
        stored = await outlasting(self._look_up, event, live)
        if stored.outcome is not None:
            self.hooks.repeated(event, stored.outcome)
            return
        book = live.for_event(event, stored.conversation)
        decision = await outlasting(self.decider.decide, event, stored, book)
        decision, recorded = await self._record(decision)
        if recorded is Recorded.BURIED:  # by another run of this entry, so this run has no outcome
            self.hooks.repeated(event, recorded)
            return
        await self.hooks.decided(decision, recorded, starts)
        await self.spending.decided(book.account, decision)

    async def _look_up(self, event: Event, live: Rulebook) -> StoredEvent:
        return await look_up_event(self.pool, event, self.now(), counts_author=live.counts_authors)

    async def _record(self, decision: Decision) -> tuple[Decision, Recorded]:
        """The stored decision: without its reply where people took the conversation meanwhile."""
        outlasting = self.storage.outlasting_outages
        recorded = await outlasting(record_decision, self.pool, decision)
        if recorded is Recorded.OVERTAKEN:
            decision = conversation_endings.without_reply(decision)
            recorded = await outlasting(record_decision, self.pool, decision)
        return decision, recorded

    async def _has_last_run(self, entry_id: str) -> bool:
        """Whether an entry granted too often may run: its workers may have died without running it."""
        await self.storage.wait_for_probe("granted_too_often")
        return await self.begin_run(entry_id) <= LAST_RUNS

    async def _bury(self, grant: EntryGrant, why: PayloadRejected) -> None:
        """Store a dead letter; that of an event only when no other run stored an outcome meanwhile."""
        letter = DeadLetter(
            entry_id=grant.entry_id,
            payload=grant.payload,
            size_bytes=max(grant.size_bytes, 0),
            why=why,
            at=self.now(),
            event=grant.event if isinstance(grant.event, Event) else None,
        )
        ended = await self.storage.outlasting_outages(dead_letters.bury, self.pool, letter)
        if ended is Recorded.BURIED:
            self.hooks.buried(letter)
        elif letter.event is not None:
            self.hooks.repeated(letter.event, ended)
