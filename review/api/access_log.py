"""The access log as JSON, for auditors' tools."""

from __future__ import annotations

import orjson
from starlette.responses import Response

from review.access_log import filters
from review.access_log.page import load_lines
from review.http.visit import Visit


async def list_entries(visit: Visit) -> Response:
    """The newest lines, with the filters of the page."""
    lines, more = await load_lines(visit)
    body = {
        "lines": lines,
        "older": filters.next_cursor(lines[-1]) if more else None,
    }
    return Response(orjson.dumps(body), media_type="application/json")
