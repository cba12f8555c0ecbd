"""Celery's side of the engine: a step of the worker that starts and drains it."""

from __future__ import annotations

from typing import Any

import structlog
from celery import bootsteps
from celery.worker import state

from tasks import telemetry
from tasks.wiring import Runtime

log = structlog.get_logger(__name__)


class EngineStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types
    """Starts the engine with the worker; a warm shutdown drains it, a cold one leaves it to the reaper."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: Any, **options: Any) -> None:  # noqa: ANN401  # Celery's own loose types
        super().__init__(worker, **options)
        worker.hushgate = None

    def start(self, worker: Any) -> None:  # noqa: ANN401
        """Start the loop thread; a database that is away is waited for, nothing is admitted meanwhile."""
        worker.hushgate = Runtime(worker.app.hushgate_settings, crashed=_end_process)
        worker.app.hushgate_runtime = worker.hushgate
        worker.hushgate.start()

    def stop(self, worker: Any) -> None:  # noqa: ANN401
        """Drain, and let the last error reports leave."""
        if worker.hushgate is not None:
            worker.hushgate.stop()
            worker.hushgate = None
        telemetry.flush()

    def terminate(self, worker: Any) -> None:  # noqa: ANN401
        """Do nothing: what runs is taken over by others when the heartbeat is gone."""


def _end_process() -> None:
    """Ask Celery for a warm shutdown with exit code 1: better restarted than alive and idle."""
    state.should_stop = 1
