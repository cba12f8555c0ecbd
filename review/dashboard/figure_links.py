"""Links from a figure to its decisions."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from urllib.parse import urlencode

from review.dashboard.ranges import Range


def decisions_link(since: datetime, until: datetime, **filters: str | None) -> str:
    """The list of decisions of a period; filters as in ``review.lists.filters``, None omitted."""
    return f"/decisions?{_times(since, until)}{_chosen(tuple(filters.items()))}"


def range_link(chosen: Range, **filters: str | None) -> str:
    """The list of decisions of a whole range."""
    return decisions_link(chosen.since, chosen.until, **filters)


@lru_cache(maxsize=1024)
def _times(since: datetime, until: datetime) -> str:
    """Cached: a page repeats the same few times and filters in hundreds of links."""
    return urlencode({"since": _minute(since), "until": _minute(until)})


@lru_cache(maxsize=1024)
def _chosen(filters: tuple[tuple[str, str | None], ...]) -> str:
    chosen = [(name, value) for name, value in filters if value]
    return f"&{urlencode(chosen)}" if chosen else ""


def _minute(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
