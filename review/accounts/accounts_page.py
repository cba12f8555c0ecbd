"""The list of accounts that a person may see, and setting up an account."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from db.access_log import LoggedAction
from db.account_settings import account_versions
from db.account_settings import accounts as stored_accounts
from review.access import Right
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from worker.payload import ACCOUNT_CHARS, is_account_name
from worker.presets import new_account

PAGE_ACCOUNTS: Final = 50


async def list_accounts(visit: Visit) -> Response:
    """Accounts by name."""
    query = visit.request.query_params
    search, after = query.get("q", "")[:ACCOUNT_CHARS], query.get("after", "")[:ACCOUNT_CHARS]
    found = await account_versions.list_accounts(
        visit.store.pool, visit.accounts(), search=search, after=after, limit=PAGE_ACCOUNTS + 1
    )
    next_page = {"q": search, "after": found[PAGE_ACCOUNTS - 1].user_id} if found[PAGE_ACCOUNTS:] else {}
    return visit.render(
        "accounts.html",
        found=found[:PAGE_ACCOUNTS],
        search=search,
        after=after,
        more=urlencode(next_page),
        may_add=visit.may(Right.ADMIN),
    )


async def add_account(visit: Visit) -> Response:
    """Give an account its first version: the AI drafts answers, and people approve them."""
    user_id = visit.field("user_id").strip()
    if not is_account_name(user_id):
        text = _("Write 1 to %(most)s characters, not * or dots alone, instead of %(got)s.")
        raise Refused(400, "Not an account", text % {"most": ACCOUNT_CHARS, "got": repr(user_id[:40])})
    if not visit.may(Right.ADMIN, user_id):
        text = _("You are not an administrator of %(account)s, so you cannot set it up.")
        raise Refused(403, "Not allowed", text % {"account": user_id})
    try:
        await stored_accounts.store_account(
            visit.store.pool,
            new_account(user_id),
            changed_by=visit.person.login,
            expected=0,
            logged=lambda version: visit.entry(
                LoggedAction.SETTINGS, user_id=user_id, detail={"version": version, "from": 0}
            ),
        )
    except stored_accounts.VersionMoved:
        return visit.redirect("settings", account=user_id)
    return visit.redirect("settings", "new=1", account=user_id)
