"""Background jobs: a bug is reported and the job starts again."""

from __future__ import annotations

import asyncio

import pytest
import structlog

from worker import supervisor
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
