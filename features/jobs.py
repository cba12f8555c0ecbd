"""The table of background jobs: what runs in which process, and how often."""

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
        every_s: seconds between two runs, of ``start`` the first at once; what an outage of Postgres ended
            waits for the next one. None of a job with its own pauses.
        start: of a job without end: ``module:function``, called with ``tasks.wiring.WorkerParts``,
            ``worker.settings.Settings`` (beat) or ``review.http.visit.Site``; or a method of these parts.
    """

    name: str
    process: Process
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


def task(name: str, every_s: float) -> BackgroundJob:
    """A task that beat sends."""
    return BackgroundJob(name=name, process=Process.TASK, every_s=every_s)


def endless(process: Process, name: str, start: str, *, every_s: float | None = None) -> BackgroundJob:
    """A job that its process supervises: a bug in it is logged and reported, and the job starts again.

    Workers count it too.
    """
    return BackgroundJob(name=name, process=process, start=start, every_s=every_s)


GARBAGE: Final = "tasks.process.garbage:collect_garbage"
RUN_JOBS: Final = "review.job_runner:run_jobs"
JOBS: Final = (
    task("deliver", 10.0),
    task("escalations", 30.0),
    task("partitions", 3600.0),
    task("streams", 600.0),
    task("sweep", 3600.0),
    endless(Process.WORKER, "send_replies", "relay.run"),
    endless(Process.WORKER, "send_retractions", "retractor.run"),
    endless(Process.WORKER, "send_escalations", "escalation_relay.run"),
    endless(Process.WORKER, "send_webhooks", "webhooks.run"),
    endless(Process.WORKER, "late_moderation", "late_moderation.run_once", every_s=5.0),
    endless(Process.WORKER, "rulebooks", "rulebooks.refresh_forever"),
    endless(Process.WORKER, "models", "refresh_models", every_s=0.5),
    endless(Process.WORKER, "clock", "keep_clock", every_s=1.0),
    endless(Process.WORKER, "storage", "storage.watch"),
    endless(Process.WORKER, "upstream_reports", "upstream_reporter.report", every_s=2.0),
    endless(Process.WORKER, "slots", "limits.slots.renew", every_s=4.0),
    endless(Process.WORKER, "pauses", "limits.read_pauses", every_s=1.0),
    endless(Process.WORKER, "garbage", GARBAGE, every_s=60.0),
    endless(Process.WORKER, "new_texts", "db.audit.new_texts:merge_forever"),
    endless(Process.WORKER, "heartbeat_files", "keep_heartbeat_files"),
    endless(Process.BEAT, "beat_garbage", GARBAGE, every_s=60.0),
    endless(Process.BEAT, "alerts", "tasks.alerts.watch:watch_alerts"),
    endless(Process.REVIEW, "jobs", RUN_JOBS, every_s=1.0),
    endless(Process.REVIEW, "jobs_beside", RUN_JOBS, every_s=1.0),  # a second job beside a large one
    endless(Process.REVIEW, "old_jobs", "review.job_runner:sweep_jobs", every_s=3600.0),
    endless(Process.REVIEW, "figures", "review.dashboard.figure_counter:run_counter"),
    endless(Process.REVIEW, "old_sessions", "review.background:sweep_expired_access", every_s=300.0),
    endless(Process.REVIEW, "queues", "review.queues.queue_filler:fill_all", every_s=5.0),
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
