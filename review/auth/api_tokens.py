"""API tokens: the person of one, and the page where people make them, see them once, and revoke them."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response
from uuid_utils.compat import uuid7

from db.access_log import LoggedAction
from db.connection import Connection
from db.people import api_tokens
from db.people.api_tokens import TokenScope, UsedToken
from db.people.records import Person
from review.access import SCOPE_TEXTS
from review.auth.credentials import NAME_CHARS
from review.auth.session_start import require_session
from review.http.numbers import whole_number
from review.http.visit import Refused, Visit
from review.typed.problems import button_problem, choice_problem, length_problem, range_problem

PREFIX: Final = "hg_"
"""Secret scanners recognise a leaked token by it."""
SHOWN_CHARS: Final = 9
MOST_DAYS: Final = 365
TOKEN_FIRST: Final = Refused(401, "No API token", "Expected the header Authorization: Bearer hg_...")


async def token_person(visit: Visit, header: str) -> tuple[UsedToken, Person]:
    """The API token in the header, and its owner; 401 unless it is valid and its owner may sign in."""
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.startswith(PREFIX):
        raise TOKEN_FIRST
    async with visit.store.autocommit() as connection:
        found = await visit.site.use_token(connection, token.strip(), visit.now)
    if found is None or found[1].disabled:
        raise Refused(401, "The API token does not work", "It was revoked, has expired or never existed.")
    return found


async def show_tokens(visit: Visit, new: str = "") -> Response:
    """The API tokens: a new token whole, of the others the beginning."""
    async with visit.store.reading() as connection:
        found = await api_tokens.list_tokens(connection, visit.person.person_id)
    return visit.render(
        "tokens.html", tokens=found, new=new, most_days=MOST_DAYS, now=visit.now, scopes=SCOPE_TEXTS
    )


async def add_token(visit: Visit) -> Response:
    """Make an API token and show it once."""
    name, days = visit.field("name").strip(), whole_number(visit.field("days"))
    scopes = _scopes(visit)
    if not name or len(name) > NAME_CHARS or not name.isprintable():
        raise Refused(400, "Name", length_problem(NAME_CHARS))
    if not days or days > MOST_DAYS:
        raise Refused(400, "Days", range_problem("1", str(MOST_DAYS)))
    fail_open = bool(visit.field("fail_open"))
    if fail_open and TokenScope.CHECK not in scopes:
        raise Refused(400, "Scopes", choice_problem((TokenScope.CHECK,), ", ".join(sorted(scopes))))
    token = await make_token(visit, name=name, days=days, scopes=scopes, fail_open=fail_open)
    return await show_tokens(visit, new=token)


async def make_token(
    visit: Visit, *, name: str, days: int, scopes: frozenset[TokenScope], fail_open: bool = False
) -> str:
    """A new API token of the person; it is stored as a hash."""
    async with visit.store.writing() as connection:
        await require_session(visit, connection)
        token, detail = await store_new_token(
            connection,
            visit.person.person_id,
            name=name,
            lasts=timedelta(days=days),
            scopes=scopes,
            fail_open=fail_open,
            now=visit.now,
        )
        await visit.log(LoggedAction.TOKEN, connection=connection, detail=detail)
    return token


async def store_new_token(
    connection: Connection,
    person_id: UUID,
    *,
    name: str,
    lasts: timedelta,
    scopes: Collection[TokenScope],
    now: datetime,
    fail_open: bool = False,
) -> tuple[str, dict[str, Any]]:
    """A new API token, of which a hash is stored, and the detail of its line in the access log."""
    token = PREFIX + secrets.token_urlsafe(32)
    prefix = token[:SHOWN_CHARS]
    await api_tokens.store_token(
        connection,
        uuid7(),
        person_id,
        token,
        name=name,
        prefix=prefix,
        scopes=scopes,
        now=now,
        expires_at=now + lasts,
        fail_open=fail_open,
    )
    detail: dict[str, Any] = {
        "changed": "made",
        "prefix": prefix,
        "days": lasts.days,
        "scopes": sorted(scopes),
    }
    return token, detail | ({"fail_open": True} if fail_open else {})


def _scopes(visit: Visit) -> frozenset[TokenScope]:
    """The chosen scopes; reading when the form has none."""
    chosen = [str(each) for each in visit.form.getlist("scope")]
    if unknown := [each for each in chosen if each not in set(TokenScope)]:
        raise Refused(400, "Scopes", choice_problem(TokenScope, unknown[0]))
    return frozenset(map(TokenScope, chosen)) or frozenset({TokenScope.READ})


async def revoke_token(visit: Visit) -> Response:
    """Revoke an API token of the person."""
    if (token_id := visit.field_id("token_id")) is None:
        raise Refused(400, "API token", button_problem())
    async with visit.store.writing() as connection:
        done = await api_tokens.revoke_token(connection, visit.person.person_id, token_id, now=visit.now)
        detail = {"changed": "revoked", "token_id": str(token_id)}
        await visit.log(LoggedAction.TOKEN, connection=connection, detail=detail)
    if not done:
        raise Refused(404, "No such API token", "You have no such API token, or it was revoked already.")
    return visit.redirect("tokens")
