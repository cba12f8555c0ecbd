"""What is not hot: the delivery sweep, partitions and retention."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import structlog
from celery import shared_task

from db import upkeep
from tasks.wiring import Runtime
from worker.settings import Settings

log = structlog.get_logger(__name__)

SCHEDULE: Final = {
    "deliver": {"task": "hushgate.deliver", "schedule": 10.0, "options": {"expires": 10}},
    "partitions": {"task": "hushgate.partitions", "schedule": 3600.0, "options": {"expires": 3600}},
    "sweep": {"task": "hushgate.sweep", "schedule": 3600.0, "options": {"expires": 3600}},
}


def _runtime(task: Any) -> Runtime:  # noqa: ANN401  # Celery's own loose types
    runtime: Runtime | None = getattr(task.app, "hushgate_runtime", None)
    if runtime is None:
        raise RuntimeError("this task runs inside a Hushgate worker only")
    return runtime


@shared_task(name="hushgate.deliver", bind=True)
def deliver(task: Any) -> None:  # noqa: ANN401
    """Look for replies whose nudge was lost."""
    _runtime(task).nudge()


@shared_task(name="hushgate.partitions", bind=True)
def partitions(task: Any) -> None:  # noqa: ANN401
    """Make the audit's partitions of this month and the next three."""
    runtime = _runtime(task)
    made = runtime.call(upkeep.ensure_partitions(runtime.parts.pool, datetime.now(UTC).date()))
    log.info("partitions_ensured", made=made)


@shared_task(name="hushgate.sweep", bind=True)
def sweep(task: Any) -> None:  # noqa: ANN401
    """Delete what is past its time: sealed exchanges, old keys and, where asked for, old audit months."""
    runtime, settings = _runtime(task), task.app.hushgate_settings
    gone = runtime.call(upkeep.sweep(runtime.parts.pool, _limits(settings, datetime.now(UTC))))
    log.info("swept", **gone)


def _limits(settings: Settings, now: datetime) -> upkeep.Limits:
    months = settings.keep_decisions_months
    return upkeep.Limits(
        now=now,
        keys_before=now - timedelta(days=settings.keep_keys_days) if settings.keep_keys_days else None,
        decisions_before=(now - timedelta(days=31 * months)).date() if months else None,
    )
