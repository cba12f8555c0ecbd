"""The files by whose age a probe knows a worker."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from structlog.testing import capture_logs

from tasks.process.heartbeat_file import keep_files


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
