"""One entry, from its grant to its row in Postgres."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from db import dead_letters
from db.commits.known import Recorded, seen_event
from db.commits.record import record_decision
from db.dead_letters import DeadLetter
from db.pool import Pool
from tasks.entries.deciding import Decider
from tasks.entries.outcomes import OutcomeHooks
from tasks.entries.persistence import Persistence
from tasks.entries.received import Accepted, Rejected, edited_first, letter_of, poison, received
from tasks.entries.rulebooks import Rulebooks
from tasks.lanes.stream import EntryGrant
from tasks.limits.spending import Spending
from worker import conversation_endings
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
        refresh_clock: reads that clock.
        max_starts: grants after which an entry has ``LAST_RUNS`` left; then it is poison.
        begin_run: counts such a run; from ``tasks.lanes.stream.Lanes``.
    """

    pool: Pool
    rulebooks: Rulebooks
    spending: Spending
    decider: Decider
    persistence: Persistence
    hooks: OutcomeHooks
    now: Callable[[], datetime]
    refresh_clock: Callable[[], Awaitable[None]]
    max_starts: int
    begin_run: Callable[[str], Awaitable[int]]

    async def __call__(self, grant: EntryGrant) -> None:
        """Decide one entry, or store it as poison when only this entry cannot be decided."""
        if grant.starts > self.max_starts and not await self._has_last_run(grant):
            await self._bury_poison(grant, f"handed out {grant.starts} times without an outcome")
            return
        while failure := await self.persistence.run_until_failure(grant.entry_id, lambda: self._run(grant)):
            if not await self.persistence.gate.outlast(failure.kind):
                await self._bury_poison(grant, failure.what)
                return

    async def _run(self, grant: EntryGrant) -> None:
        await self.persistence.outlasting_outages(self.refresh_clock)
        match self._received(grant):
            case Accepted(event=event):
                await self._decide(event, grant.starts)
            case Rejected(letter=letter):
                await self._bury(letter)

    async def _decide(self, event: Event, starts: int) -> None:
        """Decide an event that has no outcome yet, store the decision, then call what follows it."""
        outlasting = self.persistence.outlasting_outages
        known = await outlasting(lambda: seen_event(self.pool, event, self.now()))
        if known.outcome is not None:
            self._seen(event, known.outcome)
            return
        live = await outlasting(lambda: self.rulebooks.get(event.user_id))
        book = live.for_event(event, known.conversation)
        budget = await outlasting(lambda: self.spending.budget(book.account))
        case = book.settings.case(edited_first(event, known), known.conversation, budget)
        decision = await outlasting(lambda: self.decider.decide(case))
        decision, recorded = await self._record(replace(decision, candidate_id=book.candidate_id))
        if recorded is Recorded.BURIED:  # by another run of this entry, so this run has no outcome
            self._seen(event, recorded)
            return
        for hook in self.hooks.decided:
            hook(decision, recorded, starts)
        await self.spending.decided(book.account, decision)

    async def _record(self, decision: Decision) -> tuple[Decision, Recorded]:
        """The decision as it was stored: without its reply where people took the conversation meanwhile."""
        recorded = await self.persistence.outlasting_outages(lambda: record_decision(self.pool, decision))
        if recorded is Recorded.OVERTAKEN:
            decision = conversation_endings.without_reply(decision)
            recorded = await self.persistence.outlasting_outages(lambda: record_decision(self.pool, decision))
        return decision, recorded

    async def _has_last_run(self, grant: EntryGrant) -> bool:
        """Whether an entry granted too often may run: its workers may have died without running it."""
        await self.persistence.gate.outlast("granted_too_often")
        return await self.begin_run(grant.entry_id) <= LAST_RUNS

    def _received(self, grant: EntryGrant) -> Accepted | Rejected:
        return received(grant, self.now())

    def _seen(self, event: Event, outcome: Recorded) -> None:
        for hook in self.hooks.seen:
            hook(event, outcome)

    async def _bury(self, letter: DeadLetter, event: Event | None = None) -> None:
        """Store a dead letter; that of an event only when no other run stored an outcome meanwhile."""
        ended = Recorded.BURIED
        if event is None:
            await self.persistence.outlasting_outages(lambda: dead_letters.store_letter(self.pool, letter))
        else:
            ended = await self.persistence.outlasting_outages(
                lambda: dead_letters.bury_event(self.pool, letter, event)
            )
        if event is not None and ended is not Recorded.BURIED:
            self._seen(event, ended)
            return
        for hook in self.hooks.buried:
            hook(letter)

    async def _bury_poison(self, grant: EntryGrant, what_happened: str) -> None:
        """Store an entry without an outcome as poison."""
        entry = None
        with suppress(Exception):  # a payload that cannot be parsed was never decided
            entry = self._received(grant)
        event = entry.event if isinstance(entry, Accepted) else None
        await self._bury(letter_of(grant, poison(what_happened), self.now()), event)
