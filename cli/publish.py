"""``hushgate publish``: events from a file or a pipe onto the stream."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer
from redis import Redis
from redis.exceptions import RedisError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cli.options import connected
from cli.output import emit, errors, fail, for_eyes
from tasks.publish import publish_many
from worker.errors import PayloadRejected
from worker.payload import Arrival, parse

BATCH: Final = 500
SHOWN_ERRORS: Final = 20
PAYLOAD_BYTES: Final = 262_144

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that is no event."""

    line: int
    error: PayloadRejected


def publish(
    source: Annotated[str, typer.Argument(help="A file of NDJSON, one event a line; - for standard input.")],
    rate: Annotated[float, typer.Option(min=0, help="Events per second; 0 as fast as it goes.")] = 0.0,
    wait: Annotated[bool, typer.Option("--wait", help="Return when every event has its decision.")] = False,
    timeout: Annotated[
        float, typer.Option(min=1, help="With --wait: give up after this many seconds.")
    ] = 600.0,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Publish the good lines of a bad file.")
    ] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Publish lines as they are, unchecked.")] = False,
) -> None:
    """Publish events. Every line is checked first; with a bad one nothing is published, unless --skip-bad.

    Example:
        hushgate publish events.ndjson --rate 50 --wait
    """
    lines = _lines(source)
    bad = [] if raw else [problem for problem in map(_problem, enumerate(lines, 1)) if problem]
    for problem in bad[:SHOWN_ERRORS]:
        errors.print(f"line {problem.line}: {problem.error}", style="red", markup=False, highlight=False)
    if len(bad) > SHOWN_ERRORS:
        errors.print(f"... and {len(bad) - SHOWN_ERRORS} more bad lines", style="red")
    if bad and not skip_bad:
        raise fail(f"nothing was published: {len(bad)} of {len(lines)} lines are no events")
    skipped = {problem.line for problem in bad}
    events = [line for number, line in enumerate(lines, 1) if number not in skipped]
    settings = connected()
    try:
        with Redis.from_url(settings.redis_url.get_secret_value(), socket_timeout=30) as redis:
            ids = _send(redis, settings.stream, events, rate)
            unfinished = _wait(redis, settings.stream, ids, timeout) if wait else 0
    except RedisError as error:
        raise fail(f"Redis: {type(error).__name__}: {error}", code=1) from error
    summary = {"published": len(ids), "skipped": len(bad)}
    if wait:
        summary["unfinished"] = unfinished
    emit([summary], list(summary))
    if unfinished or bad:
        raise typer.Exit(1)


def _lines(source: str) -> list[bytes]:
    try:
        body = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise fail(f"{source}: {error.strerror}") from error
    return [line for line in body.split(b"\n") if line.strip()]


def _problem(numbered: tuple[int, bytes]) -> BadLine | None:
    number, line = numbered
    arrival = Arrival(entry_id="0-0", size_bytes=len(line), received_at=datetime.now(UTC))
    try:
        parse(line, arrival, most_bytes=PAYLOAD_BYTES)
    except PayloadRejected as error:
        return BadLine(line=number, error=error)
    return None


def _send(redis: Redis, stream: str, events: list[bytes], rate: float) -> list[str]:
    started, size = time.monotonic(), max(1, min(BATCH, int(rate / 10))) if rate else BATCH
    ids: list[str] = []
    with _progress() as progress:
        task = progress.add_task("published", total=len(events))
        for batch in _batches(events, size):
            ids += publish_many(redis, batch, stream=stream)
            progress.update(task, completed=len(ids))
            if rate:
                time.sleep(max(0.0, started + len(ids) / rate - time.monotonic()))
    return ids


def _wait(redis: Redis, stream: str, ids: list[str], timeout_s: float) -> int:
    """Wait until the entries have left the stream; how many have not."""
    deadline, left = time.monotonic() + timeout_s, ids
    with _progress() as progress:
        task = progress.add_task("decided", total=len(ids))
        while left and time.monotonic() < deadline:
            left = [entry for batch in _batches(left, BATCH) for entry in _present(redis, stream, batch)]
            progress.update(task, completed=len(ids) - len(left))
            if left:
                time.sleep(0.2)
    return len(left)


def _present(redis: Redis, stream: str, ids: list[str]) -> list[str]:
    pipe = redis.pipeline(transaction=False)
    for entry in ids:
        pipe.xrange(stream, entry, entry)
    return [entry for entry, rows in zip(ids, pipe.execute(), strict=True) if rows]


def _batches(items: list[Item], size: int) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=errors, disable=not for_eyes() and not errors.is_terminal)
