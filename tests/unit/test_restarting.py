"""Background jobs: a bug is reported and the job starts again."""

from __future__ import annotations

import asyncio

import pytest
import structlog

from worker import restarting
from worker.cancellation import cancel_all
from worker.restarting import repeated, restarted


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarting, "RESTART_S", 0.001)


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
        running = asyncio.create_task(restarted("sweep", job.run, job.note))
        async with asyncio.timeout(5):
            await job.lasting.wait()
        await cancel_all((running,))

    assert [line["event"] for line in lines] == ["job_failed", "job_ended_early", "job_failed"]
    assert {line["job"] for line in lines} == {"sweep"}
    assert job.failed == [("sweep", bug), ("sweep", bug)]


async def test_a_job_that_ends_is_run_until_it_succeeds() -> None:
    """A check at the start is repeated after a bug, and once it has ended it does not run again."""
    job = Job(ValueError("bug"), None)
    await repeated("check", job.run, job.note)

    assert not job.runs
    assert len(job.failed) == 1
