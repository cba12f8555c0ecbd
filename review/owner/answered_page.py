"""The newest messages of an account that were answered, with the texts that were sent."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.audit.search import TooSlow
from db.audit.sent_replies import newest_replies
from db.connection import Connection
from db.reviews import queue_items
from db.rows import Row
from review.accounts.stored_versions import account_of_path
from review.content_covers import cover_reason
from review.http.visit import Visit

SHOWN: Final = 50
DAYS: Final = 7


async def show_answered(visit: Visit) -> Response:
    """The page."""
    account = account_of_path(visit)
    async with visit.store.reading() as connection:
        replies = await visible_replies(visit, connection, account, SHOWN)
    detail = {"page": "answered", "decisions": [str(row["id"]) for row in replies or ()]}
    await visit.log(LoggedAction.READ, user_id=account, detail=detail)
    return visit.render(
        "owner/answered.html",
        account=account,
        tab="account_answered",
        replies=with_covers(visit, replies),
    )


async def visible_replies(
    visit: Visit, connection: Connection, account: str, limit: int
) -> tuple[Row, ...] | None:
    """The newest replies of ``DAYS``, without answers to decisions that the person holds in a queue.

    None: they could not be read in time.
    """
    hidden = await queue_items.hidden_decisions(connection, visit.person.person_id)
    try:
        found = await newest_replies(connection, account, visit.now - timedelta(days=DAYS), limit)
    except TooSlow:
        return None
    return tuple(each for each in found if each["answered_by"] is None or each["id"] not in hidden)


def with_covers(visit: Visit, replies: tuple[Row, ...] | None) -> list[tuple[Row, tuple[str, ...]]] | None:
    """Each reply with the categories that the person chose to have covered."""
    return None if replies is None else [(row, cover_reason(visit.person.covered, row)) for row in replies]
