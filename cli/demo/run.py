"""``hushgate demo`` and ``hushgate up``: the whole product on this machine."""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
import signal
import threading
import time
from dataclasses import dataclass
from typing import Annotated, Final

import typer
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text
from sqlalchemy.ext.asyncio import AsyncConnection

from cli.decision_view import described
from cli.demo import events, pages, seed, ways_in
from cli.demo.fleet import Fleet, fleet
from cli.demo.report import Report, report
from cli.output import emit_json, errors, for_eyes, screen, table
from db import audit, run_figures
from tasks.publish import publish_many
from tasks.stream import backlog, connect
from worker.errors import ConfigurationError

WORKERS: Final = 2
PATIENCE_S: Final = 120.0
EVENTS: Final = os.environ.get("HUSHGATE_STREAM", "hushgate:events")
REPLIES: Final = os.environ.get("HUSHGATE_REPLY_STREAM", "hushgate:replies")
NEXT: Final = """
next:  make up                        the same servers, with their addresses for another shell
       hushgate publish FILE --wait   your own events, one JSON object a line
       hushgate decisions list        the audit;  decisions show ID  one decision whole
       hushgate doctor                is a deployment fit
"""
STAYS: Final = "they stay until Ctrl-C; Enter gives another sign-in link"
ENDED: Final = (
    "this is no terminal: the pages answered and end now; make demo ARGS=--stay keeps them until Ctrl-C"
)


def demo(
    rate: Annotated[float, typer.Option(min=1, help="Events per second.")] = 25.0,
    stay: Annotated[
        bool | None,
        typer.Option(
            "--stay/--no-stay",
            help="Keep everything running for the review pages until Ctrl-C or SIGTERM.",
            show_default="stay on a terminal, end in a pipe",
        ),
    ] = None,
) -> None:
    """Publish some 300 real comments and chats to a fleet of two workers and show what became of each.

    Ends with the address of the review pages and a link that signs in once, as an invented person with every
    role. On a terminal the pages stay until Ctrl-C.
    Uses embedded Postgres and Valkey and the sandbox, which is no model, unless DATABASE_URL, REDIS_URL and
    OPENAI_API_KEY or OPENROUTER_API_KEY are set (with OpenRouter's key alone nothing is moderated; in a
    database of your own nobody is invented).
    Exit 0 only when every law held and the pages answered.
    """
    stays = ways_in.somebody_sits_there() if stay is None else stay
    _say("starting Postgres, Valkey, the sandbox, two workers and the review pages on this machine ...")
    with fleet() as running:
        result = _run(running, rate)
        _show(result)
        held = all(ok for _, ok, _ in result.laws())
        answered = _open_pages(running)
        if stays:
            running.start_beat()
            _stay(running, STAYS)
        else:
            _say(ENDED)
    raise typer.Exit(0 if held and answered else 1)


def up(
    workers: Annotated[int, typer.Option(min=1, max=32, help="Worker processes.")] = WORKERS,
) -> None:
    """Run servers, sandbox, workers, beat and review pages until Ctrl-C; what dies is started again.

    The addresses are printed as shell exports, for every other command next door.
    """
    _say("starting Postgres, Valkey, the sandbox, the workers and the review pages ...")
    with fleet() as running:
        asyncio.run(seed.accounts_and_documents(running.stack.database_url))
        running.start_all(workers)
        running.start_beat()
        ways_in.await_pages(running)
        _say("running until Ctrl-C. In another shell:")
        for name, value in running.addresses.items():
            typer.echo(f"export {name}={shlex.quote(value)}")
        _say("\n".join(asyncio.run(ways_in.way_in(running)).lines()))
        _stay(running, f"logs: {running.logs}/*.log; accounts: corner-shop, music-channel")


def _open_pages(running: Fleet) -> bool:
    """Show the way to the review pages; whether the sign-in link answers, or without one the start page."""
    ways_in.await_pages(running)
    asyncio.run(ways_in.furnish(running))
    way = asyncio.run(ways_in.way_in(running))
    answered = pages.status(way.link or way.address) == 200
    if for_eyes():
        screen.print(Text("\n".join(("", *way.lines()))), soft_wrap=True)
    else:
        emit_json({"kind": "review", "address": way.address, "sign_in": way.link, "answered": answered})
    return answered


def _stay(running: Fleet, text: str) -> None:
    """Keep the fleet alive until somebody ends it."""
    _say(text)
    stopped = _stop_signal()
    while not stopped.wait(1):
        for name in running.mend():
            _say(f"{name} had died and was started again")
        if ways_in.enter_pressed():
            _say("\n".join(asyncio.run(ways_in.way_in(running)).lines()))
    _say("draining ...")


