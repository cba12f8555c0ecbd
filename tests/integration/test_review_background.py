"""Background tasks of the review server after a bug."""

from __future__ import annotations

import asyncio

import pytest

from db.review_store import Store
from review import background, job_runner
from review.http.templating import Templates
from review.http.visit import Site
from tests.support.reviewing import settings_at
from worker import restarting


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarting, "RESTART_S", 0.001)


def site_of(database_url: str, failed: list[str]) -> Site:
    """A site that notes the names of failed tasks."""
    return Site(
        settings=settings_at(database_url),
        store=Store(database_url),
        templates=Templates(),
        job_failed=lambda name, _: failed.append(name),
    )


async def test_a_task_that_a_bug_ends_starts_again(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queues, digests and exports do not stand still until the server restarts."""
    runs, failed = 0, list[str]()
    again = asyncio.Event()

    async def failing(_: Site) -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise KeyError("a bug")
        again.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(background, "TASKS", (failing,))
    site = site_of(database_url, failed)
    async with site.store, background.run_background(site), asyncio.timeout(5):
        await again.wait()

    assert len(failed) == 1
    assert failed[0].endswith("failing")


async def test_a_bug_in_one_job_loop_leaves_no_second_copy_of_the_others(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loops of the job runner end together, so that a restart does not add to those still running."""
    serving = 0

    async def serve(_: Site) -> None:
        nonlocal serving
        serving += 1
        try:
            await asyncio.Event().wait()
        finally:
            serving -= 1

    async def sweep(_: Site) -> None:
        await asyncio.sleep(0)
        raise KeyError("a bug")

    monkeypatch.setattr(job_runner, "_serve", serve)
    monkeypatch.setattr(job_runner, "_sweep", sweep)
    with pytest.raises(KeyError):
        await job_runner.run_jobs(site_of(database_url, []))

    assert serving == 0
