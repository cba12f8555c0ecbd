"""``hushgate assess suggestions``: topics that questions asked about and the documents do not cover."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from cli.options import note_misspelt, read_lists, time_of
from cli.output import emit, errors
from db.audit.filters import Filters
from db.audit.suggestions import MOST_DECISIONS, Suggestion, load_suggestions

COLUMNS = ("topic", "count", "unanswered", "newest", "message_text", "decision_id")


def suggestions(
    account: Annotated[str, typer.Option("--account", "-a", help="The account (user_id).")],
    since: Annotated[
        str, typer.Option(help="From this time or age on: 2026-11-21T10:00Z, 24h, 7d, all.")
    ] = "30d",
    until: Annotated[str | None, typer.Option(help="Before this time or age; default: now.")] = None,
) -> None:
    """Print topics to add a document about, most frequent first, with the newest message of each.

    `unanswered` counts the decisions without a reply that a model wrote. For example:

        hushgate assess suggestions --account acme --since 7d
    """
    filters = Filters(
        user_id=account,
        since=None if since == "all" else time_of("--since", since),
        until=time_of("--until", until) or datetime.now(UTC),
    )
    found = read_lists(lambda connection: load_suggestions(connection, filters))
    emit((_line(each) for each in found.topics), COLUMNS)
    note_misspelt(found.topics, account)
    if not found.complete:
        errors.print(f"Only the newest {MOST_DECISIONS} decisions with suggestions were read.")


def _line(each: Suggestion) -> dict[str, Any]:
    newest = each.decisions[0] if each.decisions else {}
    return {
        "topic": each.topic,
        "count": each.count,
        "unanswered": each.unanswered,
        "newest": each.newest,
        "message_text": newest.get("message_text"),
        "decision_id": newest.get("id"),
        "decision_ids": [row["id"] for row in each.decisions],
    }
