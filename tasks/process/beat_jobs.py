"""Endless jobs of features that run inside beat, supervised, on a thread of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from tasks.process import telemetry
from worker.settings import Settings
from worker.supervisor import Supervisor, name_of

BeatJob = Callable[[Settings], Awaitable[None]]


def start_beat_jobs(jobs: Sequence[BeatJob], settings: Settings) -> None:
    """Run these jobs until beat ends; one that raises is reported and starts again."""
    if jobs:
        run = partial(asyncio.run, _supervise(jobs, settings))
        threading.Thread(target=run, name="beat-jobs", daemon=True).start()


async def _supervise(jobs: Sequence[BeatJob], settings: Settings) -> None:
    work = Supervisor(lambda _name, error: telemetry.report(error))
    for job in jobs:
        work.loop(name_of(job), partial(job, settings))
    await asyncio.Event().wait()
