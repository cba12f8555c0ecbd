"""The table of background jobs: what runs in which process, how often, and what for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import Any, Final

import structlog

from features.feature import hook_items
from worker.errors import StorageUnavailable

log = structlog.get_logger(__name__)


class Process(StrEnum):
    """Where a job runs.

    Attributes:
        TASK: in one worker, as the Celery task ``hushgate.NAME`` that beat sends.
        WORKER: in each worker, without end.
        BEAT: in beat, without end.
        REVIEW: in each review server, without end.
    """

    TASK = "task"
    WORKER = "worker"
    BEAT = "beat"
    REVIEW = "review"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundJob:
    """One background job.

    Attributes:
        name: in logs and in the metric ``hushgate_job_failures_total``.
        does: what for, in one sentence.
        every_s: seconds between two runs, of ``start`` the first at once; what an outage of Postgres ended
            waits for the next one. None of a job with its own pauses.
        start: of a job without end: ``module:function``, called with ``tasks.wiring.WorkerParts``,
            ``worker.settings.Settings`` (beat) or ``review.http.visit.Site``; or a method of these parts.
    """

    name: str
    process: Process
    does: str
    every_s: float | None = None
    start: str | Callable[[Any], Awaitable[None]] = ""

    def of(self, owner: object) -> Callable[[], Awaitable[None]]:
        """What its process runs, given what ``start`` needs."""
        work = self._work(owner)
        return work if self.every_s is None else partial(_repeat, self.name, work, self.every_s)

    def _work(self, owner: object) -> Callable[[], Awaitable[None]]:
        if callable(self.start):
            return partial(self.start, owner)
        module, colon, name = self.start.partition(":")
        if colon:
            return partial(getattr(import_module(module), name), owner)
        method: Callable[[], Awaitable[None]] = attrgetter(self.start)(owner)
        return method


async def _repeat(name: str, work: Callable[[], Awaitable[None]], every_s: float) -> None:
    while True:
        try:
            await work()
        except StorageUnavailable as error:
            log.warning("job_postponed", job=name, kind=error.kind)
        await asyncio.sleep(every_s)


def task(name: str, every_s: float, does: str) -> BackgroundJob:
    """A task that beat sends."""
    return BackgroundJob(name=name, process=Process.TASK, every_s=every_s, does=does)


def endless(
    process: Process, name: str, start: str, does: str, *, every_s: float | None = None
) -> BackgroundJob:
    """A job that its process supervises: a bug in it is logged and reported, and the job starts again.

    Workers count it too.
    """
    return BackgroundJob(name=name, process=process, start=start, does=does, every_s=every_s)


GARBAGE: Final = "tasks.process.garbage:collect_garbage"
RUN_JOBS: Final = "review.job_runner:run_jobs"
JOBS: Final = (
    task("deliver", 10.0, "wakes the relay of replies, in case a nudge was lost"),
    task("escalations", 30.0, "closes escalations that are idle or overturned"),
    task("partitions", 3600.0, "creates the partitions of this month and the next three"),
    task("streams", 600.0, "deletes entries of outgoing streams that every group has read"),
    task("sweep", 3600.0, "deletes rows that are older than HUSHGATE_KEEP says"),
    endless(Process.WORKER, "send_replies", "relay.run", "puts replies on their stream"),
    endless(Process.WORKER, "send_retractions", "retractor.run", "puts retractions on their stream"),
    endless(Process.WORKER, "send_escalations", "escalation_relay.run", "puts escalations on their stream"),
    endless(Process.WORKER, "send_webhooks", "webhooks.run", "sends webhooks"),
    endless(
        Process.WORKER,
        "late_moderation",
        "late_moderation.run_once",
        "moderates texts that passed while moderation was away",
        every_s=5.0,
    ),
    endless(Process.WORKER, "rulebooks", "rulebooks.refresh_forever", "loads changed settings of accounts"),
    endless(Process.WORKER, "models", "refresh_models", "uses changed model servers", every_s=0.5),
    endless(Process.WORKER, "clock", "keep_clock", "reads the clock of Postgres", every_s=1.0),
    endless(Process.WORKER, "storage", "storage.watch", "probes Postgres while it is in doubt"),
    endless(
        Process.WORKER,
        "upstream_reports",
        "upstream_reporter.report",
        "reports upstreams to the fleet",
        every_s=2.0,
    ),
    endless(Process.WORKER, "slots", "limits.slots.renew", "renews the slots of events", every_s=4.0),
    endless(
        Process.WORKER, "pauses", "limits.read_pauses", "reads what upstreams asked others for", every_s=1.0
    ),
    endless(Process.WORKER, "garbage", GARBAGE, "frees objects in cycles", every_s=60.0),
    endless(
        Process.WORKER,
        "new_texts",
        "db.audit.new_texts:merge_forever",
        "merges new texts into their search index",
    ),
    endless(Process.WORKER, "heartbeat_files", "keep_heartbeat_files", "touches the files that probes read"),
    endless(Process.BEAT, "beat_garbage", GARBAGE, "frees objects in cycles", every_s=60.0),
    endless(Process.BEAT, "alerts", "tasks.alerts.watch:watch_alerts", "judges alerts and posts changes"),
    endless(Process.REVIEW, "jobs", RUN_JOBS, "runs exports, bulk reviews and undos", every_s=1.0),
    endless(Process.REVIEW, "jobs_beside", RUN_JOBS, "a second job beside a large one", every_s=1.0),
    endless(
        Process.REVIEW,
        "old_jobs",
        "review.job_runner:sweep_jobs",
        "deletes expired files of jobs",
        every_s=3600.0,
    ),
    endless(Process.REVIEW, "figures", "review.dashboard.figure_counter:run_counter", "counts figures"),
    endless(
        Process.REVIEW,
        "old_sessions",
        "review.background:sweep_expired_access",
        "deletes expired sessions, links and invitations",
        every_s=300.0,
    ),
    endless(
        Process.REVIEW,
        "queues",
        "review.queues.queue_filler:fill_all",
        "fills queues, for the counts on pages; taking an item fills its queue first",
        every_s=5.0,
    ),
)
"""Of the core; features add theirs by ``Feature.jobs``."""


def jobs_of(process: Process) -> Sequence[BackgroundJob]:
    """The jobs of a process, with those of the features in force."""
    return tuple(job for job in (*JOBS, *hook_items("jobs")) if job.process is process)


def beat_schedule() -> dict[str, dict[str, Any]]:
    """Celery's schedule; a task that no worker has taken when the next is due is dropped."""
    return {
        job.name: {
            "task": f"hushgate.{job.name}",
            "schedule": job.every_s,
            "options": {"expires": job.every_s},
        }
        for job in jobs_of(Process.TASK)
    }
