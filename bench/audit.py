"""The review pages over five million decisions: server time of lists and of a decision, page by page.

``make bench-audit`` starts its own Postgres, fills it (about a quarter of an hour), prints a table and writes
``out/bench-audit.json``. Time is measured around the application, as a server calls it: authentication,
rights, queries, templates and the line of the access log, without the network. Every address is requested
twice: the first time its rows may come from the disk, the second time they are in Postgres' memory, which is
set to 4 GB, below the quarter of the machine's memory that its manual suggests.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import orjson
import psycopg
from alembic import command
from httpx2 import ASGITransport, AsyncClient
from rich.console import Console
from rich.table import Table
from uuid_utils.compat import uuid7

from bench.audit_rows import DAYS, NEEDLE, fill
from cli.stack import Stack
from db import migrate
from db.audit.cursor import OLDEST, Direction, Position
from db.figures import hourly
from db.people import records, sessions
from db.people.records import EVERY_ACCOUNT, Role, RoleGrant
from db.review_store import Store
from review.app import build_app
from review.http.visit import SESSION_COOKIE, new_token
from worker.settings import ReviewSettings

OUT: Final = Path("out/bench-audit.json")
ADDRESS: Final = "https://127.0.0.1"
BEFORE: Final = "0004"
"""The migration before the indexes: filling is faster without them, and the migration is timed."""
SETTINGS: Final = (
    "fsync = off",
    "max_wal_size = '16GB'",
    "maintenance_work_mem = '512MB'",
    "shared_buffers = '4GB'",
)
LISTS: Final[Mapping[str, Mapping[str, str]]] = {
    "the last 24 hours": {},
    "all times": {"since": "all"},
    "an account": {"since": "all", "account": "account-{n}"},
    "a common reason": {"since": "all", "reason": "REPLIED"},
    "a rare reason": {"since": "all", "reason": "TOOL_LOOP"},
    "silent failures": {"since": "all", "reason": "failed"},
    "retried": {"since": "all", "ran": "retried"},
    "a reason of an account": {"since": "all", "reason": "LLM_ERROR", "account": "account-{n}"},
    "a rule": {"since": "all", "rule": "flagged_keyword:w{n}"},
    "rules by prefix": {"since": "all", "rule": "flagged_keyword:*"},
    "a rare text": {"since": "all", "text": NEEDLE},
    "a common text": {"since": "all", "text": "a"},
    "a text without a match": {"since": "all", "text": "zzzqqq{n}"},
    "an author": {"since": "all", "author": "author-{n}"},
    "a conversation": {"since": "all", "account": "account-{n}", "conversation": "c{n}"},
    "escalations": {"since": "all", "decision": "escalate"},
    "degraded": {"since": "all", "degraded": "yes"},
    "a stage that failed": {"since": "all", "stage": "generation:failed"},
    "a draft that moderation flagged": {"since": "all", "stage": "moderation_reply:flagged"},
    "low tier": {"since": "all", "tier": "low"},
    "a version of the settings": {"since": "all", "account": "account-{n}", "version": "3"},
    "not reviewed": {"since": "all", "review": "open"},
    "overturned": {"since": "all", "review": "overturn"},
}
OTHERS: Final[Mapping[str, str]] = {
    "start page": "/",
    "dashboard, a day": "/dashboard",
    "dashboard, 30 days": "/dashboard?range=30d",
}
SOME: Final = "20 accounts, "
ACCOUNTS: Final = tuple(f"account-{number}" for number in range(0, 60, 3))


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The application in this process, with a signed-in person.

    Attributes:
        took: milliseconds of each request, newest last.
    """

    client: AsyncClient
    took: list[float]

    async def get(self, path: str) -> tuple[str, float]:
        """A page and how many milliseconds it took."""
        response = await self.client.get(path)
        if response.status_code != 200:
            raise RuntimeError(f"{path}: HTTP {response.status_code}: {response.text[:300]}")
        return response.text, self.took[-1]


async def main() -> None:
    """Fill, index, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repeat", type=int, default=40)
    parser.add_argument("--url", default="", help="a database that an earlier run filled")
    options = parser.parse_args()
    if options.url:
        found = await _measured(options.url, options.repeat)
    else:
        with Stack() as servers:
            filled = _filled(servers, options.rows)
            found = filled | await _measured(servers.database_url, options.repeat)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2))
    Console().print(_table(found["pages"]))


def _filled(servers: Stack, rows: int) -> dict[str, Any]:
    """Decide the demo's events for real, multiply them, then migrate as a deployment would."""
    url = servers.database_url
    with psycopg.connect(url, autocommit=True) as connection:
        for setting in SETTINGS:
            connection.execute(f"ALTER SYSTEM SET {setting}".encode())
    servers.kill_postgres()
    servers.start_postgres()
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment |= {"DATABASE_URL": url, "REDIS_URL": servers.redis_url}
    demo = [sys.executable, "-m", "cli", "demo", "--rate", "100"]
    subprocess.run(demo, env=environment, check=True, stdout=subprocess.DEVNULL)
    with migrate.engine(url).connect() as connection:
        command.downgrade(migrate._config(connection), BEFORE)  # noqa: SLF001
        connection.commit()
    started = time.perf_counter()
    fill(url, rows)
    indexed = time.perf_counter()
    migrate.upgrade(url)
    return {
        "rows": rows,
        "fill_s": round(indexed - started, 1),
        "migrate_s": round(time.perf_counter() - indexed, 1),
    }


