"""Fixtures of the contract tests: one running sandbox, and clients of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from openai import AsyncOpenAI

from sandbox import server
from tests.contract.sandbox_client import client_of


@pytest.fixture(scope="session")
def sandbox_process() -> Iterator[server.SandboxHandle]:
    """One sandbox for all tests of this folder."""
    with server.start() as handle:
        yield handle


@pytest.fixture
def sandbox(sandbox_process: server.SandboxHandle) -> server.SandboxHandle:
    """The sandbox as if just started: no counts, no rules."""
    sandbox_process.reset()
    return sandbox_process


@pytest.fixture(params=["httpx2", "aiohttp"])
async def client(sandbox: server.SandboxHandle, request: pytest.FixtureRequest) -> AsyncIterator[AsyncOpenAI]:
    """The real openai client on each of its transports."""
    async with client_of(sandbox, request.param) as opened:
        yield opened
