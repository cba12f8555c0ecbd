"""Switching automatic answers on, after a look at what would have happened to the newest drafts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.answers.held import SENT_WITHOUT_APPROVAL, newest_drafts
from db.reviews import queue_items
from review.access import Right
from review.accounts.account_changes import change_warnings
from review.accounts.rule_texts import version_in
from review.accounts.stored_versions import store_change, version_in_force
from review.content_covers import cover_reason
from review.http.visit import Visit
from worker.model import Account, ReplyMode

SHOWN: Final = 20
SINCE: Final = timedelta(days=30)


async def switch_on(visit: Visit) -> Response:
    """Send answers without approval from now on."""
    stored = await version_in_force(visit)
    if version_in(visit.form) != stored.account.version:
        return await show_automatic(visit, moved=True, status=409)
    answer = await store_change(
        visit, stored.account, _automatic(stored.account), LoggedAction.SETTINGS, page="settings"
    )
    return answer or await show_automatic(visit, moved=True, status=409)


def _automatic(account: Account) -> Account:
    return replace(account, reply_mode=ReplyMode.AUTO, auto_from_confidence=None)


async def show_automatic(visit: Visit, *, moved: bool = False, status: int = 200) -> Response:
    """The newest drafts: which would have been sent, and why the others would not."""
    stored = await version_in_force(visit)
    account = stored.account
    is_on = account.reply_mode is ReplyMode.AUTO
    async with visit.store.reading() as connection:
        limit = 0 if is_on else SHOWN
        rows = await newest_drafts(connection, account.user_id, now=visit.now, since=SINCE, limit=limit)
        hidden = await queue_items.hidden_decisions(connection, visit.person.person_id)
    reads, covered = visit.may(Right.REVIEW, account.user_id), visit.person.covered
    drafts = [(row, cover_reason(covered, row), reads and row["id"] not in hidden) for row in rows]
    shown = [str(row["id"]) for row, cover, _may_read in drafts if not cover]
    read = sum(1 for _row, cover, may_read in drafts if may_read and not cover)
    detail = {"page": "automatic", "decisions": shown, "drafts": read}
    await visit.log(LoggedAction.READ, user_id=account.user_id, detail=detail)
    return visit.render(
        "owner/automatic.html",
        status=status,
        account=account.user_id,
        stored=stored,
        is_on=is_on,
        drafts=drafts,
        sent=sum(1 for row in rows if row["reason_code"] == SENT_WITHOUT_APPROVAL),
        would_be_sent=SENT_WITHOUT_APPROVAL,
        risks=change_warnings(account, _automatic(account)),
        moved=moved,
        tab="settings",
    )
