"""Links that sign one person in, once."""

from __future__ import annotations

from datetime import datetime

from db import access_log, people, sign_ins
from db.access_log import Action, Entry
from db.review_store import Store
from review.web import new_token


async def sign_in_link(
    store: Store, login: str, *, review_url: str, now: datetime, made_by: str
) -> str | None:
    """An address that signs this person in, once, within a quarter of an hour; None without such a person."""
    token = new_token()
    async with store.writing() as connection:
        found = await people.by_login(connection, login)
        if found is None or found.person.disabled:
            return None
        await sign_ins.add_link(connection, token, found.person.person_id, now=now)
        detail = {"changed": "sign-in link", "login": found.person.login}
        line = Entry(action=Action.PEOPLE, person=made_by, detail=detail)
        await access_log.add_for(connection, line, found.person.accounts)
    return f"{review_url.rstrip('/')}/sign-in/link?token={token}"
