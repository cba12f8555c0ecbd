"""Every dashboard; each metric is in one of them."""

from __future__ import annotations

from typing import Final

from tasks.alerts.conditions import SILENT
from tasks.dashboards.panels import (
    Dashboard,
    DashboardPanel,
    PanelUnit,
    gauge_panel,
    quantile_panel,
    rate_panel,
    share_panel,
)
from tasks.metrics import names

SILENT_SERIES: Final = f'{names.EVENTS_DECIDED.name}{{reason_code=~"{"|".join(sorted(SILENT))}"}}'
TOKENS_EACH: Final = (
    f"sum(rate({names.TOKENS.name}[{{window}}])) / sum(rate({names.EVENTS_DECIDED.name}[{{window}}]))"
)

FLEET: Final = Dashboard(
    name="fleet",
    title="Hushgate: fleet",
    panels=(
        gauge_panel("Entries that wait or run", PanelUnit.COUNT, entries=names.STREAM_ENTRIES),
        gauge_panel(
            "Oldest entry, and the longest hold",
            PanelUnit.SECONDS,
            oldest=names.OLDEST_ENTRY_AGE,
            hold=names.LONGEST_HOLD,
        ),
        gauge_panel("Workers with a heartbeat", PanelUnit.COUNT, workers=names.WORKERS_ALIVE),
        gauge_panel("Since beat's tasks", PanelUnit.SECONDS, sent=names.BEAT_AGE, run=names.TASKS_AGE),
        gauge_panel("In flight", PanelUnit.COUNT, running=names.IN_FLIGHT, limit=names.IN_FLIGHT_LIMIT),
        quantile_panel("From the stream to the decision", names.EVENT_AGE),
        quantile_panel("Stages", names.STAGE_DURATION, "stage"),
        gauge_panel("Replies that wait", PanelUnit.COUNT, replies=names.OUTBOX_WAITING),
        gauge_panel("Oldest reply that waits", PanelUnit.SECONDS, oldest=names.OUTBOX_OLDEST_AGE),
        rate_panel("Replies delivered", names.REPLIES_DELIVERED),
        gauge_panel("Servers that answer", PanelUnit.COUNT, server=names.SERVER_UP),
        gauge_panel("Decisions can be stored", PanelUnit.COUNT, worker=names.STORAGE_OPEN),
        gauge_panel("Clock ahead of Postgres", PanelUnit.SECONDS, worker=names.CLOCK_AHEAD),
        gauge_panel("Shards that answer", PanelUnit.COUNT, shard=names.SHARD_UP),
        gauge_panel("Entries of each shard", PanelUnit.COUNT, entries=names.SHARD_ENTRIES),
        gauge_panel("Oldest entry of each shard", PanelUnit.SECONDS, oldest=names.SHARD_OLDEST_AGE),
        rate_panel("Rows that retention deleted", names.RETENTION_DELETED, "table"),
        gauge_panel("Events lost or ended twice", PanelUnit.COUNT, imbalance=names.CONSERVATION_IMBALANCE),
        gauge_panel("Partitions for further months", PanelUnit.COUNT, partitions=names.PARTITIONS_AHEAD),
        rate_panel("Background jobs that failed", names.JOB_FAILURES, "job"),
        rate_panel("Decisions stored without their recording", names.RECORDING_FAILURES),
        gauge_panel("Rollouts returned in an hour", PanelUnit.COUNT, rollouts=names.ROLLOUTS_RETURNED),
        gauge_panel("Releases", PanelUnit.COUNT, release=names.BUILD_INFO),
    ),
)
DECISIONS: Final = Dashboard(
    name="decisions",
    title="Hushgate: decisions and reasons",
    panels=(
        rate_panel("Decisions", names.EVENTS_DECIDED, "decision"),
        rate_panel("Reasons", names.EVENTS_DECIDED, "reason_code"),
        rate_panel("Scopes", names.EVENTS_DECIDED, "scope"),
        share_panel("Share that ends in silence", SILENT_SERIES, names.EVENTS_DECIDED),
        share_panel("Share that is degraded", names.DEGRADED.name, names.EVENTS_DECIDED),
        rate_panel("Accounts, where metrics name them", names.ACCOUNT_EVENTS_DECIDED, "account", "blocked"),
        rate_panel("Dead letters", names.DEAD_LETTERS, "reason_code"),
        rate_panel("Repeated events", names.REPEATED, "outcome"),
    ),
)
UPSTREAMS: Final = Dashboard(
    name="upstreams",
    title="Hushgate: upstreams and cost",
    panels=(
        rate_panel("Requests to model servers", names.UPSTREAM_REQUESTS, "upstream", "outcome"),
        quantile_panel("Duration of requests", names.UPSTREAM_DURATION, "upstream"),
        gauge_panel("Moderation calls that are held", PanelUnit.COUNT, held=names.HELD),
        gauge_panel("Calls under way", PanelUnit.COUNT, calls=names.CALLS_UNDER_WAY),
        rate_panel("Calls that were not made", names.NOT_CALLED, "upstream", "why"),
        gauge_panel("Breakers: 0 closed, 1 half-open, 2 open", PanelUnit.COUNT, breaker=names.BREAKER_STATE),
        rate_panel("Breakers that opened", names.BREAKER_OPENED, "upstream"),
        gauge_panel("Quota that is left", PanelUnit.COUNT, left=names.QUOTA_LEFT),
        gauge_panel("Pauses that servers asked for", PanelUnit.SECONDS, pause=names.PAUSED),
        gauge_panel("Shadows", PanelUnit.COUNT, running=names.SHADOWS_RUNNING, failed=names.SHADOWS_FAILED),
        gauge_panel("Budgets that are spent", PanelUnit.COUNT, budgets=names.BUDGETS_REACHED),
        rate_panel("Tokens a second", names.TOKENS, "purpose", "type"),
        DashboardPanel(
            title="Tokens in 24 hours",
            queries={f"sum by (purpose, type) (increase({names.TOKENS.name}[24h]))": "{{purpose}} {{type}}"},
        ),
        DashboardPanel(
            title="Tokens for each decision",
            queries={TOKENS_EACH.format(window=window): window for window in ("5m", "1h")},
        ),
    ),
)
PEOPLE: Final = Dashboard(
    name="people",
    title="Hushgate: people and channels",
    panels=(
        gauge_panel("Oldest decision in review queues", PanelUnit.SECONDS, oldest=names.QUEUE_OLDEST_AGE),
        gauge_panel("Open escalations", PanelUnit.COUNT, open=names.ESCALATIONS_OPEN),
        gauge_panel("Oldest open escalation", PanelUnit.SECONDS, oldest=names.ESCALATIONS_OLDEST_AGE),
        gauge_panel("Webhooks that wait", PanelUnit.COUNT, webhooks=names.WEBHOOKS_WAITING),
        gauge_panel("Oldest webhook that waits", PanelUnit.SECONDS, oldest=names.WEBHOOKS_OLDEST_AGE),
        rate_panel("Attempts to send webhooks", names.WEBHOOK_ATTEMPTS, "state"),
        gauge_panel("Failing webhook endpoints", PanelUnit.COUNT, endpoints=names.WEBHOOK_ENDPOINTS_FAILING),
        rate_panel("HTTP requests", names.HTTP_REQUESTS, "status"),
        quantile_panel("Duration of HTTP requests", names.HTTP_DURATION),
    ),
)
DASHBOARDS: Final = (FLEET, DECISIONS, UPSTREAMS, PEOPLE)
