"""The endless jobs of beat, supervised, on a thread of their own."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

from features.jobs import Process, jobs_of
from tasks.process import telemetry
from worker.settings import Settings
from worker.supervisor import Supervisor


def start_beat_jobs(settings: Settings) -> None:
    """Run them until beat ends; one that raises is reported and starts again."""
    run = partial(asyncio.run, _supervise(settings))
    threading.Thread(target=run, name="beat-jobs", daemon=True).start()


async def _supervise(settings: Settings) -> None:
    work = Supervisor(lambda _name, error: telemetry.report(error))
    for job in jobs_of(Process.BEAT):
        work.loop(job.name, job.of(settings))
    await asyncio.Event().wait()