async def _figures_counted(url: str) -> None:
    """Count every hour, as a running server would have, so that counting does not compete with the pages."""
    async with Store(url, size=1) as store:
        while True:
            async with store.writing() as connection:
                if await hourly.fill_next(connection, now=datetime.now(UTC)) is None:
                    return


async def _measured(url: str, repeat: int) -> dict[str, Any]:
    pages: dict[str, dict[str, float]] = {}
    started = time.perf_counter()
    await _figures_counted(url)
    counted = time.perf_counter()
    async with _server(url, (EVERY_ACCOUNT,)) as server:
        for name, filters in LISTS.items():
            pages |= await _list(server, name, filters, repeat)
        pages |= await _decisions(server, repeat)
        for name, path in OTHERS.items():
            pages[name] = await _figures(server, [path] * repeat)
    async with _server(url, ACCOUNTS) as server:
        for name in ("the last 24 hours", "all times", "a rare reason", "escalations"):
            pages |= await _list(server, SOME + name, LISTS[name], repeat)
    return {"figures_s": round(counted - started, 1), "pages": pages}


async def _list(
    server: Server, name: str, filters: Mapping[str, str], repeat: int
) -> dict[str, dict[str, float]]:
    """The first page, the tenth, one in the middle of the period, and the last."""
    middle = datetime.now(UTC) - timedelta(days=DAYS / 2 if "since" in filters else 0.5)
    cursors: dict[str, str] = {
        "first": "",
        "tenth": await _tenth(server, filters),
        "middle": str(Position(direction=Direction.OLDER, at=middle)),
        "last": OLDEST,
    }
    found = {}
    for place, cursor in cursors.items():
        addresses = [_address(filters, number, cursor) for number in range(repeat)]
        found[f"{name}, {place} page"] = await _figures(server, addresses)
    return found


async def _tenth(server: Server, filters: Mapping[str, str]) -> str:
    cursor = ""
    for _ in range(9):
        text, _took = await server.get(_address(filters, 0, cursor))
        if 'rel="next"' not in text:
            break
        cursor = text.split('rel="next"')[0].rsplit("cursor=", 1)[1].partition('"')[0]
    return cursor


async def _decisions(server: Server, repeat: int) -> dict[str, dict[str, float]]:
    found = {}
    for place, cursor in (("newest", ""), ("oldest", OLDEST)):
        text, _ = await server.get(_address({"since": "all"}, 0, cursor))
        links = [part.partition('"')[0] for part in text.split('data-open id="')[1:]]
        addresses = [f"/decisions/{each.removeprefix('o')}" for each in links[:repeat]]
        found[f"decision page, {place}"] = await _figures(server, addresses)
    return found


def _address(filters: Mapping[str, str], number: int, cursor: str) -> str:
    values = {name: value.replace("{n}", str(number)) for name, value in filters.items()}
    return "/decisions?" + urlencode(values | ({"cursor": cursor} if cursor else {}))


@asynccontextmanager
async def _server(url: str, accounts: Sequence[str]) -> AsyncIterator[Server]:
    """The application, and a viewer of these accounts with a session."""
    environment = {"DATABASE_URL": url, "REDIS_URL": "redis://127.0.0.1:1/0", "HUSHGATE_REVIEW_URL": ADDRESS}
    app = build_app(ReviewSettings.model_validate(environment))
    took: list[float] = []

    async def timed(scope: Any, receive: Any, send: Any) -> None:
        started = time.perf_counter()
        await app(scope, receive, send)
        took.append((time.perf_counter() - started) * 1000)

    token = await _session(url, accounts)
    async with app.router.lifespan_context(app):
        transport = ASGITransport(timed)
        headers = {"Cookie": f"{SESSION_COOKIE}={token}"}
        async with AsyncClient(transport=transport, base_url=ADDRESS, headers=headers) as client:
            yield Server(client=client, took=took)


async def _session(url: str, accounts: Sequence[str]) -> str:
    token, person_id = new_token(), uuid7()
    async with Store(url, size=1) as store, store.writing() as connection:
        await records.add_person(
            connection,
            person_id,
            login=f"bench-{person_id}",
            name="Bench",
            password_hash=None,
            must_change_password=False,
            created_by="bench",
        )
        for account in accounts:
            grant = RoleGrant(user_id=account, role=Role.VIEWER)
            await records.grant_role(connection, person_id, grant, granted_by="bench")
        now, lasts = datetime.now(UTC), timedelta(hours=5)
        await sessions.start_session(connection, token, person_id, now=now, lasts=lasts, address="bench")
    return token


async def _figures(server: Server, addresses: Sequence[str]) -> dict[str, float]:
    first, again = [], []
    for address in addresses:
        first.append((await server.get(address))[1])
        again.append((await server.get(address))[1])
    ordered = sorted(again)
    return {
        "first_p50_ms": round(statistics.median(first), 1),
        "p50_ms": round(statistics.median(ordered), 1),
        "p95_ms": round(ordered[math.ceil(0.95 * len(ordered)) - 1], 1),
        "max_ms": round(ordered[-1], 1),
    }


def _table(pages: Mapping[str, Mapping[str, float]]) -> Table:
    shown = Table(header_style="bold", show_edge=False)
    shown.add_column("page")
    for name in ("first p50 ms", "p50 ms", "p95 ms", "max ms"):
        shown.add_column(name, justify="right")
    for name, figures in pages.items():
        shown.add_row(
            name, *(f"{figures[key]:.1f}" for key in ("first_p50_ms", "p50_ms", "p95_ms", "max_ms"))
        )
    return shown


if __name__ == "__main__":
    asyncio.run(main())
