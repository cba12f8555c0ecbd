"""The conditions of alerts on Redis and Postgres: each gives one sentence for each finding."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from db.fleet.recent import RecentCount
from tasks.alerts.situation import Situation
from tasks.alerts.unusual import MINIMUM, EventShare, unusual_shares
from tasks.fleet.beats import KEPT_S
from tasks.metrics.fleet import age_s
from tasks.stream_upkeep.redis_memory import WARN_SHARE
from worker.reasons import Reason, ReasonFamily

STALLED_S: Final = 300
OUTBOX_LATE_S: Final = 60
TASKS_LATE_S: Final = 120
WEBHOOKS_LATE_S: Final = 900
UNMODERATED_LATE_S: Final = 3600
NO_RIGHT: Final = "InsufficientPrivilege"
LEAST_PARTITIONS: Final = 2
MOST_DEGRADED: Final = 0.05
SLA_S: Final = 86_400

SILENT: Final = tuple(each for each in Reason if each.spec.error_class is not None)
MODEL_FAILED: Final = tuple(each for each in Reason if each.spec.family is ReasonFamily.MODEL_FAILED)
BLOCKED: Final = tuple(each for each in Reason if each.spec.family is ReasonFamily.BLOCKED)


def server_away(now: Situation) -> Iterator[str]:
    """Each server that did not answer."""
    errors = now.fleet.errors
    if now.fleet.stream is None:
        yield f"Redis does not answer: {errors['redis']}"
    for shard in now.fleet.stream.shards if now.fleet.stream else ():
        if not shard.up:
            yield f"Redis does not answer for the shard {shard.name}"
    if now.fleet.stored is None and errors["postgres"] == NO_RIGHT:
        yield "Postgres refuses the check: it needs the database login of the review pages"
    elif now.fleet.stored is None:
        yield f"Postgres does not answer: {errors['postgres']}"


def nothing_decided(now: Situation) -> Iterator[str]:
    """No decision for too long, while entries wait."""
    stream, stored = now.fleet.stream, now.fleet.stored
    if stream is None or stored is None or stream.oldest_age_s <= STALLED_S:
        return
    if stored.last_decision is None or age_s(stored.last_decision, now.fleet.at) > STALLED_S:
        yield f"{stream.entries} entries wait and none was decided for {STALLED_S} s"


def entry_too_old(now: Situation) -> Iterator[str]:
    """The oldest entry is beyond every hold."""
    stream, stored = now.fleet.stream, now.fleet.stored
    if stream and stored and stream.oldest_age_s > stored.longest_hold_s:
        found, most = stream.oldest_age_s, stored.longest_hold_s
        yield f"the oldest entry is {found:.0f} s old, the longest hold is {most:.0f} s"


def workers_missing(now: Situation) -> Iterator[str]:
    """Fewer workers than expected."""
    if now.fleet.stream and now.fleet.stream.workers < now.workers:
        yield f"{now.fleet.stream.workers} workers have a heartbeat, {now.workers} are expected"


def tasks_not_run(now: Situation) -> Iterator[str]:
    """Beat sends no task, or no worker runs the tasks of beat."""
    stream = now.fleet.stream
    if stream and stream.beat_age_s >= KEPT_S:
        yield "no beat has sent a task in the last day"
    elif stream and stream.beat_age_s > TASKS_LATE_S:
        yield f"beat has sent no task for {stream.beat_age_s:.0f} s"
    elif stream and stream.tasks_age_s > TASKS_LATE_S:
        since = "in the last day" if stream.tasks_age_s >= KEPT_S else f"for {stream.tasks_age_s:.0f} s"
        yield f"beat sends tasks, but no worker has run one {since}"


def redis_nearly_full(now: Situation) -> Iterator[str]:
    """Redis is about to refuse publishers."""
    stream = now.fleet.stream
    if stream and stream.memory_share >= WARN_SHARE:
        yield f"Redis uses {stream.memory_share:.0%} of its memory limit"


def outbox_late(now: Situation) -> Iterator[str]:
    """A reply waits too long."""
    if now.fleet.stored:
        yield from _late("reply", now.fleet.stored.outbox_oldest, now.fleet.at, OUTBOX_LATE_S)


def webhooks_late(now: Situation) -> Iterator[str]:
    """A webhook waits too long."""
    if now.fleet.stored:
        yield from _late("webhook", now.fleet.stored.webhooks_oldest, now.fleet.at, WEBHOOKS_LATE_S)


def unmoderated_late(now: Situation) -> Iterator[str]:
    """A text that passed without moderation waits too long for the late check."""
    if now.fleet.stored:
        oldest = now.fleet.stored.unmoderated_oldest
        yield from _late("unmoderated exchange", oldest, now.fleet.at, UNMODERATED_LATE_S)


def events_lost(now: Situation) -> Iterator[str]:
    """The conservation law does not hold."""
    if now.fleet.imbalance:
        yield f"{now.fleet.imbalance} entries have no ending, or more than one"


def partitions_short(now: Situation) -> Iterator[str]:
    """Too few future partitions."""
    if now.fleet.stored and now.fleet.stored.partitions_ahead < LEAST_PARTITIONS:
        yield f"{now.fleet.stored.partitions_ahead} partitions for further months"


def degraded(now: Situation) -> Iterator[str]:
    """Too many decisions without a service."""
    recent = [each for each in now.counts if each.recent]
    share = EventShare(
        matched=sum(each.degraded for each in recent), events=sum(each.events for each in recent)
    )
    if share.matched >= MINIMUM and share.matched > MOST_DEGRADED * share.events:
        yield f"{share} decisions of the last 15 minutes are degraded"


def model_errors(now: Situation) -> Iterator[str]:
    """Model failures, compared with the past."""
    yield from _spike(now, MODEL_FAILED, "failed at the model")


def silent_failures(now: Situation) -> Iterator[str]:
    """Silent endings, compared with the past."""
    yield from _spike(now, SILENT, "ended in silence")


def frequent_blocks(now: Situation) -> Iterator[str]:
    """Blocks of an account, and of each of its rules, compared with its past."""

    def blocked(each: RecentCount) -> bool:
        return each.reason_code in BLOCKED

    def account(each: RecentCount) -> str:
        return each.user_id

    for name, recent, past in unusual_shares(now.counts, blocked, account, account):
        yield f"account {name}: {recent} events blocked, {past} in the same hours of the past week"

    def rule(each: RecentCount) -> str:
        return f"{each.user_id}, rule {each.matched_rule}"

    for name, recent, past in unusual_shares(now.counts, blocked, rule, account):
        yield f"account {name}: {recent} events blocked, {past} in the same hours of the past week"


def upstream_not_called(now: Situation) -> Iterator[str]:
    """Upstreams that workers do not call, after several failures in a row."""
    for upstream, workers in now.not_called:
        yield f"{workers} workers do not call the upstream {upstream}: its breaker is open"


def clock_wrong(now: Situation) -> Iterator[str]:
    """Workers whose machine's clock is wrong."""
    for worker, ahead_s in now.clocks:
        where = "ahead of" if ahead_s > 0 else "behind"
        yield f"the clock of worker {worker} is {abs(ahead_s):.1f} s {where} that of Postgres"


