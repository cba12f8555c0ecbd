"""One server and one browser for all tests here; a context of one's own for everybody who takes part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from redis import Redis

from cli.stack import Stack
from sandbox.server import SandboxHandle
from tests.conftest import NUMBERS, create_database, database_at
from tests.support.browser.chromium import chromium
from tests.support.browser.desk import Desk
from tests.support.browser.serving import serving
from tests.support.browser.world import World, world
from tests.support.review_world import APPEAL_SECRET


@pytest.fixture(scope="package")
def quiet() -> Iterator[None]:
    """The engine's canonical lines are hundreds here; a failed test shows warnings only."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("warning"))
    yield
    structlog.configure(**before)


@pytest.fixture(scope="package")
def filled(stack: Stack, template: str, sandbox_process: SandboxHandle, quiet: None) -> Iterator[World]:
    """Decisions of every kind, and people of every role."""
    name = f"hushgate_browser_{next(NUMBERS)}"
    create_database(stack.database_url, name, template)
    with Redis.from_url(stack.redis_url) as redis:
        redis.flushall()
    with world(database_at(stack.database_url, name), stack.redis_url, sandbox_process) as seeded:
        yield seeded


@pytest.fixture(scope="package")
def served(
    filled: World, stack: Stack, sandbox_process: SandboxHandle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    """The address of the pages, and the server's log."""
    log = tmp_path_factory.mktemp("review") / "review.log"
    more = {"OPENAI_API_KEY": "sandbox", "OPENAI_BASE_URL": sandbox_process.base_url}
    more["HUSHGATE_APPEAL_SECRET"] = APPEAL_SECRET
    with serving(filled.url, stack.redis_url, log, **more) as url:
        yield url, log


@pytest.fixture(scope="package")
def room(filled: World, served: tuple[str, Path]) -> Iterator[Desk]:
    """The desk that all tests share; the browser comes last, for its event loop is this thread's."""
    origin, log = served
    with chromium() as browser:
        yield Desk(browser=browser, origin=origin, world=filled, log=log)


@pytest.fixture
def desk(room: Desk) -> Iterator[Desk]:
    """The desk, with nobody at it; whatever went wrong on any page fails the test."""
    yield room
    faults = room.faults()
    room.leave()

    assert faults == []
