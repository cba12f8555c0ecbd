"""A worker with many events in flight needs more open files than systems usually allow at first."""

from __future__ import annotations

import resource

from sandbox.server import SandboxHandle
from tests.support.running import running

COMMON = 1024


def test_a_worker_may_open_as_many_files_as_the_system_allows(
    database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """The soft limit becomes the hard one."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (COMMON, most))
    try:
        with running(database_url, redis_url, sandbox):
            assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, most)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))
