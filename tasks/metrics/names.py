"""Every metric with its type, labels and meaning; nothing else names one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

STAGE_BUCKETS_S: Final = (0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
AGE_BUCKETS_S: Final = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)


class MetricKind(StrEnum):
    """The types of Prometheus that are used."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class MetricSource(StrEnum):
    """Which processes serve a metric."""

    WORKER = "each worker"
    EVERY = "every process"
    WEB = "review server, gateway"
    FLEET = "the exporter"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSpec:
    """One metric.

    Attributes:
        name: as Prometheus shows it, with unit and ``_total``.
        buckets: upper limits of a histogram, in its unit.
    """

    name: str
    kind: MetricKind
    source: MetricSource
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


def _counter(name: str, help_: str, *labels: str, source: MetricSource = MetricSource.WORKER) -> MetricSpec:
    return MetricSpec(name=name, kind=MetricKind.COUNTER, source=source, help=help_, labels=labels)


def _gauge(name: str, help_: str, *labels: str, source: MetricSource = MetricSource.WORKER) -> MetricSpec:
    return MetricSpec(name=name, kind=MetricKind.GAUGE, source=source, help=help_, labels=labels)


def _fleet(name: str, help_: str, *labels: str) -> MetricSpec:
    return _gauge(name, help_, *labels, source=MetricSource.FLEET)


def _histogram(
    name: str,
    help_: str,
    *labels: str,
    buckets: tuple[float, ...],
    source: MetricSource = MetricSource.WORKER,
) -> MetricSpec:
    return MetricSpec(
        name=name, kind=MetricKind.HISTOGRAM, source=source, help=help_, labels=labels, buckets=buckets
    )


