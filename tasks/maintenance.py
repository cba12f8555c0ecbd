"""Periodic tasks: the delivery sweep, escalations, partitions and retention."""

from __future__ import annotations

from typing import Any

import structlog
from celery import shared_task

from db.escalations.closing import close_due_escalations
from db.schema.partitions import ensure_partitions
from tasks.fleet.beats import sign_tasks
from tasks.retention import sweep as retention
from tasks.retention.sweep import SweepPace
from tasks.runtime import Runtime
from tasks.stream_upkeep.figures import sweep_streams

log = structlog.get_logger(__name__)


def runtime_of(task: Any) -> Runtime:
    """The runtime of the worker that runs the task. Raises RuntimeError outside a worker."""
    runtime: Runtime | None = getattr(task.app, "hushgate_runtime", None)
    if runtime is None:
        raise RuntimeError("this task runs inside a Hushgate worker only")
    return runtime


@shared_task(name="hushgate.deliver", bind=True)
def deliver(task: Any) -> None:
    """Look for replies whose nudge was lost."""
    runtime = runtime_of(task)
    runtime.nudge()
    runtime.call(sign_tasks(runtime.parts.redis, task.app.hushgate_settings.stream))


@shared_task(name="hushgate.escalations", bind=True)
def escalations(task: Any) -> None:
    """Close escalations whose idle time is over, or that a reviewer overturned."""
    runtime = runtime_of(task)
    if closed := runtime.call(close_due_escalations(runtime.parts.pool, runtime.now())):
        log.info("escalations_closed", escalations=closed)


@shared_task(name="hushgate.partitions", bind=True)
def partitions(task: Any) -> None:
    """Create the audit's partitions of this month and the next three."""
    runtime = runtime_of(task)
    made = runtime.call(ensure_partitions(runtime.parts.pool, runtime.now().date()))
    log.info("partitions_ensured", made=made)


@shared_task(name="hushgate.sweep", bind=True)
def sweep(task: Any) -> None:
    """Delete rows that are older than the settings keep them, in small steps."""
    runtime, settings = runtime_of(task), task.app.hushgate_settings
    pace = SweepPace(deleted=runtime.retention_deleted)
    deleted = runtime.call(retention.sweep(runtime.parts.pool, settings, runtime.now(), pace=pace))
    log.info("swept", **deleted)


@shared_task(name="hushgate.streams", bind=True)
def streams(task: Any) -> None:
    """Delete entries of the outgoing streams that every consumer group has read, and warn of long streams."""
    runtime = runtime_of(task)
    runtime.call(sweep_streams(runtime.parts.redis, task.app.hushgate_settings))
