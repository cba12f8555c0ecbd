"""The JSON face of the audit: the same lists, the same filters, the same rights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import orjson
from starlette.responses import Response

from db import audit, items
from db.access_log import Action
from db.audit import CursorRejected
from review.access import Right
from review.lists.filters import Asker, asked
from review.web import Refused, Visit

MOST: Final = 500
PAGE: Final = 50


async def listed(visit: Visit) -> Response:
    """``{"decisions": [...], "newer": cursor, "older": cursor, "searched_to": time}``.

    Parameters are the filters of the page, ``cursor`` and ``limit`` (1 to 500, 50 unless given).
    """
    parameters = visit.request.query_params
    pairs = [pair for pair in parameters.multi_items() if pair[0] not in ("cursor", "limit")]
    wanted = asked(pairs, Asker(now=visit.now, login=visit.person.login), visit.accounts(Right.VIEW))
    if wanted.problems:
        said = "; ".join(
            f"{each.field}: expected {each.expected}, got {each.got}" for each in wanted.problems
        )
        raise Refused(400, "A filter cannot be used", said)
    limit, cursor = _limit(parameters.get("limit", str(PAGE))), parameters.get("cursor") or None
    async with visit.store.reading() as connection:
        filters = await audit.unspoilt(connection, wanted.filters, visit.person.person_id)
        try:
            page = await audit.page(connection, filters, limit=limit, cursor=cursor)
        except CursorRejected as error:
            raise Refused(400, "The cursor cannot be used", str(error)) from error
        hidden = await items.hidden(connection, visit.person.person_id)
        standings = await audit.standings(connection, page.rows, hidden=hidden)
    action = Action.SEARCH if wanted.filters.text is not None else Action.LIST
    await visit.log(
        action,
        user_id=wanted.filters.about(),
        detail={"query": wanted.query(), "rows": len(page.rows), "api": True},
    )
    rows = [_plain(row) | {"review": standings.get(row["id"], "open")} for row in page.rows]
    body = {"decisions": rows, "newer": page.newer, "older": page.older, "searched_to": page.searched_to}
    return _json(body)


async def one(visit: Visit) -> Response:
    """A decision with its snapshot, its reply and where it stands with its reviewers."""
    nothing = Refused(404, "Not found", "There is no such decision, or you may not see it.")
    try:
        decision_id = UUID(visit.request.path_params["decision_id"])
    except ValueError as error:
        raise nothing from error
    async with visit.store.reading() as connection:
        row = await audit.one(connection, decision_id)
        if row is None or not visit.may(Right.VIEW, row["user_id"]):
            raise nothing
        hidden = await items.hidden(connection, visit.person.person_id)
        standings = await audit.standings(connection, [row], hidden=hidden)
    await visit.log(Action.READ, user_id=row["user_id"], decision_id=decision_id, detail={"api": True})
    return _json(_plain(row) | {"review": standings.get(decision_id, "open")})


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in row.items()}  # SQLAlchemy's names are a kind of str


def _limit(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= MOST:
        return int(text)
    raise Refused(400, "The limit cannot be used", f"limit: expected 1 to {MOST}, got {text[:20]!r}")


def _json(body: Mapping[str, Any]) -> Response:
    return Response(
        orjson.dumps(body, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS), media_type="application/json"
    )
