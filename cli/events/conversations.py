"""``hushgate conversations``: who owns a conversation, the AI or people."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import typer

from cli.decisions.filter_options import FilteredCommand
from cli.exit_codes import ExitCode
from cli.options import note_misspelt, read_audit, who, with_pool
from cli.output import emit, fail, stdout_is_terminal
from db.access_log import LogEntry, LoggedAction
from db.answers.records import AnswerOutcome
from db.audit.conversation_confidence import MOST_CONVERSATIONS, conversation_confidence
from db.audit.filters import Filters
from db.figures.answers import answer_figures
from db.history import conversation_owners
from db.history.conversation_owners import ConversationIds, OwnerRecord
from db.pool import Pool
from review.words.decisions import RECHECK_MARK, tier_wording
from worker.model import Tier

app = typer.Typer(
    no_args_is_help=True,
    help="Who may answer in a conversation: `list` those of people, `take` one for people, `release` it to"
    " the AI; `confidence` of its replies; `answers` of people.",
)
COLUMNS: Final = ["user_id", "conversation_id", "owner", "people_until", "cause", "changed_by", "changed_at"]
MOST: Final = 10_000
ANSWER_COLUMNS: Final = ("user_id", *AnswerOutcome, "unchanged_share")
CONFIDENCE_COLUMNS: Final = (
    "user_id", "conversation_id", "latest_at", "replies", "confidence", "tiers", "rechecks", "escalated",
)  # fmt: skip

AccountArgument = Annotated[str, typer.Argument(help="The account.")]
ConversationArgument = Annotated[str, typer.Argument(help="The conversation's id, as its events have it.")]


@app.command("list")
def list_(
    account: Annotated[str | None, typer.Option("--account", "-a", help="Only of this account.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="Conversations to print at most.")] = 50,
) -> None:
    """Print the conversations that people own, latest takeover first.

    For example:

        hushgate conversations list --account corner-shop
    """
    now = datetime.now(UTC)
    chosen = None if account is None else (account,)
    found = with_pool(
        lambda source: conversation_owners.list_with_people(source, chosen, now=now, limit=limit)
    )
    emit([_row(record, now) for record in found], COLUMNS)
    note_misspelt(found, account)


@app.command(cls=FilteredCommand)
def confidence(
    context: typer.Context,
    limit: Annotated[
        int, typer.Option(min=1, max=MOST_CONVERSATIONS, help="Conversations to print at most.")
    ] = 50,
) -> None:
    """Print the confidence of replies by conversation, latest first, of the last 24 hours.

    --since sets another start. With --conversation the NDJSON has `confidence_log`, an entry per draft that
    the policy `guardrail` assessed. For example:

        hushgate conversations confidence --account corner-shop --since 7d
    """
    filters: Filters = context.obj
    rows = read_audit(lambda connection: conversation_confidence(connection, filters, limit=limit))
    shown = rows if not stdout_is_terminal() else [_with_marks(row) for row in rows]
    emit(shown, CONFIDENCE_COLUMNS)


def _with_marks(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row for a table: tiers and rechecks with their marks."""
    tiers = ", ".join(f"{tier_wording(tier)} {row[tier]}" for tier in Tier if row[tier])
    rechecks = f"{RECHECK_MARK} {row['rechecked']}, improved {row['improved']}" if row["rechecked"] else ""
    return {**row, "confidence": round(row["confidence"], 2), "tiers": tiers, "rechecks": rechecks}


@app.command()
def answers(
    account: Annotated[str | None, typer.Option("--account", "-a", help="Only of this account.")] = None,
    days: Annotated[int, typer.Option(min=1, max=3650, help="Answers of so many days.")] = 7,
) -> None:
    """Print how often people sent the AI's texts unchanged, changed them or replaced them, by account.

    For example:

        hushgate conversations answers --account corner-shop --days 30
    """
    until = datetime.now(UTC)
    users, since = [account] if account else None, until - timedelta(days=days)
    rows = read_audit(lambda connection: answer_figures(connection, users=users, since=since, until=until))
    emit([each.row() for each in rows], ANSWER_COLUMNS)


@app.command()
def take(account: AccountArgument, conversation: ConversationArgument) -> None:
    """Give a conversation to people: the AI sends nothing more in it.

    It returns to the AI by `release`, or when people have written nothing for the account's `people_idle_s`.
    For example:

        hushgate conversations take corner-shop visitor-17
    """
    ids = ConversationIds(user_id=account, conversation_id=conversation)
    record = with_pool(lambda source: _take(source, ids))
    if record is None:
        raise fail(
            f"conversation: no event of {conversation!r} is stored for account {account!r}",
            code=ExitCode.NEGATIVE,
        )
    emit([_row(record, datetime.now(UTC))], COLUMNS)


@app.command()
def release(account: AccountArgument, conversation: ConversationArgument) -> None:
    """Give a conversation back to the AI; messages received meanwhile are not answered.

    For example:

        hushgate conversations release corner-shop visitor-17
    """
    ids = ConversationIds(user_id=account, conversation_id=conversation)
    record = with_pool(lambda source: _release(source, ids))
    if record is None:
        raise fail(
            f"conversation: expected one that people own, got {conversation!r} of {account!r},"
            " which the AI owns",
            code=ExitCode.NEGATIVE,
        )
    emit([_row(record, datetime.now(UTC))], COLUMNS)


def _row(record: OwnerRecord, now: datetime) -> dict[str, Any]:
    return record.row(now) | {"changes": record.changes}


async def _take(source: Pool, ids: ConversationIds) -> OwnerRecord | None:
    taken = await conversation_owners.take_by_command(
        source, ids, taken_by=who(), now=datetime.now(UTC), logged=_entry(ids, "taken")
    )
    return await conversation_owners.load_owner(source, ids) if taken else None


async def _release(source: Pool, ids: ConversationIds) -> OwnerRecord | None:
    released = await conversation_owners.release_conversation(
        source, ids, released_by=who(), now=datetime.now(UTC), logged=_entry(ids, "released")
    )
    return await conversation_owners.load_owner(source, ids) if released else None


def _entry(ids: ConversationIds, change: str) -> LogEntry:
    detail = {"conversation": ids.conversation_id, "change": change}
    return LogEntry(action=LoggedAction.CONVERSATION, person=who(), user_id=ids.user_id, detail=detail)
