"""Runs shadows inside beat, on a thread of its own, while beat runs."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from db.candidates.shadows import may_run_shadows
from db.pool import create_pool
from tasks.process import telemetry
from tasks.replays.shadow_load import is_loaded
from tasks.replays.shadow_process import ChildNotStarted, ShadowProcess
from tasks.replays.shadow_run import ShadowLimits, ShadowRunner
from tasks.shards.clients import connect
from worker.errors import StorageUnavailable
from worker.settings import Settings

log = structlog.get_logger(__name__)

EVERY_S: Final = 2.0
"""Between two looks for decisions, in seconds."""
LATE: Final = timedelta(minutes=5)
"""Age from which shadows leave decisions out, so that a backlog does not delay the newest ones."""
DECISIONS_A_DAY: Final = 50_000
"""Decisions that all shadows of an account make again in a day (UTC)."""
RETRY_S: Final = 30.0
IDLE_ROUNDS: Final = 60
"""Rounds without a decision after which the child is ended."""


def shadow_limits(settings: Settings) -> ShadowLimits:
    """The bounds of this deployment."""
    return ShadowLimits(
        late=LATE,
        decisions_a_day=DECISIONS_A_DAY,
        usd_a_day=settings.shadow_usd_a_day,
    )


class ShadowWatch:
    """Looks for decisions again and again."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="shadows", daemon=True)

    def start(self) -> None:
        """Run on a thread, until ``stop``."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and the child."""
        self._ended.set()
        self._thread.join(timeout=RETRY_S)

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                asyncio.run(self._watch())
            except (StorageUnavailable, ChildNotStarted) as error:
                kind = error.kind if isinstance(error, StorageUnavailable) else type(error).__name__
                log.warning("shadows_postponed", kind=kind)
            except Exception as error:  # a bug here must not end beat
                log.exception("shadows_failed", exc_info=error)
                telemetry.report(error)
            self._ended.wait(RETRY_S)

    async def _watch(self) -> None:
        settings, child = self._settings, ShadowProcess()
        url = settings.database_url.get_secret_value()
        async with (
            create_pool(url, size=1, application="hushgate-shadow", role=None) as source,
            connect(settings.redis_url.get_secret_value()) as redis,
        ):
            if not await may_run_shadows(source):
                log.warning("shadows_not_run", reason="the login may not read recordings")
                self._ended.set()
                return
            runner = ShadowRunner(
                source=source,
                url=url,
                role=None,
                now=lambda: datetime.now(UTC),
                child=child,
                limits=shadow_limits(settings),
                settings=settings,
                loaded=lambda: is_loaded(redis, settings.stream),
            )
            try:
                await self._rounds(runner, child)
            finally:
                child.close()

    async def _rounds(self, runner: ShadowRunner, child: ShadowProcess) -> None:
        idle = 0
        while not self._ended.is_set():
            idle = 0 if await runner.round() else idle + 1
            if idle == IDLE_ROUNDS:
                child.close()
            if idle:
                await asyncio.to_thread(self._ended.wait, EVERY_S)
