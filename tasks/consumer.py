"""The Celery bootstep that starts and drains the engine."""

from __future__ import annotations

from typing import Any

import structlog
from celery import bootsteps
from celery.worker import state

from tasks.process import telemetry
from tasks.runtime import Runtime

log = structlog.get_logger(__name__)


class EngineStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types
    """Starts the engine with the worker; a warm shutdown drains it, a cold one leaves it to the reaper."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        worker.hushgate = None

    def start(self, worker: Any) -> None:
        """Start the loop thread; while the database is down, nothing is admitted."""
        worker.hushgate = Runtime(worker.app.hushgate_settings, crashed=_end_process)
        worker.app.hushgate_runtime = worker.hushgate
        worker.hushgate.start()

    def stop(self, worker: Any) -> None:
        """Drain, and send the last error reports."""
        if worker.hushgate is not None:
            worker.hushgate.stop()
            worker.hushgate = None
        telemetry.flush()

    def terminate(self, worker: Any) -> None:
        """Do nothing: other workers take the lanes over when the heartbeat expires."""


def _end_process() -> None:
    """Ask Celery for a warm shutdown with exit code 1: a restart is better than an idle process."""
    state.should_stop = 1
