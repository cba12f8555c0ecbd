"""Ways from a figure to the decisions behind it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from urllib.parse import urlencode

from review.figures.ranges import Range


def decisions(since: datetime, until: datetime, **filters: str | None) -> str:
    """The list of decisions of a time; filters as in ``review.lists.filters``, without those of None."""
    chosen = [(name, value) for name, value in filters.items() if value]
    return "&".join(("/decisions?" + _times(since, until), *([urlencode(chosen)] if chosen else ())))


def of_range(chosen: Range, **filters: str | None) -> str:
    """The list of decisions of a whole range."""
    return decisions(chosen.since, chosen.until, **filters)


@lru_cache(maxsize=1024)
def _times(since: datetime, until: datetime) -> str:
    """The same few times stand in a thousand links of a page."""
    return urlencode({"since": _minute(since), "until": _minute(until)})


def _minute(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
