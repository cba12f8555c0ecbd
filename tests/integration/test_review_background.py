"""Background tasks of the review server after a bug."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from db.review_store import Store
from features.jobs import BackgroundJob, Process
from review import background
from review.http.templating import Templates
from review.http.visit import Site
from tests.support.reviewing import settings_at
from worker import supervisor


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "RESTART_S", 0.001)


def site_of(database_url: str, failed: list[str]) -> Site:
    """A site that notes the names of failed tasks."""
    return Site(
        settings=settings_at(database_url),
        store=Store(database_url),
        templates=Templates(),
        job_failed=lambda name, _: failed.append(name),
    )


def named(*functions: Callable[[Site], Awaitable[None]]) -> tuple[BackgroundJob, ...]:
    """Jobs of the review server with the names of these functions."""
    return tuple(
        BackgroundJob(name=each.__name__, process=Process.REVIEW, does="", start=each) for each in functions
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

    monkeypatch.setattr(background, "jobs_of", lambda _: named(failing))
    site = site_of(database_url, failed)
    async with site.store, background.run_background(site), asyncio.timeout(5):
        await again.wait()

    assert failed == ["failing"]


async def test_a_bug_in_one_loop_of_jobs_leaves_the_others_running(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exports go on while the deletion of expired jobs fails and starts again."""
    served, swept = 0, asyncio.Event()

    async def serve(_: Site) -> None:
        nonlocal served
        served += 1
        await asyncio.Event().wait()

    async def sweep(_: Site) -> None:
        if failed:
            swept.set()
            await asyncio.Event().wait()
        raise KeyError("a bug")

    failed = list[str]()
    monkeypatch.setattr(background, "jobs_of", lambda _: named(serve, serve, sweep))
    site = site_of(database_url, failed)
    async with site.store, background.run_background(site), asyncio.timeout(5):
        await swept.wait()

    assert served == 2
    assert len(failed) == 1
