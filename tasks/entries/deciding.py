"""The decision of an event: the pipeline, and around it load, limits, recording, cost and trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING

import structlog

from db.commits.stored_event import StoredEvent
from db.documents.retrieval import PostgresRetriever
from tasks.entries.rulebooks import Rulebook
from tasks.entries.storage import Storage
from tasks.fairness.overload import Overload
from tasks.limits.account_limits import AccountLimits
from tasks.limits.spending import NO_BUDGET, BudgetState, Spending
from tasks.metrics import names
from tasks.model_connections import ModelConnections
from tasks.tracing.start import Traces
from worker.model import ConversationState, Decision, Event, EventType, Json, Message
from worker.pipeline import CONTEXT_FRESH_S, decide
from worker.ports import Ports
from worker.recordings.recorder import Recorder
from worker.recordings.stored import encoded
from worker.steps.run import EventCase

if TYPE_CHECKING:  # a worker without metrics does without their library
    from tasks.metrics.process import WorkerMetrics

log = structlog.get_logger(__name__)

GivenPorts = Callable[[Ports], Ports]


class LookedUp:
    """Ports with what an event was looked up with: the lines of its conversation, and what a search needs.

    It is ``worker.ports.Conversations`` itself: it answers once with these lines.
    """

    __slots__ = ("_behind", "_fresh_until_s", "_lines", "_search")

    def __init__(self, stored: StoredEvent) -> None:
        self._lines: tuple[Message, ...] | None = stored.history
        self._search = stored.search
        self._fresh_until_s = monotonic() + CONTEXT_FRESH_S

    def given(self, ports: Ports) -> Ports:
        """The ports with this before theirs."""
        self._behind, retriever = ports.conversations, ports.retriever
        if isinstance(retriever, PostgresRetriever):
            retriever = retriever.knowing(self._search, self._fresh_until_s)
        return replace(ports, conversations=self, retriever=retriever)

    async def history(self, user_id: str, conversation_id: str, limit: int) -> tuple[Message, ...]:
        """The lines; read again where they were given before, or a wait made them old."""
        lines, self._lines = self._lines, None
        if lines is None or monotonic() > self._fresh_until_s:
            return await self._behind.history(user_id, conversation_id, limit)
        return lines[-limit:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """Decides events; no model is called while decisions cannot be stored.

    Attributes:
        limits: what accounts limit for themselves: calls, and events at once.
        models: what the pipeline calls.
        spending: prices decisions.
        overload: leaves messages out under overload.
        policy_defaults: the deployment's defaults by policy and field, for recordings.
        metrics: counts recordings that failed; None where no metrics are served.
        traces: gives a reply its place in a trace; None where no traces are sent.
    """

    storage: Storage
    models: ModelConnections
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
        looked_up = LookedUp(stored)
        budget = await self.spending.state(book.account)
        case = book.settings.case(edited_first(event, stored), stored.conversation, budget.reached)
        await self.storage.wait_until_open()
        begun = await self.overload.begin(case)
        decision = await self._decided(begun.case, book, looked_up.given, budget)
        self.overload.ended(begun, decision)
        return decision if self.traces is None else replace(decision, trace=self.traces.context(decision))

    async def check(
        self, event: Event, conversation: ConversationState, book: Rulebook, given: GivenPorts
    ) -> Decision:
        """The decision of a check: ``given`` makes its ports from those of the deployment.

        Raises:
            StorageUnavailable: nothing was decided; safe to repeat.
        """
        case = book.settings.case(event, conversation, await self.spending.budget(book.account))
        return await self._decided(case, book, given)

    async def _decided(
        self, case: EventCase, book: Rulebook, given: GivenPorts, budget: BudgetState = NO_BUDGET
    ) -> Decision:
        latest = budget

        async def at_once() -> int | None:
            nonlocal latest
            latest = await self.spending.state(case.account)
            return latest.at_once

        allowed = None if budget.at_once is None else at_once
        async with (
            self.models.in_use() as connected,
            self.limits.limited_ports(case.event, case.account, given(connected), allowed) as limited,
        ):
            ports = limited
            if allowed is not None:
                case, ports = replace(case, budget=latest.reached), self._until_silent(case, limited)
            recorder = self._recorder(case, ports)
            made = await decide(case, recorder.ports if recorder else ports)
        return replace(
            made,
            candidate_id=book.candidate_id,
            costs=self.spending.costs(made),
            recording=self._recording(made, recorder),
        )

    def _until_silent(self, case: EventCase, ports: Ports) -> Ports:
        """Ports that end a hold when the account's budget is spent meanwhile."""

        def is_replaced() -> bool:
            return self.spending.is_silent(case.event.user_id) or ports.is_replaced()

        return replace(ports, is_replaced=is_replaced)

    def _recorder(self, case: EventCase, ports: Ports) -> Recorder | None:
        """Records what the ports answer; None when the account does not want recordings."""
        if not case.account.record_answers:
            return None
        return Recorder(case=case, behind=ports, policy_defaults=self.policy_defaults)

    def _recording(self, decision: Decision, recorder: Recorder | None) -> bytes | None:
        """The recording of a decision; a failure costs the recording, never the decision."""
        if recorder is None:
            return None
        try:
            return encoded(recorder.recording())
        except Exception as error:  # noqa: BLE001  # a bug here must not stop a decision
            log.warning("recording_failed", entry_id=decision.event.entry_id, error=type(error).__name__)
            if self.metrics is not None:
                self.metrics.count(names.RECORDING_FAILURES)
            return None


def edited_first(event: Event, stored: StoredEvent) -> Event:
    """The event with the text of an edit that came before its message."""
    if stored.edited_text is None or event.type is not EventType.MESSAGE:
        return event
    return replace(event, text=stored.edited_text, edited_first=True)
