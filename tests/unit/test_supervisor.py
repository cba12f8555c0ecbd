"""Background jobs: their table, a bug is reported and the job starts again, and what a probe sees."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
import structlog
from structlog.testing import capture_logs

from features.feature import hook_items
from features.jobs import JOBS, BackgroundJob, Process, beat_schedule
from tasks.process.heartbeat_file import keep_files
from tasks.wiring import WorkerParts
from worker import supervisor
from worker.errors import StorageUnavailable
from worker.settings import Settings
from worker.supervisor import Supervisor


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "RESTART_S", 0.001)


class Job:
    """A job whose first runs fail or end."""

    def __init__(self, *runs: Exception | None) -> None:
        self.runs = list(runs)
        self.lasting = asyncio.Event()
        self.failed: list[tuple[str, Exception]] = []

    async def run(self) -> None:
        """Fail or end as planned, then run until cancelled."""
        if not self.runs:
            self.lasting.set()
            await asyncio.Event().wait()
        if (problem := self.runs.pop(0)) is not None:
            raise problem

    def note(self, name: str, error: Exception) -> None:
        """Note a reported bug."""
        self.failed.append((name, error))


async def test_an_endless_job_starts_again_after_a_bug_and_after_its_end() -> None:
    """Each bug is logged and reported with the name of the job; an early end is logged."""
    bug = ValueError("bug")
    job = Job(bug, None, bug)
    with structlog.testing.capture_logs() as lines:
        work = Supervisor(job.note)
        work.loop("sweep", job.run)
        async with asyncio.timeout(5):
            await job.lasting.wait()
        await work.close()

    assert [line["event"] for line in lines] == ["job_failed", "job_ended_early", "job_failed"]
    assert {line["job"] for line in lines} == {"sweep"}
    assert job.failed == [("sweep", bug), ("sweep", bug)]


async def test_a_repeated_job_waits_for_its_next_run_when_postgres_is_away() -> None:
    """An outage is no bug: nothing is reported, and the next run comes at its time."""
    job = Job(StorageUnavailable("away", kind="OperationalError"), None)
    repeated = BackgroundJob(name="sweep", process=Process.REVIEW, every_s=0.001, start=lambda _: job.run())
    with structlog.testing.capture_logs() as lines:
        work = Supervisor(job.note)
        work.loop("sweep", repeated.of(None))
        async with asyncio.timeout(5):
            await job.lasting.wait()
        await work.close()

    assert [(line["event"], line["job"], line["kind"]) for line in lines] == [
        ("job_postponed", "sweep", "OperationalError")
    ]
    assert job.failed == []


async def test_a_job_that_ends_is_run_until_it_succeeds() -> None:
    """A check at the start is repeated after a bug, and once it has ended it does not run again."""
    job = Job(ValueError("bug"), None)
    work = Supervisor(job.note)
    work.once("check", job.run)
    await asyncio.wait(work.running)

    assert not job.runs
    assert len(job.failed) == 1


async def test_a_piece_of_work_that_fails_is_reported_and_not_repeated() -> None:
    """Its ids are in the log line; the other work goes on."""
    bug = ValueError("bug")
    job, other = Job(bug), Job()
    work = Supervisor(job.note)
    with structlog.testing.capture_logs() as lines:
        work.loop("other", other.run)
        work.start("takeover", job.run, entry_id="1-0")
        await asyncio.wait(work.running, timeout=0.05)

    assert [(line["event"], line["job"], line["entry_id"]) for line in lines] == [
        ("job_failed", "takeover", "1-0")
    ]
    assert job.failed == [("takeover", bug)]
    assert len(work.running) == 1

    await work.close()

    assert not work.running


async def test_work_that_is_ended_before_it_began_leaves_nothing() -> None:
    """No coroutine is made for it, which Python would warn of."""
    job = Job(None)
    work = Supervisor(job.note)
    work.start("takeover", job.run)
    await work.close()

    assert job.runs == [None]


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


async def kept(file: Path, answers: list[bool | Exception], looks: int) -> set[str]:
    """The files that are there after some looks, and whether they are removed at the end."""
    done, remaining = asyncio.Event(), looks

    async def ready() -> bool:
        nonlocal remaining
        remaining -= 1
        if remaining < 0:
            done.set()
            await asyncio.Event().wait()
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    task = asyncio.create_task(keep_files(file, ready, period_s=0))
    await done.wait()
    there = {each.name for each in file.parent.iterdir()}
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert list(file.parent.iterdir()) == []
    return there


async def test_a_worker_whose_servers_are_away_is_alive_and_not_ready(tmp_path: Path) -> None:
    """A restart would help nothing."""
    assert await kept(tmp_path / "worker", [False, OSError(), ValueError()], 3) == {"worker"}


async def test_a_worker_that_can_work_is_ready(tmp_path: Path) -> None:
    """Also after an outage."""
    assert await kept(tmp_path / "worker", [False, True], 2) == {"worker", "worker.ready"}


async def test_a_folder_that_is_not_there_is_one_error_and_no_end(tmp_path: Path) -> None:
    """Probes fail then; moderation goes on."""
    with capture_logs() as logged:
        task = asyncio.create_task(keep_files(tmp_path / "no" / "worker", asyncio.Event().wait, period_s=0))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not task.done()
        task.cancel()
        await asyncio.wait([task])

    assert [each["event"] for each in logged] == ["heartbeat_file_failed"]


BEAT: Final = """
import time
from dataclasses import replace
from celery.signals import beat_init
from features import jobs
from tasks import app
from tests.support.garbage import old_garbage

jobs.JOBS = tuple(replace(job, every_s=0.05) for job in jobs.JOBS if job.name == "beat_garbage")
app.sign_beat = lambda *_: None
beat_init.send(None)
found = old_garbage()
deadline = time.monotonic() + 20
while found() is not None and time.monotonic() < deadline:
    time.sleep(0.01)
raise SystemExit(found() is not None)
"""
SETTINGS: Final = {
    "DATABASE_URL": "postgresql://127.0.0.1:1/none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "OPENAI_API_KEY": "none",
    "OPENROUTER_API_KEY": "none",
    "HUSHGATE_ALERTS_EVERY_S": "0",
    "HUSHGATE_FEATURES": "none",
}


@pytest.mark.slow
def test_beat_collects_what_its_threads_leave() -> None:
    """A check that failed leaves its error and its loop in cycles, also without alerts and shadows."""
    ended = subprocess.run(
        [sys.executable, "-c", BEAT], env=os.environ | SETTINGS, capture_output=True, timeout=60, check=False
    )

    assert ended.returncode == 0, ended.stderr.decode()[-2000:]
