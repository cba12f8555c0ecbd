"""Every alert: name, severity, condition for Prometheus, and the same condition on Redis and Postgres."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tasks.alerts import conditions, expressions
from tasks.alerts.conditions import SLA_S, WEBHOOKS_LATE_S
from tasks.alerts.situation import MOST_SKEW_S, Situation


class AlertSeverity(StrEnum):
    """Who is to act: at once, or within a working day."""

    PAGE = "page"
    TICKET = "ticket"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert.

    Attributes:
        name: also the heading of its section in ``docs/alerts.md``.
        summary: one sentence.
        minutes: how long Prometheus sees the condition before it fires.
        expression: PromQL; ``{workers}`` stands for the number of expected workers.
        check: what is wrong now, one sentence a finding; nothing when all is well.
    """

    name: str
    severity: AlertSeverity
    summary: str
    minutes: int
    expression: str
    check: Callable[[Situation], Iterable[str]]


ALERTS: Final = (
    Alert(
        name="HushgateServerAway",
        severity=AlertSeverity.PAGE,
        summary="Redis or Postgres does not answer, or the exporter is away.",
        minutes=2,
        expression="hushgate_server_up == 0 or absent(hushgate_server_up)",
        check=conditions.server_away,
    ),
    Alert(
        name="HushgateNothingDecided",
        severity=AlertSeverity.PAGE,
        summary="Entries wait, and none was decided for five minutes.",
        minutes=2,
        expression=expressions.NOTHING_DECIDED,
        check=conditions.nothing_decided,
    ),
    Alert(
        name="HushgateEntryTooOld",
        severity=AlertSeverity.PAGE,
        summary="The oldest entry is older than the longest hold of any account.",
        minutes=5,
        expression="hushgate_oldest_entry_age_seconds > on() hushgate_longest_hold_seconds",
        check=conditions.entry_too_old,
    ),
    Alert(
        name="HushgateWorkersMissing",
        severity=AlertSeverity.PAGE,
        summary="Fewer workers than expected have a heartbeat.",
        minutes=5,
        expression="hushgate_workers_alive < {workers}",
        check=conditions.workers_missing,
    ),
    Alert(
        name="HushgateTasksNotRun",
        severity=AlertSeverity.TICKET,
        summary="Beat sends no tasks, or no worker runs them.",
        minutes=2,
        expression=expressions.TASKS_NOT_RUN,
        check=conditions.tasks_not_run,
    ),
    Alert(
        name="HushgateOutboxLate",
        severity=AlertSeverity.PAGE,
        summary="A reply has waited for more than a minute.",
        minutes=2,
        expression=f"hushgate_outbox_oldest_age_seconds > {conditions.OUTBOX_LATE_S}",
        check=conditions.outbox_late,
    ),
    Alert(
        name="HushgateWebhooksLate",
        severity=AlertSeverity.TICKET,
        summary="A webhook has waited for more than 15 minutes.",
        minutes=5,
        expression=f"hushgate_webhooks_oldest_age_seconds > {WEBHOOKS_LATE_S}",
        check=conditions.webhooks_late,
    ),
    Alert(
        name="HushgateEventsLost",
        severity=AlertSeverity.PAGE,
        summary="Accepted entries have no ending, or more than one.",
        minutes=10,
        expression="hushgate_conservation_imbalance != 0",
        check=conditions.events_lost,
    ),
    Alert(
        name="HushgatePartitionsShort",
        severity=AlertSeverity.TICKET,
        summary="The audit has partitions for fewer than two further months.",
        minutes=60,
        expression=f"hushgate_partitions_ahead < {conditions.LEAST_PARTITIONS}",
        check=conditions.partitions_short,
    ),
    Alert(
        name="HushgateDegraded",
        severity=AlertSeverity.TICKET,
        summary="More than 5 % of decisions were made while a service was missing.",
        minutes=5,
        expression=expressions.DEGRADED,
        check=conditions.degraded,
    ),
    Alert(
        name="HushgateModelErrors",
        severity=AlertSeverity.PAGE,
        summary="The model fails for far more events than in the same hours of the past week.",
        minutes=2,
        expression=expressions.MODEL_ERRORS,
        check=conditions.model_errors,
    ),
    Alert(
        name="HushgateSilentFailures",
        severity=AlertSeverity.TICKET,
        summary="Far more events end in silence than in the same hours of the past week.",
        minutes=2,
        expression=expressions.SILENT_FAILURES,
        check=conditions.silent_failures,
    ),
    Alert(
        name="HushgateFrequentBlocks",
        severity=AlertSeverity.TICKET,
        summary="An account or a rule blocks far more than in the same hours of the past week.",
        minutes=2,
        expression=expressions.FREQUENT_BLOCKS,
        check=conditions.frequent_blocks,
    ),
    Alert(
        name="HushgateReviewLate",
        severity=AlertSeverity.TICKET,
        summary="A decision has waited for review for more than a day.",
        minutes=15,
        expression=f"hushgate_review_queue_oldest_age_seconds > {SLA_S}",
        check=conditions.review_late,
    ),
    Alert(
        name="HushgateUpstreamNotCalled",
        severity=AlertSeverity.PAGE,
        summary="Workers do not call a model server, because it failed several times in a row.",
        minutes=5,
        expression="max by (upstream) (hushgate_breaker_state) > 0",
        check=conditions.upstream_not_called,
    ),
    Alert(
        name="HushgateClockWrong",
        severity=AlertSeverity.TICKET,
        summary="The clock of a worker's machine differs from that of Postgres.",
        minutes=1,
        expression=f"abs(hushgate_clock_ahead_seconds) > {MOST_SKEW_S:.0f}",
        check=conditions.clock_wrong,
    ),
    Alert(
        name="HushgateBudgetSpent",
        severity=AlertSeverity.TICKET,
        summary="An account has spent its budget for models.",
        minutes=1,
        expression="hushgate_budgets_reached > 0",
        check=conditions.budget_spent,
    ),
    Alert(
        name="HushgateRolloutReturned",
        severity=AlertSeverity.TICKET,
        summary="A rollout left its bounds and was returned.",
        minutes=0,
        expression="hushgate_rollouts_returned > 0",
        check=conditions.rollout_returned,
    ),
    Alert(
        name="HushgateShadowFailed",
        severity=AlertSeverity.TICKET,
        summary="A candidate that ran as a shadow was switched off.",
        minutes=1,
        expression="hushgate_shadows_failed > 0",
        check=conditions.shadow_failed,
    ),
)
"""Every alert. A further one is an entry here and a section in docs/alerts.md."""
