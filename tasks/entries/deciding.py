"""The decision of an event with what surrounds the pipeline: load, limits, recording, cost and trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from db.commits.known import StoredEvent
from tasks.entries.recording import recorder_of, with_recording
from tasks.entries.rulebooks import Rulebook
from tasks.entries.storage import Storage
from tasks.fairness.overload import Overload
from tasks.limits.account_limits import AccountLimits
from tasks.limits.spending import Spending
from tasks.tracing.start import Traces
from worker.model import Decision, Event, EventType, Json
from worker.pipeline import decide
from worker.ports import Ports

if TYPE_CHECKING:  # a worker without metrics does without their library
    from tasks.metrics.process import WorkerMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """Decides events; no model is called while decisions cannot be stored.

    Attributes:
        limits: of accounts.
        spending: prices decisions.
        overload: leaves messages out under overload.
        policy_defaults: the deployment's, by policy and field; for recordings.
        metrics: counts recordings that failed; None where no metrics are served.
        traces: gives a reply its place in a trace; None where no traces are sent.
    """

    storage: Storage
    ports: Ports
    limits: AccountLimits
    spending: Spending
    overload: Overload
    policy_defaults: Mapping[str, Mapping[str, Json]]
    metrics: WorkerMetrics | None = None
    traces: Traces | None = None

    async def decide(self, event: Event, stored: StoredEvent, book: Rulebook) -> Decision:
        """The decision of one event.

        Raises:
            StorageUnavailable: nothing was decided; safe to repeat.
        """
        case = book.case(
            edited_first(event, stored), stored.conversation, await self.spending.budget(book.account)
        )
        await self.storage.opened()
        turn = await self.overload.turn(case)
        async with self.limits.ports(case.event, case.account, self.ports) as ports:
            recorder = recorder_of(turn.case, ports, self.policy_defaults)
            made = await decide(turn.case, recorder.ports if recorder else ports)
        decision = with_recording(self.spending.priced(made), recorder, self.metrics)
        self.overload.ended(turn, decision)
        trace = decision.trace if self.traces is None else self.traces.context(decision)
        return replace(decision, candidate_id=book.candidate_id, trace=trace)


def edited_first(event: Event, stored: StoredEvent) -> Event:
    """The event with the text of an edit that came before its message."""
    if stored.edited_text is None or event.type is not EventType.MESSAGE:
        return event
    return replace(event, text=stored.edited_text, edited_first=True)
