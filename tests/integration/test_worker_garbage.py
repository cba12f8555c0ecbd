"""Garbage in cycles leaves a worker within its interval, however old it is."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from features import jobs
from sandbox.server import SandboxHandle
from tests.support.garbage import old_garbage
from tests.support.running import running


def test_a_worker_collects_what_has_grown_old(
    monkeypatch: pytest.MonkeyPatch, database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """Errors leave cycles with their tracebacks; the collector's own runs come too seldom."""
    often = (replace(job, every_s=0.05) if job.name == "garbage" else job for job in jobs.JOBS)
    monkeypatch.setattr(jobs, "JOBS", tuple(often))
    with running(database_url, redis_url, sandbox):
        found = old_garbage()
        deadline = time.monotonic() + 10
        while found() is not None and time.monotonic() < deadline:
            time.sleep(0.01)

    assert found() is None
