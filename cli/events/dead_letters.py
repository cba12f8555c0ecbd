"""``hushgate dead-letters``: payloads that could not become an event, and what to do with them."""

from __future__ import annotations

import asyncio
import re
from typing import Annotated, Any, Final, TypeAlias

import typer

from cli.events.letters import DROPPED, RETRIED, drop_all, republish
from cli.exit_codes import ExitCode
from cli.options import time_of, who, with_pool
from cli.output import emit, fail
from db.access_log import LogEntry, LoggedAction
from db.buried.letters import LetterFilter, StoredLetter, find_letters, log_reading
from worker.errors import PayloadFault

Entries: TypeAlias = Annotated[
    list[str] | None, typer.Argument(help="Stream entry ids, as `list` prints them.", show_default=False)
]
LetterAccountOption: TypeAlias = Annotated[
    str | None, typer.Option("--account", "-a", help="Those whose payload names this account.")
]
ReasonOption: TypeAlias = Annotated[
    PayloadFault | None, typer.Option("--reason", help="Those with this reason code.")
]
SinceOption: TypeAlias = Annotated[
    str | None, typer.Option("--since", help="Those since this time or age, such as 24h.")
]
BeforeOption: TypeAlias = Annotated[
    str | None, typer.Option("--before", help="Those before this time, or older than this age.")
]
ShardOption: TypeAlias = Annotated[
    str | None, typer.Option("--shard", help="Those of this shard, as entry ids end: 2/4.")
]
LimitOption: TypeAlias = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many.")]
DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="Print what would happen; change nothing.")
]
TextsOption: TypeAlias = Annotated[
    bool, typer.Option("--texts", help="Also what users wrote; the access log says who read it.")
]
EveryOption: TypeAlias = Annotated[bool, typer.Option("--all", help="Without a filter: all of them.")]


SHARD: Final = re.compile(r"@?\d+/\d+")


def letter_filter(
    *,
    entries: list[str] | None = None,
    account: str | None,
    reason: PayloadFault | None,
    since: str | None,
    before: str | None,
    shard: str | None,
) -> LetterFilter:
    """The filter that the options choose."""
    if shard is not None and not SHARD.fullmatch(shard):
        raise fail(f"--shard: expected a shard such as 2/4, got {shard!r}")
    return LetterFilter(
        ids=tuple(entries) if entries else None,
        account=account,
        reason=reason,
        since=time_of("--since", since),
        before=time_of("--before", before),
        shard=None if shard is None else shard.removeprefix("@"),
    )


def require_choice(chosen: LetterFilter, *, every: bool) -> None:
    """Refuse to change all letters because a filter was forgotten."""
    if chosen.is_any and not every:
        raise fail("entries: expected entry ids, a filter or --all, got none of them")


app = typer.Typer(
    no_args_is_help=True,
    help="Payloads that could not become an event: `list` and `show` them, `retry` or `drop` them.",
)
COLUMNS: Final = ("created_at", "entry_id", "account", "reason_code", "field", "expected", "got")
FIELDS: Final = (*COLUMNS, "size_bytes", "retried_as")
OUR_WORDS: Final = frozenset({PayloadFault.POISON, PayloadFault.WRONG_SHARD, PayloadFault.MISSING_DATA})
"""Reasons whose ``got`` is a sentence of Hushgate; that of others may quote the payload."""


@app.command("list")
def list_(
    account: LetterAccountOption = None,
    since: SinceOption = None,
    before: BeforeOption = None,
    reason: ReasonOption = None,
    shard: ShardOption = None,
    limit: LimitOption = 50,
    texts: TextsOption = False,
) -> None:
    """Print dead letters, newest first, with the reason why they are not events.

    `got` can quote the payload and is shown with --texts only. For example:

        hushgate dead-letters list --since 24h --reason poison
    """
    chosen = letter_filter(account=account, reason=reason, since=since, before=before, shard=shard)
    found = with_pool(lambda source: find_letters(source, chosen, limit))
    if texts and found:
        _log_reading(account, letters=len(found))
    emit([_row(letter, texts=texts) for letter in found], COLUMNS)