BUILD_INFO: Final = _gauge(
    "hushgate_build_info",
    "1; the labels say which release runs and what the process is.",
    "version",
    "process",
    source=MetricSource.EVERY,
)
EVENTS_DECIDED: Final = _counter(
    "hushgate_events_decided_total",
    "Decisions committed.",
    "decision",
    "reason_code",
    "scope",
)
ACCOUNT_EVENTS_DECIDED: Final = _counter(
    "hushgate_account_events_decided_total",
    "Decisions by account; only with HUSHGATE_METRICS_ACCOUNTS. blocked: by a rule or by moderation.",
    "account",
    "blocked",
)
STAGE_DURATION: Final = _histogram(
    "hushgate_stage_duration_seconds",
    "Time in each stage, of committed decisions.",
    "stage",
    "outcome",
    buckets=STAGE_BUCKETS_S,
)
EVENT_AGE: Final = _histogram(
    "hushgate_event_age_seconds",
    "From the stream entry to the decision, of committed decisions.",
    buckets=AGE_BUCKETS_S,
)
UPSTREAM_REQUESTS: Final = _counter(
    "hushgate_upstream_requests_total",
    "Requests to model servers, counted when they end: also those of events not yet decided.",
    "upstream",
    "outcome",
)
UPSTREAM_DURATION: Final = _histogram(
    "hushgate_upstream_request_duration_seconds",
    "Duration of requests to model servers.",
    "upstream",
    buckets=STAGE_BUCKETS_S,
)
NOT_CALLED: Final = _counter(
    "hushgate_upstream_not_called_total",
    "Calls of model servers that were not made: circuit_open, busy (no place for it) or limited.",
    "upstream",
    "why",
)
BREAKER_STATE: Final = _gauge(
    "hushgate_breaker_state",
    "Whether this process calls a model server: 0 closed (it does), 1 half-open (a probe), 2 open (not).",
    "upstream",
)
BREAKER_OPENED: Final = _counter(
    "hushgate_breaker_opened_total", "Times that the breaker of a model server opened.", "upstream"
)
QUOTA_LEFT: Final = _gauge(
    "hushgate_upstream_quota_left",
    "Requests or tokens left of a limit, the server's figure or the configured one; NaN: neither is known.",
    "upstream",
    "resource",
)
PAUSED: Final = _gauge(
    "hushgate_upstream_paused_seconds", "Seconds until a server takes calls again, as it asked.", "upstream"
)
CALLS_UNDER_WAY: Final = _gauge(
    "hushgate_upstream_calls", "Calls under way of the upstream's kind in this process.", "upstream"
)
TOKENS: Final = _counter(
    "hushgate_tokens_total",
    "Tokens that model servers reported, of committed decisions. type: prompt or completion.",
    "purpose",
    "type",
)
DEGRADED: Final = _counter("hushgate_degraded_total", "Committed decisions made while a service was missing.")
DEAD_LETTERS: Final = _counter(
    "hushgate_dead_letters_total", "Payloads that became dead letters.", "reason_code"
)
REPEATED: Final = _counter(
    "hushgate_events_repeated_total", "Entries of events that were decided or buried before.", "outcome"
)
IN_FLIGHT: Final = _gauge("hushgate_in_flight", "Events that run now.")
IN_FLIGHT_LIMIT: Final = _gauge("hushgate_in_flight_limit", "HUSHGATE_IN_FLIGHT of this worker.")
HELD: Final = _gauge("hushgate_moderation_held", "Moderation calls that wait for their next attempt.")
STORAGE_OPEN: Final = _gauge(
    "hushgate_storage_open", "1 while decisions can be stored; 0: nothing is admitted."
)
CLOCK_AHEAD: Final = _gauge(
    "hushgate_clock_ahead_seconds", "Clock of the machine minus that of Postgres; negative: it is behind."
)
WEBHOOK_ATTEMPTS: Final = _counter(
    "hushgate_webhook_attempts_total",
    "Attempts to send a webhook, by the state of the delivery afterwards; waiting: it is repeated.",
    "state",
)
REPLIES_DELIVERED: Final = _counter("hushgate_replies_delivered_total", "Replies put on the reply stream.")
JOB_FAILURES: Final = _counter(
    "hushgate_job_failures_total",
    "Background jobs of features/jobs.py that a bug ended; they start again.",
    "job",
)
FEEDBACK: Final = _counter(
    "hushgate_feedback_total",
    "Feedback of customers about replies: wrong, right or neither.",
    "verdict",
)
LATE_MODERATION: Final = _counter(
    "hushgate_late_moderation_total",
    "Exchanges that passed without moderation and were checked later: clear, flagged, refused or gone.",
    "result",
)
RECORDING_FAILURES: Final = _counter(
    "hushgate_recording_failures_total", "Decisions stored without their recording, because it failed."
)
RETENTION_DELETED: Final = _counter(
    "hushgate_retention_deleted_total", "Rows that the sweep deleted, while it runs.", "table"
)
HTTP_REQUESTS: Final = _counter(
    "hushgate_http_requests_total",
    "Requests answered, by class of status, such as 2xx.",
    "status",
    source=MetricSource.WEB,
)
HTTP_DURATION: Final = _histogram(
    "hushgate_http_request_duration_seconds",
    "Time until the answer was complete.",
    buckets=STAGE_BUCKETS_S,
    source=MetricSource.WEB,
)
SERVER_UP: Final = _fleet(
    "hushgate_server_up",
    "1 when the server answered the exporter; its figures are missing when not.",
    "server",
)
STREAM_ENTRIES: Final = _fleet("hushgate_stream_entries", "Entries not finished: the backlog.")
OLDEST_ENTRY_AGE: Final = _fleet(
    "hushgate_oldest_entry_age_seconds", "Age of the oldest entry that is not finished; 0 without one."
)
LONGEST_HOLD: Final = _fleet(
    "hushgate_longest_hold_seconds", "The greatest hold_max_s of any account: how old an entry may become."
)
SHARD_UP: Final = _fleet(
    "hushgate_shard_up", "1 when the Redis of the shard answered; only with several shards.", "shard"
)
SHARD_ENTRIES: Final = _fleet(
    "hushgate_shard_entries", "Entries of the shard that are not finished; only with several shards.", "shard"
)
SHARD_OLDEST_AGE: Final = _fleet(
    "hushgate_shard_oldest_entry_age_seconds",
    "Age of the shard's oldest entry that is not finished; only with several shards.",
    "shard",
)
WORKERS_ALIVE: Final = _fleet("hushgate_workers_alive", "Workers with a heartbeat.")
BEAT_AGE: Final = _fleet(
    "hushgate_beat_age_seconds", "Since beat sent a task; a day when that is longer ago."
)
TASKS_AGE: Final = _fleet(
    "hushgate_tasks_age_seconds",
    "Since a worker ran a task of beat, or beat started; at most a day.",
)
REDIS_MEMORY: Final = _fleet(
    "hushgate_redis_memory_share", "Used part of the memory limit of the fullest Redis; 0 without a limit."
)
OUTBOX_WAITING: Final = _fleet("hushgate_outbox_waiting", "Replies that wait for the reply stream.")
OUTBOX_OLDEST_AGE: Final = _fleet(
    "hushgate_outbox_oldest_age_seconds", "Age of the oldest reply that waits; 0 without one."
)
WEBHOOKS_WAITING: Final = _fleet("hushgate_webhooks_waiting", "Webhook deliveries that wait.")
UNMODERATED: Final = _fleet(
    "hushgate_unmoderated_texts", "Exchanges that passed without moderation and wait for a late check."
)
UNMODERATED_OLDEST_AGE: Final = _fleet(
    "hushgate_unmoderated_oldest_age_seconds", "Age of the oldest of these exchanges; 0 without one."
)
WEBHOOKS_OLDEST_AGE: Final = _fleet(
    "hushgate_webhooks_oldest_age_seconds", "Age of the oldest webhook delivery that waits; 0 without one."
)
WEBHOOK_ENDPOINTS_FAILING: Final = _fleet(
    "hushgate_webhook_endpoints_failing",
    "Webhook endpoints whose last attempt failed, or that are disabled for it.",
)
BUDGETS_REACHED: Final = _fleet(
    "hushgate_budgets_reached", "Budgets of accounts, for this day or month, that are spent."
)
ROLLOUTS_RETURNED: Final = _fleet(
    "hushgate_rollouts_returned", "Rollouts that left their bounds and were returned within the last hour."
)
SHADOWS_RUNNING: Final = _fleet("hushgate_shadows_running", "Candidates that run as shadows.")
SHADOWS_FAILED: Final = _fleet("hushgate_shadows_failed", "Shadows that were switched off in the last day.")
CONSERVATION_IMBALANCE: Final = _fleet(
    "hushgate_conservation_imbalance",
    "Accepted entries without exactly one ending; counted at most once in five minutes. 0: none is lost.",
)
PARTITIONS_AHEAD: Final = _fleet(
    "hushgate_partitions_ahead", "Partitions of the audit for months after this one."
)
QUEUE_OLDEST_AGE: Final = _fleet(
    "hushgate_review_queue_oldest_age_seconds",
    "Age of the oldest decision that waits for review; 0 without one.",
    "kind",
)
ESCALATIONS_OPEN: Final = _fleet("hushgate_escalations_open", "Escalations that no person has answered.")
ESCALATIONS_OLDEST_AGE: Final = _fleet(
    "hushgate_escalations_oldest_age_seconds", "Age of the oldest open escalation; 0 without one."
)

METRICS: Final = tuple(value for value in tuple(globals().values()) if isinstance(value, MetricSpec))
"""Every metric, in the order above."""


def metrics_table() -> str:
    """The metrics as a table of Markdown."""
    rows = (
        f"| `{each.name}` | {each.kind} | {', '.join(f'`{label}`' for label in each.labels)} "
        f"| {each.source} | {each.help} |"
        for each in METRICS
    )
    return "\n".join(("| metric | type | labels | served by | meaning |", "|---|---|---|---|---|", *rows))
