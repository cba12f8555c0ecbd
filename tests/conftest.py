"""Real servers for tests: one stack a session, a fresh database a module, an empty Redis a test."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Iterator
from itertools import count
from urllib.parse import urlsplit

import psycopg
import pytest
import structlog
from argon2 import PasswordHasher
from hypothesis import HealthCheck, settings
from redis import Redis

from cli.stack import Stack
from db.schema import migrate
from review.auth import passwords
from sandbox.server import SandboxHandle, start

pytest_plugins = ("tests.scheduling",)
TEMPLATE = "hushgate_template"
NUMBERS = count(1)

# A shell starts background jobs with SIGINT ignored, and programs that tests interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The machine may be busy, and the first draw builds tables of Unicode: neither is a defect of ours.
settings.register_profile("hushgate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("hushgate")


@pytest.fixture(scope="session", autouse=True)
def _reported_logs() -> None:
    """Log lines belong to the report of a failed test; without a handler, those between tests are printed.

    No logger keeps the configuration of its first use, as in a server: another test looks at its lines.
    """
    logging.getLogger().addHandler(logging.NullHandler())
    configure = structlog.configure
    structlog.configure = lambda **options: configure(**options | {"cache_logger_on_first_use": False})
    structlog.configure(
        processors=[structlog.processors.add_log_level, structlog.dev.ConsoleRenderer(colors=False)],
        logger_factory=structlog.stdlib.LoggerFactory(),
    )


@pytest.fixture(scope="session", autouse=True)
def deployed_hasher() -> Iterator[PasswordHasher]:
    """The hasher of a deployment; tests hash in a millisecond, as its 0.3 s of CPU a sign-in add up."""
    with pytest.MonkeyPatch.context() as patch:
        deployed = passwords._HASHER
        patch.setattr(passwords, "_HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield deployed


@pytest.fixture
def restored_logging() -> Iterator[None]:
    """Logging after the test as it was before."""
    root, structured = logging.getLogger(), structlog.get_config()
    before = (root.handlers[:], root.level, sys.excepthook, threading.excepthook, logging.raiseExceptions)
    yield
    root.handlers[:], level, sys.excepthook, threading.excepthook, logging.raiseExceptions = before
    root.setLevel(level)
    structlog.configure(**structured)


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """Postgres and Valkey for the whole session."""
    with Stack() as servers:
        stop_waiting_for_disk(servers)
        yield servers


@pytest.fixture(scope="session")
def template(stack: Stack) -> str:
    """Name of a migrated database that others are copied from."""
    create_database(stack.database_url, TEMPLATE)
    migrate.upgrade(database_at(stack.database_url, TEMPLATE))
    return TEMPLATE


@pytest.fixture(scope="module")
def database_url(stack: Stack, template: str) -> str:
    """URL of a migrated, empty database of this module's own."""
    return create_database(stack.database_url, f"hushgate_{next(NUMBERS)}", template)


@pytest.fixture
def redis_url(stack: Stack) -> str:
    """URL of an empty Redis."""
    with Redis.from_url(stack.redis_url) as redis:
        redis.flushall()
    return stack.redis_url


@pytest.fixture(scope="session")
def sandbox_process() -> Iterator[SandboxHandle]:
    """The OpenAI-compatible server for the whole session."""
    with start() as handle:
        yield handle


@pytest.fixture
def sandbox(sandbox_process: SandboxHandle) -> SandboxHandle:
    """The OpenAI-compatible server with no faults, no latency and all counts at nought."""
    sandbox_process.reset()
    return sandbox_process


def stop_waiting_for_disk(servers: Stack) -> None:
    """Commits and writes without fsync: a killed server loses nothing by that, only a machine without power.

    Tests of killed servers start their own, as deployed.
    """
    with psycopg.connect(servers.database_url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("ALTER SYSTEM SET full_page_writes = off")
        connection.execute("ALTER SYSTEM SET file_copy_method = clone")
        connection.execute("SELECT pg_reload_conf()")
    with Redis.from_url(servers.redis_url) as redis:
        redis.config_set("appendfsync", "no")


def create_database(url: str, name: str, template: str = "template1") -> str:
    """Make a database next to the one of ``url``; its URL.

    The kernel copies the files of a template, which takes a quarter of the CPU of a copy through the log.
    """
    strategy = "FILE_COPY" if template == TEMPLATE else "WAL_LOG"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY {strategy}')
    return database_at(url, name)


def database_at(url: str, name: str) -> str:
    """The URL of a database next to the one of ``url``."""
    return urlsplit(url)._replace(path=f"/{name}").geturl()