@app.command()
def show(
    entry_id: Annotated[str, typer.Argument(help="Stream entry id, as `list` prints it.")],
    texts: TextsOption = False,
) -> None:
    """Print one dead letter; its payload with --texts.

    For example:

        hushgate dead-letters show 1763761234567-0 --texts
    """
    letter = _letter(entry_id)
    if texts:
        _log_reading(letter.account, entry_id=entry_id)
    payload = {"payload": letter.raw} if texts else {}
    row = _row(letter, texts=texts) | {"retried_at": letter.retried_at, "problem": letter.problem} | payload
    emit([row], list(row))


@app.command()
def retry(
    entries: Entries = None,
    account: LetterAccountOption = None,
    since: SinceOption = None,
    before: BeforeOption = None,
    reason: ReasonOption = None,
    shard: ShardOption = None,
    every: EveryOption = False,
    limit: LimitOption = 1000,
    dry_run: DryRun = False,
) -> None:
    """Publish payloads again as new entries, oldest first, each once; the dead letters are kept.

    Use it for payloads that can be decided now: a limit was raised, or a defect was fixed. A new entry is the
    last one of its conversation. A letter that was published before is not published again,
    even if an earlier run was interrupted. Exit 1 when some were refused, 5 when all were. Examples:

        hushgate dead-letters retry 1763761234567-0

        hushgate dead-letters retry --reason poison --since 2h --dry-run
    """
    chosen = letter_filter(
        entries=entries, account=account, reason=reason, since=since, before=before, shard=shard
    )
    require_choice(chosen, every=every)
    found = with_pool(lambda source: find_letters(source, chosen, limit))
    _require_all(entries, found)
    letters = [each for each in found if entries or not each.retried_as]
    rows = asyncio.run(republish(sorted(letters, key=lambda each: each.place), dry_run=dry_run))
    _end(rows, RETRIED)


@app.command()
def drop(
    entries: Entries = None,
    account: LetterAccountOption = None,
    since: SinceOption = None,
    before: BeforeOption = None,
    reason: ReasonOption = None,
    shard: ShardOption = None,
    every: EveryOption = False,
    limit: LimitOption = 1000,
    dry_run: DryRun = False,
) -> None:
    """Delete dead letters with their payloads; those that a legal hold covers stay.

    The conservation check counts them as deleted. For example:

        hushgate dead-letters drop --reason not_json --before 7d --dry-run
    """
    chosen = letter_filter(
        entries=entries, account=account, reason=reason, since=since, before=before, shard=shard
    )
    require_choice(chosen, every=every)
    found = with_pool(lambda source: find_letters(source, chosen, limit))
    _require_all(entries, found)
    _end(asyncio.run(drop_all(found, dry_run=dry_run)), DROPPED)


def _end(rows: list[dict[str, Any]], done: str) -> None:
    """Print the rows; exit 1 when some letters were refused, 5 when all were."""
    emit(rows, ("entry_id", done, "problem"))
    refused = [row for row in rows if row["problem"]]
    if refused:
        code = ExitCode.REJECTED if len(refused) == len(rows) else ExitCode.NEGATIVE
        raise fail(f"entries: {len(refused)} of {len(rows)} were refused", code=code)


def _letter(entry_id: str) -> StoredLetter:
    chosen = letter_filter(entries=[entry_id], account=None, reason=None, since=None, before=None, shard=None)
    found = with_pool(lambda source: find_letters(source, chosen, 1))
    if not found:
        raise fail(f"entry: no dead letter {entry_id}", code=ExitCode.NEGATIVE)
    return found[0]


def _require_all(entries: list[str] | None, found: tuple[StoredLetter, ...]) -> None:
    missing = sorted(set(entries or ()) - {letter.entry_id for letter in found})
    if missing:
        raise fail(f"entry: no dead letter {', '.join(missing)}", code=ExitCode.NEGATIVE)


def _row(letter: StoredLetter, *, texts: bool) -> dict[str, Any]:
    row = {name: getattr(letter, name) for name in FIELDS}
    return row if texts or letter.reason_code in OUR_WORDS else row | {"got": None}


def _log_reading(account: str | None, **detail: str | int) -> None:
    shown = {"what": "dead letters"} | detail
    entry = LogEntry(action=LoggedAction.DEAD_LETTER, person=who(), user_id=account, detail=shown)
    with_pool(lambda source: log_reading(source, entry))
