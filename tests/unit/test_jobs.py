"""The table of background jobs."""

from __future__ import annotations

from collections import Counter

import pytest

from features.feature import hook_items
from features.jobs import JOBS, BackgroundJob, Process, beat_schedule
from tasks.wiring import WorkerParts
from worker.settings import Settings
from worker.supervisor import Supervisor

ALL = (*JOBS, *hook_items("jobs"))
ENDLESS = [job for job in ALL if job.process is not Process.TASK]
SERVERS = {
    "DATABASE_URL": "postgresql://h/d",
    "REDIS_URL": "redis://h",
    "OPENAI_API_KEY": "x",
    "OPENROUTER_API_KEY": "x",
}


def test_each_name_stands_for_one_job() -> None:
    """Logs and metrics name jobs."""
    assert [name for name, count in Counter(job.name for job in ALL).items() if count > 1] == []


def test_beat_sends_every_task_and_drops_late_ones() -> None:
    """Each runs at its period; one that no worker took is not made up for."""
    tasks = {job.name: job.every_s for job in ALL if job.process is Process.TASK}

    assert {name: entry["schedule"] for name, entry in beat_schedule().items()} == tasks
    assert all(entry["options"] == {"expires": entry["schedule"]} for entry in beat_schedule().values())
    assert all(entry["task"] == f"hushgate.{name}" for name, entry in beat_schedule().items())


@pytest.mark.parametrize("job", ENDLESS, ids=lambda job: job.name)
async def test_an_endless_job_can_be_started(job: BackgroundJob) -> None:
    """Its function or method exists."""
    settings = Settings.model_validate(SERVERS)
    parts = WorkerParts(settings=settings, worker="w", work=Supervisor())

    assert callable(job.of(parts))
