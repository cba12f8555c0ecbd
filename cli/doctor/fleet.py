"""``hushgate doctor``: do workers and beat live, and does anything wait too long, by the rules of alerts?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cli.doctor.check import CheckState, DoctorCheck, failed, passed, warned
from cli.doctor.models import judge_check
from db.fleet.figures import StoredFigures
from tasks.alerts.conditions import NO_RIGHT
from tasks.alerts.situation import Situation, load_situation
from tasks.alerts.watch import found_alerts
from tasks.fleet.beats import KEPT_S
from tasks.fleet.state import StreamState
from tasks.metrics.fleet import age_s
from worker.settings import Settings

ONE_BEAT: Final = "stop all but one; after a restart of beat wait for 30 s and look again"
RIGHTS: Final = "fix redis first; let the login of REDIS_URL run the command that it may not"
NOT_CHECKED: Final = "outbox and the following lines"
FIRST_CAUSES: Final = (
    "look for storage_unavailable, moderation_unavailable and endpoint_misconfigured in the logs of workers;"
    " hushgate doctor --live calls the models; hushgate explain with an event's id says what it waits for"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetLine:
    """One line of the doctor about the fleet.

    Attributes:
        alerts: the alerts whose conditions the line shows.
        shown: what is there; None when its server did not answer.
        state: the state when one of the alerts holds.
    """

    check: str
    alerts: tuple[str, ...]
    shown: Callable[[Situation], str | None]
    fix: str
    state: CheckState = "fail"


def fleet_checks(settings: Settings) -> Iterator[DoctorCheck]:
    """One check of each line; a line whose server did not answer is left out, and its error is a check."""
    url, workers = settings.database_url.get_secret_value(), settings.alerts_workers
    now = asyncio.run(load_situation(settings, url, workers=workers, count_all=False))
    found = found_alerts(now)
    for line in LINES:
        if (shown := line.shown(now)) is not None:
            yield _checked(line, shown, {name: found[name] for name in line.alerts if name in found})
    if now.fleet.stream and len(now.fleet.stream.beats) > 1:
        yield warned("beats", f"{', '.join(now.fleet.stream.beats)} send tasks", ONE_BEAT)
    if settings.servers.model.url:  # without it the line models says what is missing
        yield judge_check(settings, now)
    if error := now.fleet.errors.get("redis"):
        yield failed("fleet in redis", f"workers, beat and the event stream are not checked: {error}", RIGHTS)
    if now.fleet.errors.get("postgres") == NO_RIGHT:
        fix = "run hushgate doctor with the login of the review pages"
        yield warned(NOT_CHECKED, "not checked: the login may not read them", fix)
    if now.fleet.stored and now.fleet.stored.endpoints_failing:
        count = now.fleet.stored.endpoints_failing
        yield warned(
            "webhook endpoints",
            f"{count} failed at the last attempt, or were disabled for that",
            "hushgate webhooks list shows them and hushgate webhooks deliveries their errors;"
            " hushgate webhooks enable sends what waits",
        )


def _checked(line: FleetLine, shown: str, found: Mapping[str, tuple[str, ...]]) -> DoctorCheck:
    if not found:
        return passed(line.check, shown)
    sentences = "; ".join(each for sentences in found.values() for each in sentences)
    return DoctorCheck(
        check=line.check,
        state=line.state,
        found=f"{shown}: {sentences}",
        fix=f"{line.fix} (docs/alerts.md, {', '.join(found)})",
    )


def _of_stream(shown: Callable[[StreamState, Situation], str]) -> Callable[[Situation], str | None]:
    return lambda now: None if now.fleet.stream is None else shown(now.fleet.stream, now)


def _of_stored(shown: Callable[[StoredFigures, Situation], str]) -> Callable[[Situation], str | None]:
    return lambda now: None if now.fleet.stored is None else shown(now.fleet.stored, now)


def _beat(stream: StreamState, _now: Situation) -> str:
    if stream.beat_age_s >= KEPT_S:
        return "none"
    ran = "none" if stream.tasks_age_s >= KEPT_S else f"one, or beat started, {stream.tasks_age_s:.0f} s ago"
    return f"sent a task {stream.beat_age_s:.0f} s ago, a worker ran {ran}"


def _age(oldest: datetime | None, now: Situation) -> str:
    return f"{age_s(oldest, now.fleet.at):.0f} s"


RECENT: Final = _of_stored(
    lambda _, now: f"{sum(each.events for each in now.counts if each.recent)} in the last 15 minutes"
)
LINES: Final = (
    FleetLine(
        check="workers",
        alerts=("HushgateWorkersMissing",),
        shown=_of_stream(lambda stream, now: f"{stream.workers} alive, {now.workers} expected"),
        fix="start hushgate worker; HUSHGATE_ALERTS_WORKERS says how many are expected",
    ),
    FleetLine(
        check="beat",
        alerts=("HushgateTasksNotRun",),
        shown=_of_stream(_beat),
        fix="start hushgate beat, exactly one, and a worker that runs its tasks",
    ),
    FleetLine(
        check="event stream",
        alerts=("HushgateNothingDecided", "HushgateEntryTooOld"),
        shown=_of_stream(
            lambda stream, _: f"{stream.entries} entries, the oldest {stream.oldest_age_s:.0f} s old"
        ),
        fix=FIRST_CAUSES,
    ),
    FleetLine(
        check="outbox",
        alerts=("HushgateOutboxLate",),
        shown=_of_stored(
            lambda stored, now: (
                f"{stored.outbox_waiting} replies wait, the oldest for {_age(stored.outbox_oldest, now)}"
            )
        ),
        fix="workers deliver replies: look for delivery_postponed and job_failed in their logs, and at"
        " redis memory above",
    ),
    FleetLine(
        check="webhooks",
        alerts=("HushgateWebhooksLate",),
        shown=_of_stored(
            lambda stored, now: (
                f"{stored.webhooks_waiting} wait, the oldest for {_age(stored.webhooks_oldest, now)}"
            )
        ),
        fix="hushgate webhooks deliveries shows the errors of each endpoint",
    ),
    FleetLine(
        check="late moderation",
        alerts=("HushgateUnmoderatedLate",),
        shown=_of_stored(
            lambda stored, now: (
                f"the oldest unmoderated exchange waits for {_age(stored.unmoderated_oldest, now)}"
            )
        ),
        fix="workers moderate it when moderation answers: see the lines moderation endpoint and workers",
    ),
    FleetLine(
        check="partitions",
        alerts=("HushgatePartitionsShort",),
        shown=_of_stored(lambda stored, _: f"for {stored.partitions_ahead} further months"),
        fix="beat creates them every hour: see the line beat; until then each worker creates the current one",
    ),
    FleetLine(
        check="model calls",
        alerts=("HushgateModelErrors",),
        shown=RECENT,
        fix="hushgate doctor --live makes one call and shows the error",
    ),
    FleetLine(
        check="recent decisions",
        alerts=("HushgateDegraded", "HushgateSilentFailures", "HushgateFrequentBlocks"),
        state="warn",
        shown=RECENT,
        fix="hushgate decisions list --since 15m shows their reasons",
    ),
    FleetLine(
        check="budgets",
        alerts=("HushgateBudgetSpent",),
        state="warn",
        shown=_of_stored(lambda stored, _: f"{len(stored.budgets_reached)} are spent"),
        fix="hushgate costs shows what they were spent on",
    ),
    FleetLine(
        check="candidates",
        alerts=("HushgateRolloutReturned", "HushgateShadowFailed"),
        state="warn",
        shown=_of_stored(lambda stored, _: f"{stored.shadows_running} run as shadows"),
        fix="the page Learn of the account shows why; hushgate trials shadow list too",
    ),
    FleetLine(
        check="review queues",
        alerts=("HushgateReviewLate",),
        state="warn",
        shown=_of_stored(
            lambda stored, now: (
                f"the oldest waits for {_age(min(stored.queue_oldest.values(), default=None), now)}"
            )
        ),
        fix="ask the queue's reviewers",
    ),
)
"""Every alert is in one line, but those of servers that are away or not called, and of lost events."""
