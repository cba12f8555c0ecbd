"""A worker's event loop on a thread, with the engine and its background jobs."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import structlog
import uvloop

from db.schema.rights import warn_of_excess
from features.jobs import Process, jobs_of
from tasks.metrics import names
from tasks.process import telemetry
from tasks.process.garbage import spare_the_collector
from tasks.process.open_files import allow_many_connections
from tasks.shards.clients import close
from tasks.tracing.start import start_traces
from tasks.wiring import WorkerParts, build_worker, worker_id
from worker.cancellation import cancel_all
from worker.settings import Settings
from worker.supervisor import Supervisor

if TYPE_CHECKING:  # a worker without metrics does without their library
    from tasks.metrics.endpoint import MetricsEndpoint
    from tasks.metrics.process import WorkerMetrics

log = structlog.get_logger(__name__)

Value = TypeVar("Value")
LAST_REPLIES_S: Final = 5.0


class Runtime:
    """A worker's event loop on a thread of its own, so that Celery's threads can hand it coroutines.

    Args:
        crashed: called from the loop when a bug ended the engine, so that the process can restart.
    """

    def __init__(self, settings: Settings, crashed: Callable[[], None] = lambda: None) -> None:
        self._settings = settings
        self._crashed = crashed
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hushgate", daemon=True)
        self._parts: WorkerParts | None = None
        self._jobs = Supervisor(self._job_failed)
        self._calls: set[asyncio.Task[Any]] = set()
        self._engine_run: asyncio.Task[None] | None = None
        self._metrics: WorkerMetrics | None = None
        self._endpoint: MetricsEndpoint | None = None
        self._traces = start_traces(settings)
        if settings.metrics_port is not None:
            from tasks.metrics.process import ProcessMetrics, WorkerMetrics  # noqa: PLC0415

            self._metrics = WorkerMetrics(ProcessMetrics("worker"), accounts=settings.metrics_accounts)

    def start(self) -> None:
        """Start the loop and connect; with the engine when the settings say so."""
        allow_many_connections()
        self._thread.start()
        self.call(self._start())

    def call(self, work: Coroutine[Any, Any, Value]) -> Value:
        """The value of a coroutine, run on the worker's loop; called from any other thread.

        Raises:
            concurrent.futures.CancelledError: the worker stopped meanwhile.
        """
        return asyncio.run_coroutine_threadsafe(self._tracked(work), self._loop).result()

    async def _tracked(self, work: Coroutine[Any, Any, Value]) -> Value:
        task = asyncio.current_task()
        assert task is not None  # we are inside one
        self._calls.add(task)
        try:
            return await work
        finally:
            self._calls.discard(task)

    def now(self) -> datetime:
        """The time of Postgres, by which periodic tasks act; raises ``StorageUnavailable``."""

        async def read() -> datetime:
            await self.parts.fleet_clock.refresh()
            return self.parts.fleet_clock.now()

        return self.call(read())

    def nudge(self) -> None:
        """Wake the relay; callable from any thread."""
        self._loop.call_soon_threadsafe(self.parts.relay.nudge)

    @property
    def parts(self) -> WorkerParts:
        """The parts inside the loop."""
        if self._parts is None:
            raise RuntimeError("the runtime is not started")
        return self._parts

    def stop(self) -> None:
        """Drain the engine, deliver waiting replies, close connections, end the thread."""
        self.call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)
        if not self._thread.is_alive():
            self._loop.close()
        if self._endpoint is not None:
            self._endpoint.close()
        if self._traces is not None:
            self._traces.close()

    @property
    def metrics_port(self) -> int | None:
        """The port of the metrics; None where no metrics are served."""
        return None if self._endpoint is None else self._endpoint.port

    async def _start(self) -> None:
        name = worker_id()
        self._parts = await build_worker(self._settings, name, self._jobs, self._metrics, self._traces)
        if self._metrics is not None:
            from tasks.metrics.endpoint import serve_metrics  # noqa: PLC0415

            self._endpoint = serve_metrics(self._metrics.registry, self._settings)
        for job in jobs_of(Process.WORKER):
            self._jobs.loop(job.name, job.of(self._parts))
        self._jobs.once("warn_of_excess", partial(warn_of_excess, self._parts.pool))
        self._parts.relay.nudge()
        if self._settings.engine_enabled:
            self._engine_run = asyncio.create_task(self._parts.engine.run())
            self._engine_run.add_done_callback(self._engine_ended)
            log.info("engine_started", worker=name, stream=self._settings.stream)
        spare_the_collector()

    def retention_deleted(self, table: str, rows: int) -> None:
        """Count rows that retention deleted."""
        if self._metrics is not None:
            self._metrics.count(names.RETENTION_DELETED, table, by=rows)

    def _job_failed(self, job: str, error: Exception) -> None:
        telemetry.report(error)
        if self._metrics is not None:
            self._metrics.count(names.JOB_FAILURES, job)

    def _engine_ended(self, run: asyncio.Task[None]) -> None:
        if not run.cancelled() and (error := run.exception()) is not None:
            log.critical("engine_crashed", exc_info=error)
            telemetry.report(error)
            self._crashed()

    async def _stop(self) -> None:
        if self._engine_run is not None:
            self.parts.engine.drain()
            self.parts.clock.interrupt()
            await asyncio.gather(self._engine_run, return_exceptions=True)
            log.info("engine_stopped")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_REPLIES_S):
                await self.parts.relay.send_all()
                await self.parts.escalation_relay.send_all()
        await self._jobs.close()
        await cancel_all(self._calls - {asyncio.current_task()})
        await self.parts.pool.close(timeout=5)
        await close(self.parts.redis)
        await self.parts.models.close()
