"""``hushgate publish``: events from a file or a pipe onto the stream."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from redis import Redis
from redis.exceptions import RedisError
from rich.progress import TimeElapsedColumn

from cli.events.published_decisions import decision_lines
from cli.exit_codes import ExitCode, code_of
from cli.options import stream_settings, with_redis
from cli.output import emit, fail, print_message, progress_bar
from cli.output_file import input_file
from tasks.limits.upstream_reports import NO_WORKER, load_reports, problems
from tasks.publishing.publish import append, checked, open_shards
from tasks.publishing.replicated import WAIT_S, Replication
from tasks.shards.agreement import current_layout
from tasks.shards.clients import connect_sync
from worker.errors import NotReplicated, PayloadRejected, StreamFull, StreamSealed
from worker.settings import StreamSettings

BATCH: Final = 500
SHOWN_ERRORS: Final = 20
QUIET_S: Final = 10.0
NOTE_EVERY_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BadEventLine:
    """A line that is not an event."""

    line: int
    error: PayloadRejected


def publish(
    source: Annotated[str, typer.Argument(help="A file of NDJSON, one event a line; - for standard input.")],
    rate: Annotated[float, typer.Option(min=0, help="Events per second; 0 is no limit.")] = 0.0,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until every event is decided.")] = False,
    timeout: Annotated[
        float, typer.Option(min=1, help="With --wait: give up after this many seconds.")
    ] = 600.0,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Skip bad lines and publish the others.")
    ] = False,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw", help="Publish lines without a check; a line that is not an event becomes a dead letter."
        ),
    ] = False,
) -> None:
    """Publish events from a file or a pipe; when a line is not an event, nothing is published.

    Every line is checked first. --skip-bad publishes the good lines. Prints one summary. Exit 0 when every
    line is on the stream and, with --wait, decided; 1 when some are not; 5 when nothing was published because
    of a bad line. --wait names what events wait for after ten seconds and, with DATABASE_URL, prints the
    decisions on the first 20. Examples:

        hushgate publish events.ndjson --rate 50 --wait

        jq -c '.[]' export.json | hushgate publish -
    """
    settings = stream_settings()
    lines = _lines(source)
    bad = [] if raw else _bad(lines, settings)
    _report_bad(bad, len(lines), skip=skip_bad)
    skipped = {problem.line for problem in bad}
    events = [line for number, line in lines.items() if number not in skipped]
    ids: list[str] = []
    try:
        with connect_sync(settings.redis_url.get_secret_value(), timeout_s=30) as redis:
            open_shards(redis, settings.stream, settings.shards)
            _send(redis, settings, events, rate, ids)
            unfinished = _wait(redis, settings, ids, timeout) if wait else 0
    except (StreamFull, StreamSealed, NotReplicated, RedisError) as error:
        done = f"{len(ids)} of {len(events)} were published"
        raise fail(_refusal(error, done, settings), code=code_of(error)) from error
    summary = {"published": len(ids), "skipped": len(bad)}
    if wait:
        summary["unfinished"] = unfinished
        print_message("\n".join(decision_lines(list(zip(events, ids, strict=True)))), style="default")
    emit([summary], list(summary))
    if unfinished or bad:
        raise typer.Exit(ExitCode.NEGATIVE)


def _report_bad(bad: list[BadEventLine], lines: int, *, skip: bool) -> None:
    """Print the bad lines; unless they are skipped, one ends the command."""
    for problem in bad[:SHOWN_ERRORS]:
        print_message(f"line {problem.line}: {problem.error}")
    if len(bad) > SHOWN_ERRORS:
        print_message(f"... and {len(bad) - SHOWN_ERRORS} more bad lines")
    if bad and not skip:
        raise fail(
            f"nothing was published: {len(bad)} of {lines} lines are not events", code=ExitCode.REJECTED
        )


def _refusal(error: Exception, done: str, settings: StreamSettings) -> str:
    """What Redis refused, how many events were published before, and what to do."""
    match error:
        case StreamFull():
            return (
                f"Redis is full: {done}; publish the others when the backlog is smaller, or raise maxmemory"
            )
        case StreamSealed():
            again = "run hushgate shards double again, then publish the others"
            return f"the shards are being doubled: {done}; {again}"
        case NotReplicated():
            wanted = f"HUSHGATE_PUBLISH_REPLICAS is {settings.publish_replicas}"
            again = "publish the others again, each event_id is decided once"
            return f"too few replicas answered within {WAIT_S:g} s ({wanted}): {done}; {again}"
    return f"Redis: {type(error).__name__}: {error} ({done})"


def _lines(source: str) -> dict[int, bytes]:
    """Line number -> line; blank lines are left out."""
    with input_file(Path(source)) as file:
        body = file.read()
    return {number: line for number, line in enumerate(body.split(b"\n"), 1) if line.strip()}


def _bad(lines: dict[int, bytes], settings: StreamSettings) -> list[BadEventLine]:
    """The lines that a worker would make dead letters of, with the same messages."""
    problems = []
    for number, line in lines.items():
        try:
            checked(line, needs_id=settings.publish_replicas > 0)
        except PayloadRejected as error:
            problems.append(BadEventLine(line=number, error=error))
    return problems


def _send(redis: Redis, settings: StreamSettings, events: list[bytes], rate: float, ids: list[str]) -> None:
    """Append events at the given rate; their entry ids are added to ``ids``, also when an error follows."""
    replication = Replication.of(settings)
    started, size = time.monotonic(), max(1, min(BATCH, int(rate / 10))) if rate else BATCH
    with progress_bar(TimeElapsedColumn()) as progress:
        task = progress.add_task("published", total=len(events))
        for first in range(0, len(events), size):
            try:
                batch = events[first : first + size]
                ids += append(redis, batch, stream=settings.stream, replication=replication)
            except (StreamFull, StreamSealed, NotReplicated) as error:
                ids += error.published
                raise
            progress.update(task, completed=len(ids))
            if rate:
                time.sleep(max(0.0, started + len(ids) / rate - time.monotonic()))


def _wait(redis: Redis, settings: StreamSettings, ids: list[str], timeout_s: float) -> int:
    """Wait until the entries have left the stream; how many are still there at the end.

    After ten seconds a note says what they wait for, and again when that changes.
    """
    started, left, noted = time.monotonic(), ids, ""
    deadline, next_note_s = started + timeout_s, started + QUIET_S
    with progress_bar(TimeElapsedColumn()) as progress:
        task = progress.add_task("decided", total=len(ids))
        while left and time.monotonic() < deadline:
            left = _present(redis, settings.stream, left)
            progress.update(task, completed=len(ids) - len(left))
            if left and time.monotonic() >= next_note_s:
                next_note_s = time.monotonic() + NOTE_EVERY_S
                if (cause := _waits_for(settings)) != noted:
                    print_message(f"{len(left)} of {len(ids)} events wait: {cause}")
                    noted = cause
            if left:
                time.sleep(0.2)
    return len(left)


def _waits_for(settings: StreamSettings) -> str:
    """What the running workers report."""
    reports = with_redis(settings, lambda redis: load_reports(redis, settings.stream))
    if not reports:
        return NO_WORKER
    return " | ".join(problems(reports)) or "workers report no problem; hushgate explain ID says more"


def _present(redis: Redis, stream: str, ids: list[str]) -> list[str]:
    """The ids of the entries that are still in the stream."""
    present: list[str] = []
    layout = current_layout(redis, stream)
    for first in range(0, len(ids), BATCH):
        batch, pipe = ids[first : first + BATCH], redis.pipeline(transaction=False)
        for entry in batch:
            found, raw = layout.place_of(entry)
            pipe.xrange(found.key, raw, raw)
        present += [entry for entry, rows in zip(batch, pipe.execute(), strict=True) if rows]
    return present
