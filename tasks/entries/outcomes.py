"""What follows the commit of an outcome: log lines, counts, spans and the wake of relays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from db.commits.known import Recorded
from db.dead_letters import DeadLetter
from tasks.entries import lines
from tasks.tracing.start import Traces
from worker.model import Decision, Event

if TYPE_CHECKING:  # a worker without metrics does without their library
    from tasks.metrics.process import WorkerMetrics

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeHooks:
    """Called in order when an outcome is stored.

    Attributes:
        decided: of a decision: what its commit found, and how often its entry was granted.
        seen: of an event whose outcome another run or entry stored.
        buried: of a dead letter.
    """

    decided: Sequence[Callable[[Decision, Recorded, int], None]] = ()
    seen: Sequence[Callable[[Event, Recorded], None]] = ()
    buried: Sequence[Callable[[DeadLetter], None]] = ()


def outcome_hooks(
    metrics: WorkerMetrics | None,
    traces: Traces | None,
    *,
    replied: Callable[[], None],
    escalated: Callable[[], None],
) -> OutcomeHooks:
    """The hooks of a worker.

    Args:
        metrics: counts outcomes; None where no metrics are served.
        traces: sends the spans of decisions; None where no traces are sent.
        replied: called when a new reply may wait for delivery.
        escalated: called when a new outgoing event may wait.
    """

    def wake_relays(decision: Decision, recorded: Recorded, _starts: int) -> None:
        if recorded is Recorded.DUPLICATE:
            return
        if decision.reply is not None or decision.people_until is not None:
            replied()
        if decision.escalation is not None or decision.people_until is not None:
            escalated()

    def wake_again(_event: Event, outcome: Recorded) -> None:
        if outcome is Recorded.ALREADY:  # the reply of the earlier run may wait for delivery
            replied()
            escalated()

    counted: OutcomeHooks = OutcomeHooks() if metrics is None else _counted(metrics)
    spans = () if traces is None else (_of_new(traces.decided),)
    return OutcomeHooks(
        decided=(*counted.decided, *spans, lines.log_decision, wake_relays),
        seen=(*counted.seen, _log_seen, wake_again),
        buried=(*counted.buried, lines.log_dead_letter),
    )


def _counted(metrics: WorkerMetrics) -> OutcomeHooks:
    return OutcomeHooks(
        decided=(_of_new(metrics.decided),),
        seen=(lambda _, outcome: metrics.repeated(outcome),),
        buried=(lambda letter: metrics.buried(letter.why.code),),
    )


def _of_new(hook: Callable[[Decision], None]) -> Callable[[Decision, Recorded, int], None]:
    def decided(decision: Decision, recorded: Recorded, _starts: int) -> None:
        if recorded is Recorded.NEW:
            hook(decision)

    return decided


def _log_seen(event: Event, outcome: Recorded) -> None:
    log.info("event_seen_before", entry_id=event.entry_id, event_id=event.event_id, outcome=outcome)
