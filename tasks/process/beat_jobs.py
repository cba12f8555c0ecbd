"""Endless jobs that run inside beat, supervised, on a thread of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from tasks.process import telemetry
from worker.restarting import restarted
from worker.settings import Settings

BeatJob = Callable[[Settings], Awaitable[None]]


def start_beat_jobs(jobs: Sequence[BeatJob], settings: Settings) -> None:
    """Run these jobs until beat ends; one that raises is reported and starts again."""
    if jobs:
        threading.Thread(
            target=lambda: asyncio.run(_run(jobs, settings)), name="beat-jobs", daemon=True
        ).start()


async def _run(jobs: Sequence[BeatJob], settings: Settings) -> None:
    await asyncio.gather(*(restarted(job.__qualname__, partial(job, settings), _report) for job in jobs))


def _report(_name: str, error: Exception) -> None:
    telemetry.report(error)
