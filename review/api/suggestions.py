"""Learning suggestions as JSON: the same topics and rights as on the page of an account."""

from __future__ import annotations

import orjson
from starlette.responses import Response

from review.accounts.suggestions_page import load_visible_suggestions, parse_suggestion_range
from review.figures.ranges import BadRange
from review.http.visit import Refused, Visit


async def list_suggestions(visit: Visit) -> Response:
    """The topics of a range, of one account or of all that the person may see.

    Raises:
        Refused: 422, an unusable range; 404, an account that the person may not see.
    """
    parameters = visit.request.query_params
    user_id = parameters.get("account") or None
    try:
        chosen = parse_suggestion_range(visit, parameters)
    except BadRange as bad:
        raise Refused(422, "Not a range", str(bad)) from bad
    found = await load_visible_suggestions(visit, user_id, chosen)
    body = {
        "account": user_id,
        "since": chosen.since,
        "until": chosen.until,
        "decisions": found.decisions,
        "complete": found.complete,
        "suggestions": [
            {
                "topic": each.topic,
                "key": each.key,
                "count": each.count,
                "unanswered": each.unanswered,
                "newest": each.newest,
                "examples": [row["id"] for row in each.decisions],
            }
            for each in found.topics
        ],
    }
    return Response(orjson.dumps(body, option=orjson.OPT_UTC_Z), media_type="application/json")
