"""The accounts a person may see, each with its state; new ones."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from db import account_versions
from db import accounts as stored_accounts
from db.access_log import Action
from db.people import EVERY_ACCOUNT
from review.access import Right
from review.pages.rules import NAME_CHARS
from review.web import Refused, Visit
from worker.model import Account

PAGE_ACCOUNTS: Final = 50


async def listed(visit: Visit) -> Response:
    """Accounts by name."""
    asked = visit.request.query_params
    search, after = asked.get("q", "")[:NAME_CHARS], asked.get("after", "")[:NAME_CHARS]
    found = await account_versions.listed(
        visit.store.pool, visit.accounts(), search=search, after=after, limit=PAGE_ACCOUNTS + 1
    )
    more = (
        urlencode({"q": search, "after": found[PAGE_ACCOUNTS - 1].user_id}) if found[PAGE_ACCOUNTS:] else ""
    )
    return visit.render(
        "accounts.html",
        found=found[:PAGE_ACCOUNTS],
        search=search,
        after=after,
        more=more,
        may_add=visit.accounts(Right.ADMIN) is None or bool(visit.accounts(Right.ADMIN)),
    )


async def add(visit: Visit) -> Response:
    """Give an account its first version: all switches off."""
    user_id = str(visit.form.get("user_id", "")).strip()
    usable = (
        0 < len(user_id) <= NAME_CHARS and user_id.isprintable() and user_id not in {EVERY_ACCOUNT, ".", ".."}
    )
    if not usable:
        raise Refused(
            400,
            "Not an account",
            f"user_id: expected 1 to {NAME_CHARS} printable characters, not * or dots, got {user_id[:40]!r}.",
        )
    if not visit.may(Right.ADMIN, user_id):
        raise Refused(403, "Not allowed", f"You are no admin of {user_id}, so you cannot set it up.")
    try:
        await stored_accounts.store(
            visit.store.pool,
            Account(user_id=user_id, version=0),
            changed_by=visit.person.login,
            expected=0,
            logged=lambda version: visit.entry(
                Action.SETTINGS, user_id=user_id, detail={"version": version, "from": 0}
            ),
        )
    except stored_accounts.VersionMoved:
        return visit.redirect("settings", account=user_id)
    return visit.redirect("settings", "new=1", account=user_id)
