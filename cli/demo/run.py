"""``hushgate demo``: the whole product on this machine, shown with invented and real messages."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Annotated, Final

import typer
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from cli.decisions.view import decision_details
from cli.demo import events, people, review_access, seed
from cli.demo.answers import OPTIONS, answer_figures
from cli.demo.receiver import Receiver, receiver
from cli.demo.report import Report, report
from cli.demo.staying import say, starting, stay_until_signal
from cli.deployment import loopback
from cli.exit_codes import ExitCode
from cli.output import emit_json, errors, screen, stdout_is_terminal, table
from cli.stack.fleet import REVIEW, Fleet, fleet
from cli.stack.start_watch import await_workers
from db.audit import decision_list, run_figures
from db.connection import Connection
from tasks.publishing.publish import append
from tasks.shards.backlog import backlog
from tasks.shards.clients import connect
from worker.webhooks.signing import encode_secret


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The progress at one moment: entries finished and unfinished, undelivered replies, and its drawing."""

    finished: int
    unfinished: int
    waiting: int
    shown: Group


async def progress(
    connection: Connection, client: AsyncRedis, *, run: str, stream: str, start: int, total: int
) -> View:
    """The progress of a run; ``start`` is how many entries the stream had accepted before it."""
    so_far = await run_figures.run_progress(connection, run)
    figures = await backlog(client, stream)
    accepted, unfinished = figures["accepted"], figures["unfinished"]
    bars = Progress(TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn())
    bars.add_task("published", total=total, completed=accepted - start)
    bars.add_task("finished", total=total, completed=accepted - start - unfinished)
    line = Table.grid(padding=(0, 3))
    line.add_row(*(f"{name} {so_far.counts.get(name, 0)}" for name in ("respond", "escalate", "ignore")))
    return View(
        finished=accepted - start - unfinished,
        unfinished=unfinished,
        waiting=so_far.waiting,
        shown=Group(bars, line),
    )


WORKERS: Final = 2
STILL_S: Final = 120.0
"""A run without a new decision or delivery for this long is reported as it is."""
EVENTS: Final = os.environ.get("HUSHGATE_STREAM", "hushgate:events")
REPLIES: Final = f"{EVENTS.rpartition(':')[0] or EVENTS}:replies"
NEXT: Final = """
next:  hushgate up                    the same servers; prints what another shell needs for these:
       hushgate publish FILE --wait   your own events, one JSON object a line
       hushgate decisions list        the audit;  decisions show ID  one decision
       hushgate explain EVENT_ID      what happened to an event
       hushgate doctor                check a deployment
"""
STAYS: Final = "the pages stay until Ctrl-C; Enter prints another sign-in link"
ENDED: Final = "not on a terminal: the pages end now; hushgate demo --stay keeps them until Ctrl-C"


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
    """Publish some 300 real comments and chats to a fleet of two workers and show the decision on each.

    At the end it prints the address of the review pages and a link that signs in once, as an invented person
    with every role. On a terminal the pages stay until Ctrl-C.

    Uses embedded Postgres and Valkey and the sandbox, which is not a model, unless DATABASE_URL, REDIS_URL
    and the address or key of a server of models (HUSHGATE_MODEL_URL, HUSHGATE_MODEL_KEY) are set. Without a
    moderation API (HUSHGATE_MODERATION_URL) nothing is moderated, unless that server is OpenAI's. The demo
    adds no person to a database of your own, and ends before it publishes when one of its accounts is used
    by anything else.

    Exit 0 only when every law held and the pages answered.
    """
    stays = review_access.on_terminal() if stay is None else stay
    say(starting("two workers"))
    with (
        fleet(sandbox_options=OPTIONS) as running,
        receiver(encode_secret(secrets.token_bytes(32))) as webhooks,
    ):
        result = _run(running, rate, webhooks)
        _show(result)
        held = all(ok for _, ok, _ in result.laws()) and _people(running, webhooks, result)
        answered = _open_pages(running)
        if stays:
            running.start_beat()
            stay_until_signal(running, STAYS)
        else:
            say(ENDED)
    raise typer.Exit(ExitCode.OK if held and answered else ExitCode.NEGATIVE)


def _open_pages(running: Fleet) -> bool:
    """Print how to reach the review pages; whether the sign-in link, or else the start page, answers."""
    review_access.await_pages(running, say)
    asyncio.run(review_access.add_sample_reviews(running))
    way = asyncio.run(review_access.new_review_access(running))
    answered = loopback.status(way.link or way.address) == 200
    if stdout_is_terminal():
        screen.print(Text("\n".join(("", *way.lines()))), soft_wrap=True)
    else:
        emit_json({"kind": "review", "address": way.address, "sign_in": way.link, "answered": answered})
    return answered