def budget_spent(now: Situation) -> Iterator[str]:
    """Accounts whose budget is spent."""
    for account, period in now.fleet.stored.budgets_reached if now.fleet.stored else ():
        yield f"account {account}: its budget for the {period} is spent"


def rollout_returned(now: Situation) -> Iterator[str]:
    """A rollout left its bounds within an hour."""
    for account in now.fleet.stored.rollouts_returned if now.fleet.stored else ():
        yield f"account {account}: its rollout left its bounds and was returned"


def shadow_failed(now: Situation) -> Iterator[str]:
    """Candidates that were switched off."""
    if now.fleet.stored and (number := now.fleet.stored.shadows_failed):
        yield f"{number} shadow(s) were switched off in the last day"


def review_late(now: Situation) -> Iterator[str]:
    """A queue is behind."""
    if now.fleet.stored:
        for kind, oldest in sorted(now.fleet.stored.queue_oldest.items()):
            yield from _late(f"decision in queues of kind {kind}", oldest, now.fleet.at, SLA_S)


def _spike(now: Situation, reasons: tuple[Reason, ...], what: str) -> Iterator[str]:
    found = unusual_shares(now.counts, lambda each: each.reason_code in reasons, lambda _: "", lambda _: "")
    for _, recent, past in found:
        yield f"{recent} events {what}, {past} in the same hours of the past week"


def _late(what: str, oldest: datetime | None, at: datetime, limit_s: float) -> Iterator[str]:
    if age_s(oldest, at) > limit_s:
        yield f"the oldest {what} has waited for {age_s(oldest, at):.0f} s, the limit is {limit_s:.0f} s"


CHECKS: Final = {
    "HushgateServerAway": server_away,
    "HushgateNothingDecided": nothing_decided,
    "HushgateEntryTooOld": entry_too_old,
    "HushgateWorkersMissing": workers_missing,
    "HushgateTasksNotRun": tasks_not_run,
    "HushgateRedisNearlyFull": redis_nearly_full,
    "HushgateOutboxLate": outbox_late,
    "HushgateWebhooksLate": webhooks_late,
    "HushgateUnmoderatedLate": unmoderated_late,
    "HushgateEventsLost": events_lost,
    "HushgatePartitionsShort": partitions_short,
    "HushgateDegraded": degraded,
    "HushgateModelErrors": model_errors,
    "HushgateSilentFailures": silent_failures,
    "HushgateFrequentBlocks": frequent_blocks,
    "HushgateReviewLate": review_late,
    "HushgateUpstreamNotCalled": upstream_not_called,
    "HushgateClockWrong": clock_wrong,
    "HushgateBudgetSpent": budget_spent,
    "HushgateRolloutReturned": rollout_returned,
    "HushgateShadowFailed": shadow_failed,
}
"""Alert of ``rules.yml`` -> its condition."""