def _stop_signal() -> threading.Event:
    """An event that SIGINT and SIGTERM set, also where a shell had SIGINT ignored."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stopped.set())
    return stopped


def _run(running: Fleet, rate: float) -> Report:
    run = f"demo-{secrets.token_hex(3)}"
    asyncio.run(seed.accounts_and_documents(running.stack.database_url))
    running.start_all(WORKERS)
    payloads = events.payloads(run=run, faults=running.sandboxed)
    _say(f"publishing {len(payloads)} payloads to {EVENTS}, {rate:g} a second, run {run}")
    return asyncio.run(_flow(running, run, payloads, rate))


async def _flow(running: Fleet, run: str, payloads: list[bytes], rate: float) -> Report:
    """Publish at the rate asked for, watch until nothing is left, then gather the report."""
    client = connect(running.stack.redis_url)
    await _workers_ready(running, client)
    start, _ = await _stream(client)
    publishing = asyncio.create_task(asyncio.to_thread(_publish, running.stack.redis_url, payloads, rate))
    deadline = time.monotonic() + len(payloads) / rate + PATIENCE_S
    async with audit.reading(running.stack.database_url) as connection:
        with Live(console=errors, refresh_per_second=8, transient=True) as live:
            while time.monotonic() < deadline:
                view = await _view(connection, client, run, start, len(payloads))
                live.update(view.shown)
                if publishing.done() and view.unfinished == 0 and view.waiting == 0:
                    break
                await asyncio.sleep(0.2)
        await publishing
        result = await report(connection, client, run=run, streams=(EVENTS, REPLIES))
    await client.aclose()
    return result


def _publish(url: str, payloads: list[bytes], rate: float) -> None:
    with Redis.from_url(url) as client:
        started = time.monotonic()
        for number, payload in enumerate(payloads):
            time.sleep(max(0.0, started + number / rate - time.monotonic()))
            publish_many(client, [payload], stream=EVENTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One look at the run: entries not finished, replies not delivered, and what to draw."""

    unfinished: int
    waiting: int
    shown: Group


async def _view(connection: AsyncConnection, client: AsyncRedis, run: str, start: int, total: int) -> View:
    so_far = await run_figures.progress(connection, run)
    accepted, unfinished = await _stream(client)
    bars = Progress(TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn())
    bars.add_task("published", total=total, completed=accepted - start)
    bars.add_task("finished", total=total, completed=accepted - start - unfinished)
    line = Table.grid(padding=(0, 3))
    line.add_row(*(f"{name} {so_far.counts.get(name, 0)}" for name in ("respond", "escalate", "ignore")))
    return View(unfinished=unfinished, waiting=so_far.waiting, shown=Group(bars, line))


async def _workers_ready(running: Fleet, client: AsyncRedis) -> None:
    """Wait until every worker has sent its first heartbeat.

    Raises:
        ConfigurationError: one ended instead; its last words say why.
    """
    deadline = time.monotonic() + PATIENCE_S
    while (await backlog(client, EVENTS))["workers"] < WORKERS and time.monotonic() < deadline:
        if (last_words := running.died()) is not None:
            raise ConfigurationError(last_words)
        await asyncio.sleep(0.1)


async def _stream(client: AsyncRedis) -> tuple[int, int]:
    """Entries the event stream ever took, and those it still holds."""
    figures = await backlog(client, EVENTS)
    return figures["accepted"], figures["unfinished"]


def _show(result: Report) -> None:
    laws = [{"law": name, "held": ok, "figures": figures} for name, ok, figures in result.laws()]
    if not for_eyes():
        for kind, rows in (
            ("reason", result.figures.reasons),
            ("totals", [result.figures.totals]),
            ("law", laws),
        ):
            for row in rows:
                emit_json({"kind": kind, **row})
        for row in result.figures.examples:
            emit_json({"kind": "example", **row})
        return
    screen.print(
        table(
            result.figures.reasons, ["decision", "reason_code", "events", "p50_ms", "p95_ms"], title="events"
        )
    )
    screen.print(table([result.figures.totals], list(result.figures.totals), title="\ntotals"))
    for number, row in enumerate(result.figures.examples, 1):
        screen.print(Text(f"\nexample {number} of {len(result.figures.examples)}", style="bold"))
        for part in described(row):
            screen.print(part)
    screen.print(table(laws, ["law", "held", "figures"], title="\nlaws"))
    screen.print(Text(NEXT))


def _say(text: str) -> None:
    errors.print(text, style="cyan", highlight=False, markup=False, soft_wrap=True)
