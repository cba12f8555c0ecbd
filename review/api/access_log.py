"""The access log as JSON, for auditors' own tools."""

from __future__ import annotations

from dataclasses import asdict

import orjson
from starlette.responses import Response

from review.lists import log_filters
from review.pages.access_log import lines_of
from review.web import Visit


async def listed(visit: Visit) -> Response:
    """The newest lines, by the same filters as the page."""
    lines, more = await lines_of(visit)
    body = {
        "lines": [asdict(line) for line in lines],
        "older": log_filters.cursor(lines[-1]) if more else None,
    }
    return Response(orjson.dumps(body), media_type="application/json")
