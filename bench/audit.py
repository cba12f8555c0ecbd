"""The review pages over five million decisions: server time of lists and of a decision, page by page.

``make bench-audit`` starts its own Postgres, fills it (about ten minutes), prints a table and writes
``out/bench-audit.json``. Time is measured around the application, as a server calls it: authentication,
rights, queries, templates and the line of the access log, without the network. The pages are those of the
route table. Every address is requested twice: the first time its rows may come from the disk, the second time
they are in Postgres' memory, which is set to 4 GB, below the quarter of the machine's memory that its manual
suggests.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import orjson
import psycopg
from rich.console import Console
from rich.table import Table

from bench.audit_pages import PARTS, addresses, measured_pages
from bench.audit_people_rows import fill_own_rows, fill_people_rows
from bench.audit_rows import DAYS, NEEDLE, figures_counted, fill
from bench.audit_server import Server, figures, serving
from cli.stack import Stack
from db.audit.cursor import OLDEST, Direction, Position
from db.people.records import EVERY_ACCOUNT, Role
from db.schema import migrate
from db.tables import ai_decisions

OUT: Final = Path("out/bench-audit.json")
SETTINGS: Final = (
    "fsync = off",
    "full_page_writes = off",
    "wal_level = minimal",
    "max_wal_senders = 0",
    "max_wal_size = '1GB'",
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
    "checks of programs": {"since": "all", "source": "check"},
    "called wrong by customers": {"since": "all", "feedback": "wrong"},
    "called right by customers": {"since": "all", "feedback": "right"},
    "without feedback": {"since": "all", "feedback": "no"},
    "answered by people": {"since": "all", "answered": "yes"},
    "not answered": {"since": "all", "answered": "no"},
    "assigned": {"since": "all", "assignee": "bench-reviewer-1"},
}
SOME: Final = "20 accounts, "
SHOWN: Final = ("first_p50_ms", "p50_ms", "p95_ms", "max_ms", "cpu_ms", "postgres_cpu_ms")
VIEWER: Final = (Role.VIEWER,)
ACCOUNTS: Final = tuple(f"account-{number}" for number in range(0, 60, 3))


async def main() -> None:
    """Fill, index, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repeat", type=int, default=40)
    parser.add_argument("--data", type=Path, help="a folder that keeps the filled database for the next run")
    parser.add_argument("--only", choices=("fill", "lists", "pages"), default="")
    options = parser.parse_args()
    with Stack(data=options.data) as servers:
        found = _filled(servers, options.rows)
        started = time.perf_counter()
        await figures_counted(servers.database_url)
        found["figures_s"] = round(time.perf_counter() - started, 1)
        if options.only == "fill":
            return
        found |= await _measured(servers.database_url, servers.redis_url, options.repeat, options.only)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2))
    Console().print(_table(found["pages"]))


def _filled(servers: Stack, rows: int) -> dict[str, Any]:
    """Decide the demo's events for real, then multiply them without indexes, and build these again.

    A database with these rows from an earlier run stays as it is.
    """
    url = servers.database_url
    with psycopg.connect(url, autocommit=True) as connection:
        if connection.execute("SELECT to_regclass('ai_decisions')").fetchone() != (None,):
            return {"rows": rows}
    with psycopg.connect(url, autocommit=True) as connection:
        for setting in SETTINGS:
            connection.execute(f"ALTER SYSTEM SET {setting}".encode())
    servers.kill_postgres()
    servers.start_postgres()
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment |= {"DATABASE_URL": url, "REDIS_URL": servers.redis_url}
    demo = [sys.executable, "-m", "cli", "demo", "--rate", "100"]
    subprocess.run(demo, env=environment, check=True, stdout=subprocess.DEVNULL)
    with migrate.engine(url).begin() as connection:
        for index in ai_decisions.indexes:
            index.drop(connection)
    started = time.perf_counter()
    fill(url, rows)
    filled = time.perf_counter()
    with migrate.engine(url).begin() as connection:
        for index in ai_decisions.indexes:
            index.create(connection)
    built = time.perf_counter()
    with psycopg.connect(url, autocommit=True) as connection:
        fill_people_rows(connection)
    return {
        "rows": rows,
        "fill_s": round(filled - started, 1),
        "indexes_s": round(built - filled, 1),
    }


async def _measured(url: str, redis_url: str, repeat: int, only: str) -> dict[str, Any]:
    pages: dict[str, dict[str, float]] = {}
    if only != "pages":
        pages |= await _lists(url, redis_url, repeat)
    if only != "lists":
        pages |= await _every_page(url, redis_url, repeat)
    return {"load": os.getloadavg(), "pages": pages}


async def _lists(url: str, redis_url: str, repeat: int) -> dict[str, dict[str, float]]:
    pages: dict[str, dict[str, float]] = {}
    async with serving(url, (EVERY_ACCOUNT,), VIEWER, redis_url) as server:
        for name, filters in LISTS.items():
            pages |= await _list(server, name, filters, repeat)
        pages |= await _decisions(server, repeat)
    async with serving(url, ACCOUNTS, VIEWER, redis_url) as server:
        for name in ("the last 24 hours", "all times", "a rare reason", "escalations"):
            pages |= await _list(server, SOME + name, LISTS[name], repeat)
    return pages


async def _every_page(url: str, redis_url: str, repeat: int) -> dict[str, dict[str, float]]:
    """Every page of the route table, by a person with every role on all accounts, and on some.

    Raises:
        RuntimeError: a page has no row to show, so that it would have no figure.
    """
    found = {}
    for who, accounts in (("", (EVERY_ACCOUNT,)), (SOME, ACCOUNTS)):
        async with serving(url, accounts, tuple(Role), redis_url) as server:
            with psycopg.connect(url, autocommit=True) as connection:
                fill_own_rows(connection, server.person_id)
                for page in measured_pages():
                    for name, paths in addresses(connection, page, server.person_id, accounts, repeat):
                        if not paths:
                            raise RuntimeError(f"{who}{name}: no row has a page; see SAMPLES and the rows")
                        if await server.may_open(paths[0]):
                            found[who + name] = await figures(server, paths, part=page.name in PARTS)
    return found


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
        found[f"{name}, {place} page"] = await figures(server, addresses)
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
        found[f"decision page, {place}"] = await figures(server, addresses)
    return found


def _address(filters: Mapping[str, str], number: int, cursor: str) -> str:
    values = {name: value.replace("{n}", str(number)) for name, value in filters.items()}
    return "/decisions?" + urlencode(values | ({"cursor": cursor} if cursor else {}))


def _table(pages: Mapping[str, Mapping[str, float]]) -> Table:
    shown = Table(header_style="bold", show_edge=False)
    shown.add_column("page")
    for name in SHOWN:
        shown.add_column(name.replace("_", " "), justify="right")
    for name, measured in pages.items():
        shown.add_row(name, *(f"{measured[key]:.1f}" for key in SHOWN))
    return shown


if __name__ == "__main__":
    asyncio.run(main())
