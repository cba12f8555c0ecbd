"""Fixtures that many integration tests share: a worker, visitors of the pages, connections and a shell."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row
from redis import Redis as SyncRedis
from redis.asyncio import Redis

from cli.stack import Stack
from db.pool import WORKER_ROLE, Pool, create_pool
from sandbox.server import SandboxHandle
from tasks.shards.clients import connect
from tests.conftest import create_database
from tests.support.fake_channel import FakeChannel, fake_channel
from tests.support.reviewing import Visitors, site
from tests.support.running import Running, running
from tests.support.terminal import Shell, shell_at


@pytest.fixture
def url(stack: Stack, template: str, tmp_path: Path) -> str:
    """URL of a migrated, empty database of one test's own."""
    return create_database(stack.database_url, f"hushgate_{tmp_path.name}", template)


@pytest.fixture
def owner(database_url: str) -> Iterator[psycopg.Connection[DictRow]]:
    """A connection with every right."""
    with psycopg.connect(database_url, autocommit=True, row_factory=dict_row) as connection:
        yield connection


@pytest.fixture
async def source(database_url: str) -> AsyncIterator[Pool]:
    """Connections with a worker's rights."""
    async with create_pool(database_url, size=8, application="test", role=WORKER_ROLE) as opened:
        yield opened


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    """A client of the empty Redis."""
    async with connect(redis_url) as client:
        yield client


@pytest.fixture
def valkey(redis_url: str) -> Iterator[SyncRedis]:
    """A client of the empty Redis that needs no event loop."""
    with SyncRedis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def engine(database_url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Running]:
    """A new worker with the default settings."""
    with running(database_url, redis_url, sandbox) as each:
        yield each


@pytest.fixture(scope="module")
def visitors(database_url: str) -> Iterator[Visitors]:
    """The review pages on this module's database; call it for one more visitor."""
    with site(database_url) as running_site:
        yield running_site


@pytest.fixture
def channel() -> Iterator[FakeChannel]:
    """A small Slack."""
    with fake_channel() as server:
        yield server


@pytest.fixture
def shell(database_url: str, redis_url: str, sandbox: SandboxHandle, tmp_path: Path) -> Shell:
    """A shell whose servers run, without workers."""
    return shell_at(
        tmp_path,
        DATABASE_URL=database_url,
        REDIS_URL=redis_url,
        OPENAI_API_KEY="sandbox",
        OPENROUTER_API_KEY="sandbox",
        OPENAI_BASE_URL=sandbox.base_url,
        OPENROUTER_BASE_URL=sandbox.base_url,
    )
