"""``hushgate dead-letters``: payloads that could not become an event, and how to publish them again."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.exit_codes import ExitCode
from cli.options import read_audit, stream_settings, time_of
from cli.output import emit, fail
from db import dead_letters
from tasks.publish import append
from tasks.shards.clients import connect_sync

app = typer.Typer(
    no_args_is_help=True, help="Payloads that could not become an event: `list` them, `replay` one."
)
COLUMNS = ["created_at", "entry_id", "reason_code", "field", "expected", "got", "size_bytes"]


@app.command("list")
def list_(
    since: Annotated[
        str | None, typer.Option(help="Dead letters since this time or age, such as 24h.")
    ] = None,
    reason: Annotated[
        str | None, typer.Option(help="Dead letters with this reason code, such as not_json or poison.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Dead letters to print at most.")] = 50,
) -> None:
    """Print dead letters, newest first, with the reason why they are not events.

    For example:

        hushgate dead-letters list --since 24h --reason poison
    """
    start = time_of("--since", since)
    emit(
        read_audit(lambda source: dead_letters.list_letters(source, limit, since=start, reason=reason)),
        COLUMNS,
    )


@app.command()
def replay(entry_id: Annotated[str, typer.Argument(help="Stream entry id, as `list` prints it.")]) -> None:
    """Publish a dead letter's payload again, as a new entry; the dead letter is kept.

    Use it for payloads that can be decided now: a limit was raised, or a defect was fixed. Example:

        hushgate dead-letters replay 1763761234567-0
    """
    kept = read_audit(lambda connection: dead_letters.get_payload(connection, entry_id))
    if kept is None:
        raise fail(f"entry: no dead letter {entry_id}", code=ExitCode.NEGATIVE)
    raw, size = kept
    if not raw:
        raise fail(
            "entry: the entry had no field data, so there is nothing to publish", code=ExitCode.REJECTED
        )
    if len(raw) < size:
        raise fail(
            f"entry: only {len(raw)} of {size} bytes were kept; publish the payload from its source",
            code=ExitCode.REJECTED,
        )
    settings = stream_settings()
    with connect_sync(settings.redis_url.get_secret_value()) as redis:
        emit([{"published": append(redis, [raw], stream=settings.stream)[0]}], ["published"])
