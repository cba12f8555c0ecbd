"""The progress of a demo run, as figures and drawn."""

from __future__ import annotations

from dataclasses import dataclass

from redis.asyncio import Redis as AsyncRedis
from rich.console import Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from db.audit import run_figures
from db.connection import Connection
from tasks.shards.backlog import backlog


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
