"""Ways from a figure to the decisions behind it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from urllib.parse import urlencode

from review.figures.ranges import Range


def decisions(since: datetime, until: datetime, **filters: str | None) -> str:
    """The list of decisions of a time; filters as in ``review.lists.filters``, without those of None."""
    return f"/decisions?{_times(since, until)}{_chosen(tuple(filters.items()))}"


def of_range(chosen: Range, **filters: str | None) -> str:
    """The list of decisions of a whole range."""
    return decisions(chosen.since, chosen.until, **filters)


@lru_cache(maxsize=1024)
def _times(since: datetime, until: datetime) -> str:
    """The same few times and filters stand in hundreds of links of a page."""
    return urlencode({"since": _minute(since), "until": _minute(until)})


@lru_cache(maxsize=1024)
def _chosen(filters: tuple[tuple[str, str | None], ...]) -> str:
    chosen = [(name, value) for name, value in filters if value]
    return f"&{urlencode(chosen)}" if chosen else ""


def _minute(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
