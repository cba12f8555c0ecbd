"""Makes links that sign one person in, once."""

from __future__ import annotations

from datetime import datetime

from db import access_log
from db.access_log import LogEntry, LoggedAction
from db.people import records, sign_ins
from db.review_store import Store
from review.http.visit import new_token


async def new_sign_in_link(
    store: Store, login: str, *, review_url: str, now: datetime, made_by: str
) -> str | None:
    """A URL that signs this person in, once, within 15 minutes; None without such a person."""
    token = new_token()
    async with store.writing() as connection:
        found = await records.get_credentials(connection, login)
        if found is None or found.person.disabled:
            return None
        await sign_ins.add_link(connection, token, found.person.person_id, now=now)
        detail = {"changed": "sign-in link", "login": found.person.login}
        line = LogEntry(action=LoggedAction.PEOPLE, person=made_by, detail=detail)
        await access_log.append_entries_for_accounts(connection, line, found.person.accounts)
    return f"{review_url.rstrip('/')}/sign-in/link?token={token}"
