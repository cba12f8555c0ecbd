"""Periodic tasks: erasures, and outcomes of appeals that can no longer be undone."""

from __future__ import annotations

from typing import Any

import structlog
from celery import shared_task

from compliance.appeals.settling import settle_outcomes
from compliance.erasure.job import ErasureParts, run_erasures, signing_key
from tasks.maintenance import runtime_of

log = structlog.get_logger(__name__)


@shared_task(name="hushgate.appeals", bind=True)
def appeals(task: Any) -> None:
    """Report the outcomes of appeals that can no longer be undone."""
    runtime = runtime_of(task)
    if settled := runtime.call(settle_outcomes(runtime.parts.pool, runtime.now())):
        log.info("appeals_settled", appeals=settled)


@shared_task(name="hushgate.erasures", bind=True)
def erasures(task: Any) -> None:
    """Count what requested erasures are about, and run the confirmed ones."""
    runtime, settings = runtime_of(task), task.app.hushgate_settings
    parts = ErasureParts(
        pool=runtime.parts.pool, redis=runtime.parts.redis, streams=settings, key=signing_key(settings)
    )
    runtime.call(run_erasures(parts))
