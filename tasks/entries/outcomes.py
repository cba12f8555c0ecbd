"""What follows the commit of an outcome: counts, spans, log lines and the wake of relays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from db.commits.stored_event import Recorded
from db.dead_letters import DeadLetter
from tasks.entries import outcome_log
from tasks.metrics import names
from tasks.tracing.start import Traces
from worker.model import Decision, Event

if TYPE_CHECKING:  # a worker without metrics does without their library
    from tasks.metrics.process import WorkerMetrics

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeHooks:
    """Called when an outcome is stored.

    Attributes:
        metrics: counts outcomes; None where no metrics are served.
        traces: sends the spans of decisions; None where no traces are sent.
        replied: called when a new reply may wait for delivery.
        escalated: called when a new outgoing event may wait.
    """

    metrics: WorkerMetrics | None
    traces: Traces | None
    replied: Callable[[], None]
    escalated: Callable[[], None]

    async def decided(self, decision: Decision, recorded: Recorded, starts: int) -> None:
        """A decision is stored, by this run or another; ``starts``: how often its entry was granted."""
        if recorded is not Recorded.DUPLICATE:
            self._wake_relays(decision)
            await asyncio.sleep(0)  # a reply is on its way while the rest is noted
        if recorded is Recorded.NEW and self.metrics is not None:
            self.metrics.decided(decision)
        if recorded is Recorded.NEW and self.traces is not None:
            self.traces.decided(decision)
        outcome_log.log_decision(decision, recorded, starts)

    def _wake_relays(self, decision: Decision) -> None:
        if decision.reply is not None or decision.people_until is not None:
            self.replied()
        if decision.escalation is not None or decision.people_until is not None:
            self.escalated()

    def repeated(self, event: Event, outcome: Recorded) -> None:
        """Another run or entry stored the outcome of an event."""
        if self.metrics is not None:
            self.metrics.count(names.REPEATED, outcome)
        log.info("event_seen_before", entry_id=event.entry_id, event_id=event.event_id, outcome=outcome)
        if outcome is Recorded.ALREADY:  # the reply of the earlier run may wait for delivery
            self.replied()
            self.escalated()

    def buried(self, letter: DeadLetter) -> None:
        """A dead letter was stored."""
        if self.metrics is not None:
            self.metrics.count(names.DEAD_LETTERS, letter.why.code)
        outcome_log.log_dead_letter(letter)