def _people(running: Fleet, webhooks: Receiver, result: Report) -> bool:
    """Show what people around the system do; whether all of it worked. Not in the caller's database."""
    if not running.owns_database:
        return True
    review_access.await_pages(running, say)
    say("a person takes over one conversation and approves a right draft that no judge could read ...")
    figures = result.figures
    steps = people.story(
        running,
        webhooks,
        run=result.run,
        stream=EVENTS,
        escalated=figures.totals["escalated"],
        replies=result.delivered,
    )
    rows = [asdict(step) for step in steps]
    if stdout_is_terminal():
        screen.print(table(rows, ["step", "ok", "figures"], title="\npeople"))
    else:
        for row in rows:
            emit_json({"kind": "people", **row})
    return all(step.ok for step in steps)


def _run(running: Fleet, rate: float, webhooks: Receiver) -> Report:
    run = f"demo-{secrets.token_hex(3)}"
    running.require_review_port()
    asyncio.run(seed.require_no_others(running.stack.database_url))
    asyncio.run(seed.accounts_and_documents(running.stack.database_url))
    if running.owns_database:
        running.environment[people.LOOPBACK] = "true"
        asyncio.run(people.subscribe(running, webhooks))
    running.start_all(WORKERS)
    payloads = events.payloads(run=run, faults=running.sandboxed)
    say(f"publishing {len(payloads)} payloads to {EVENTS}, {rate:g} a second, run {run}")
    faulty = running.sandbox.faulty(events.sandbox_faults()) if running.sandbox else nullcontext()
    with faulty:
        return asyncio.run(_flow(running, run, payloads, rate))


async def _flow(running: Fleet, run: str, payloads: list[bytes], rate: float) -> Report:
    """Publish at the given rate, watch until every event is finished, then gather the report."""
    client = connect(running.stack.redis_url)
    names = tuple(name for name in running.workers if name != REVIEW)
    await await_workers(running, client, EVENTS, names, say)
    start = (await backlog(client, EVENTS))["accepted"]
    publishing = asyncio.create_task(asyncio.to_thread(_publish, running.stack.redis_url, payloads, rate))
    moved, seen = time.monotonic(), None
    async with decision_list.read_connection(running.stack.database_url) as connection:
        with Live(console=errors, refresh_per_second=8, transient=True) as live:
            while time.monotonic() - moved < STILL_S:
                view = await progress(
                    connection, client, run=run, stream=EVENTS, start=start, total=len(payloads)
                )
                live.update(view.shown)
                if (figures := (view.finished, view.waiting)) != seen:
                    moved, seen = time.monotonic(), figures
                if publishing.done() and view.unfinished == 0 and view.waiting == 0:
                    break
                await asyncio.sleep(0.2)
        await publishing
        answers = await answer_figures(running.stack.database_url, run) if running.sandboxed else None
        result = await report(connection, client, run=run, streams=(EVENTS, REPLIES), answers=answers)
    await client.aclose()
    return result


def _publish(url: str, payloads: list[bytes], rate: float) -> None:
    with Redis.from_url(url) as client:
        started = time.monotonic()
        for number, payload in enumerate(payloads):
            time.sleep(max(0.0, started + number / rate - time.monotonic()))
            append(client, [payload], stream=EVENTS)


def _show(result: Report) -> None:
    laws = [{"law": name, "held": ok, "figures": figures} for name, ok, figures in result.laws()]
    if not stdout_is_terminal():
        for kind, rows in (
            ("reason", result.figures.reasons),
            ("totals", [result.figures.totals]),
            ("law", laws),
        ):
            for row in rows:
                emit_json({"kind": kind, **row})
        for row in result.figures.examples:
            emit_json({"kind": "example", **row})
        if result.answers is not None:
            emit_json({"kind": "answers", **asdict(result.answers)})
        return
    screen.print(
        table(
            result.figures.reasons, ["decision", "reason_code", "events", "p50_ms", "p95_ms"], title="events"
        )
    )
    screen.print(table([result.figures.totals], list(result.figures.totals), title="\ntotals"))
    for number, row in enumerate(result.figures.examples, 1):
        screen.print(Text(f"\nexample {number} of {len(result.figures.examples)}", style="bold"))
        for part in decision_details(row):
            screen.print(part)
    screen.print(table(laws, ["law", "held", "figures"], title="\nlaws"))
    if result.answers is not None:
        screen.print(Text(f"\n{result.answers.sentence}", style="bold"))
    screen.print(Text(NEXT))
