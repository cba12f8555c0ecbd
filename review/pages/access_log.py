"""Who read and did what, for auditors; reading this is written down too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from db import access_log
from db.access_log import Action, Line
from review.lists import log_filters, log_words
from review.lists.log_filters import BadFilter
from review.web import Visit

PAGE: Final = 100


async def listed(visit: Visit) -> Response:
    """The newest lines, by filter."""
    query = {
        name: visit.request.query_params.get(name, "")[: log_filters.TEXT_CHARS]
        for name in log_filters.FIELDS
    }
    try:
        lines, more = await lines_of(visit)
    except BadFilter as bad:
        return _page(visit, query, status=400, problem=bad.text)
    kept = {name: value for name, value in query.items() if value}
    older = urlencode(kept | {"cursor": log_filters.cursor(lines[-1])}) if more else ""
    return _page(visit, query, lines=lines, older=older)


def _page(
    visit: Visit,
    query: Mapping[str, str],
    *,
    status: int = 200,
    problem: str = "",
    lines: tuple[Line, ...] = (),
    older: str = "",
) -> Response:
    return visit.render(
        "access_log.html",
        status=status,
        problem=problem,
        lines=[(line, log_words.action(line.action), log_words.detail(line.detail)) for line in lines],
        query=query,
        actions=log_words.ACTIONS,
        older=older,
    )


async def lines_of(visit: Visit) -> tuple[tuple[Line, ...], bool]:
    """A page of lines and whether there are older ones; in the log from now on."""
    wanted = log_filters.wanted(visit)
    async with visit.store.writing() as connection:
        found = await access_log.lines(connection, wanted, limit=PAGE + 1)
        asked = {name: visit.request.query_params.get(name) for name in log_filters.FIELDS}
        detail = {name: value for name, value in asked.items() if value} | {"lines": min(len(found), PAGE)}
        entry = visit.entry(Action.AUDIT, user_id=wanted.user_id or None, detail=detail)
        await access_log.add(connection, entry)
    return found[:PAGE], len(found) > PAGE
