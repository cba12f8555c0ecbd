"""Ways from a figure to the decisions behind it."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import urlencode

from review.figures.ranges import Range


def decisions(since: datetime, until: datetime, **filters: str | None) -> str:
    """The list of decisions of a time; filters as in ``review.lists.filters``, without those of None."""
    times = {"since": _minute(since), "until": _minute(until)}
    chosen = {name: value for name, value in filters.items() if value}
    return "/decisions?" + urlencode(times | chosen)


def of_range(chosen: Range, **filters: str | None) -> str:
    """The list of decisions of a whole range."""
    return decisions(chosen.since, chosen.until, **filters)


def _minute(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
