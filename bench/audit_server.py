"""The review pages in this process, and the time of each request."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import psutil
import psycopg
from httpx2 import ASGITransport, AsyncClient
from uuid_utils.compat import uuid7

from cli.demo.sample_reviewers import add_person
from db.people import sessions
from db.people.records import Role
from db.review_store import Store
from review.app import build_app
from review.http.visit import SESSION_COOKIE, new_token
from tasks.process.garbage import spare_the_collector
from worker.settings import ReviewSettings

ADDRESS: Final = "https://127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The application in this process, with a signed-in person.

    Attributes:
        took: milliseconds of each request, newest last.
        postmaster: the process of Postgres, whose children do its work.
    """

    client: AsyncClient
    took: list[float]
    person_id: UUID
    postmaster: psutil.Process

    async def get(self, path: str, *, part: bool = False) -> tuple[str, float]:
        """A page, or with ``part`` a part of one, and how many milliseconds it took."""
        response = await self.client.get(path, headers={"HX-Request": "true"} if part else {})
        leads_on = response.status_code == 303 and "/sign-in" not in response.headers["location"]
        if response.status_code != 200 and not leads_on:
            raise RuntimeError(f"{path}: HTTP {response.status_code}: {response.text[:300]}")
        return response.text, self.took[-1]

    async def may_open(self, path: str) -> bool:
        """Whether the person has the right that a page requires."""
        return (await self.client.get(path)).status_code != 403

    def cpu_ms(self) -> tuple[float, float]:
        """CPU time so far of the application, and of Postgres."""
        ended = self.postmaster.cpu_times()
        postgres = ended.children_user + ended.children_system
        for child in self.postmaster.children():
            with psutil.Process(child.pid).oneshot():
                used = child.cpu_times()
            postgres += used.user + used.system
        return time.process_time() * 1000, postgres * 1000


@asynccontextmanager
async def serving(
    url: str, accounts: Sequence[str], roles: Collection[Role], redis_url: str
) -> AsyncIterator[Server]:
    """The application, and a person with these roles on these accounts who is signed in."""
    environment = {"DATABASE_URL": url, "REDIS_URL": redis_url, "HUSHGATE_REVIEW_URL": ADDRESS}
    app = build_app(ReviewSettings.model_validate(environment))
    took: list[float] = []
    spare_the_collector()  # as the command does

    async def timed(scope: Any, receive: Any, send: Any) -> None:
        started = time.perf_counter()
        await app(scope, receive, send)
        took.append((time.perf_counter() - started) * 1000)

    token, person_id = await _session(url, accounts, roles)
    with psycopg.connect(url) as connection:
        backend = psutil.Process(connection.info.backend_pid)
        postmaster = backend.parent()
    assert postmaster is not None
    async with app.router.lifespan_context(app):
        transport = ASGITransport(timed)
        headers = {"Cookie": f"{SESSION_COOKIE}={token}"}
        async with AsyncClient(transport=transport, base_url=ADDRESS, headers=headers) as client:
            yield Server(client=client, took=took, person_id=person_id, postmaster=postmaster)


async def _session(url: str, accounts: Sequence[str], roles: Collection[Role]) -> tuple[str, UUID]:
    token, login = new_token(), f"bench-{uuid7()}"
    async with Store(url, size=1) as store, store.writing() as connection:
        person_id = await add_person(connection, login, "Bench", roles, accounts)
        now, lasts = datetime.now(UTC), timedelta(hours=5)
        await sessions.start_session(connection, token, person_id, now=now, lasts=lasts, address="bench")
    return token, person_id


async def figures(server: Server, addresses: Sequence[str], *, part: bool = False) -> dict[str, float]:
    """Times of the first and of the second request of each address; CPU is the mean of all requests."""
    first, again = [], []
    before = server.cpu_ms()
    for address in addresses:
        first.append((await server.get(address, part=part))[1])
        again.append((await server.get(address, part=part))[1])
    after, requests = server.cpu_ms(), 2 * len(addresses)
    ordered = sorted(again)
    return {
        "first_p50_ms": round(statistics.median(first), 1),
        "p50_ms": round(statistics.median(ordered), 1),
        "p95_ms": round(ordered[math.ceil(0.95 * len(ordered)) - 1], 1),
        "max_ms": round(ordered[-1], 1),
        "cpu_ms": round((after[0] - before[0]) / requests, 1),
        "postgres_cpu_ms": round((after[1] - before[1]) / requests, 1),
    }
