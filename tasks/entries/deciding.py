"""The decision of an event with what surrounds the pipeline: load, limits, recording, cost and trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tasks.entries.gate import Gate
from tasks.entries.recording import recorder_of, with_recording
from tasks.fairness.overload import Overload
from tasks.limits.account_limits import AccountLimits
from tasks.limits.spending import Spending
from tasks.model_connections import ModelConnections
from tasks.tracing.start import Traces
from worker.model import Decision, Json
from worker.pipeline import decide
from worker.steps.run import EventCase

if TYPE_CHECKING:  # a worker without metrics does without their library
    from tasks.metrics.process import WorkerMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """Decides events; no model is called while decisions cannot be stored.

    Attributes:
        models: what the pipeline calls.
        limits: of accounts.
        spending: prices decisions.
        overload: leaves messages out under overload.
        policy_defaults: the deployment's, by policy and field; for recordings.
        metrics: counts recordings that failed; None where no metrics are served.
        traces: gives a reply its place in a trace; None where no traces are sent.
    """

    gate: Gate
    models: ModelConnections
    limits: AccountLimits
    spending: Spending
    overload: Overload
    policy_defaults: Mapping[str, Mapping[str, Json]]
    metrics: WorkerMetrics | None = None
    traces: Traces | None = None

    async def decide(self, case: EventCase) -> Decision:
        """The decision of one event."""
        await self.gate.opened()
        turn = await self.overload.turn(case)
        async with (
            self.models.in_use() as connected,
            self.limits.ports(case.event, case.account, connected) as ports,
        ):
            recorder = recorder_of(turn.case, ports, self.policy_defaults)
            made = await decide(turn.case, recorder.ports if recorder else ports)
        decision = with_recording(self.spending.priced(made), recorder, self.metrics)
        self.overload.ended(turn, decision)
        return decision if self.traces is None else replace(decision, trace=self.traces.context(decision))
