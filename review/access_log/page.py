"""The access log for auditors; reading it is logged, too."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from db import access_log
from db.access_log import LoggedAction, LogLine
from review.access_log import filters
from review.access_log.filters import BadLogFilter
from review.http.visit import Visit
from review.words import access_log as wording

PAGE: Final = 100


async def list_lines(visit: Visit) -> Response:
    """The newest lines that match the filters."""
    query = {name: visit.request.query_params.get(name, "")[: filters.TEXT_CHARS] for name in filters.FIELDS}
    lines: tuple[LogLine, ...] = ()
    problem = older = ""
    try:
        lines, more = await load_lines(visit)
    except BadLogFilter as bad:
        problem, more = bad.text, False
    if more:
        filled = {name: value for name, value in query.items() if value}
        older = urlencode(filled | {"cursor": filters.next_cursor(lines[-1])})
    return visit.render(
        "access_log.html",
        status=400 if problem else 200,
        problem=problem,
        lines=[
            (line, wording.action_wording(line.action), wording.detail_wording(line.detail)) for line in lines
        ],
        query=query,
        actions=wording.ACTIONS,
        older=older,
    )


async def load_lines(visit: Visit) -> tuple[tuple[LogLine, ...], bool]:
    """A page of lines and whether there are older ones; the read is logged."""
    log_filter = filters.parse_log_filters(visit)
    async with visit.store.writing() as connection:
        found = await access_log.list_lines(connection, log_filter, limit=PAGE + 1)
        given = {name: visit.request.query_params.get(name) for name in filters.FIELDS}
        detail = {name: value for name, value in given.items() if value} | {"lines": min(len(found), PAGE)}
        user_id = log_filter.user_id or None
        await visit.log(LoggedAction.AUDIT, connection=connection, user_id=user_id, detail=detail)
    return found[:PAGE], len(found) > PAGE
