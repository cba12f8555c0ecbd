"""Time ranges of figures: whole hours, divided into steps; and links to the decisions of a range."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from urllib.parse import urlencode

from review.languages import gettext as _
from review.languages import mark
from review.typed.moments import moment

HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
WEEK: Final = 7 * DAY
LONGEST: Final = 366 * DAY
NAMED: Final = {"24h": (DAY, HOUR), "7d": (7 * DAY, 6 * HOUR), "30d": (30 * DAY, DAY)}
"""Name -> length and step."""
DEFAULT: Final = "24h"
MONTH: Final = "30d"
"""The default of pages on reviews and suggestions, of which a day has few."""
STEPS: Final = ((2 * DAY, HOUR), (10 * DAY, 6 * HOUR), (92 * DAY, DAY), (LONGEST, 7 * DAY))
"""Longest range of each step, for ranges that are not named."""
AGAINST: Final = ("before", "week")
"""What a range is compared with: the range before it, or the same time a week earlier."""
TITLES: Final = {
    "24h": mark("24 hours"),
    "7d": mark("7 days"),
    "30d": mark("30 days"),
    "custom": mark("From and until"),
}


class BadRange(Exception):
    """A range that cannot be used: field, expectation, what came."""


def not_of_list(field: str, known: Iterable[str], got: str) -> str:
    """The problem of a field with an unknown value."""
    problem = _("%(field)s: expected one of %(known)s, got %(got)s")
    return problem % {"field": field, "known": ", ".join(known), "got": repr(got[:40])}


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A time range.

    Attributes:
        name: ``24h``, ``7d``, ``30d`` or ``custom``.
        since: a whole step, UTC.
        until: now, or a whole hour in the past.
        step: how long a bar is.
        back: offset of the range it is compared with: whole steps, at least as long as the range.
        against: one of ``AGAINST``.
    """

    name: str
    since: datetime
    until: datetime
    step: timedelta
    back: timedelta
    against: str = "before"

    @property
    def query(self) -> dict[str, str]:
        """The URL parameters of the range; a named range moves with the time."""
        query = {"range": self.name} | ({} if self.against == AGAINST[0] else {"against": self.against})
        if self.name != "custom":
            return query
        times = {"since": self.since, "until": self.until}
        return query | {name: f"{at:%Y-%m-%dT%H:%M}" for name, at in times.items()}

    @property
    def steps(self) -> tuple[datetime, ...]:
        """The start of every bar."""
        return tuple(
            self.since + number * self.step for number in range(-((self.since - self.until) // self.step))
        )


def parse_range(parameters: Mapping[str, str], now: datetime, *, default: str = DEFAULT) -> Range:
    """The range in a URL's ``range``, ``since`` and ``until``; without these the range ``default``.

    Raises:
        BadRange: one of them is not usable.
    """
    against = parameters.get("against") or AGAINST[0]
    if against not in AGAINST:
        raise BadRange(not_of_list("against", AGAINST, against))
    chosen = _parse_range(parameters, now, default)
    is_week = against == "week" and chosen.back <= WEEK
    return replace(chosen, back=WEEK, against=against) if is_week else chosen


def chosen_range(parameters: Mapping[str, str], now: datetime) -> tuple[Range, str]:
    """The range of a URL, by default ``MONTH``; also with the problem of an unusable one."""
    values = {name: value.strip() for name, value in parameters.items() if value.strip()}
    try:
        return parse_range(values, now, default=MONTH), ""
    except BadRange as bad:
        return parse_range({}, now, default=MONTH), str(bad)


def _parse_range(parameters: Mapping[str, str], now: datetime, default: str) -> Range:
    name = parameters.get("range") or ("custom" if parameters.get("since") else default)
    if name == "custom":
        return _custom_range(parameters, now)
    if name not in NAMED:
        raise BadRange(not_of_list("range", TITLES, name))
    length, step = NAMED[name]
    return Range(name=name, since=_floor(now, step) + step - length, until=now, step=step, back=length)


def _custom_range(parameters: Mapping[str, str], now: datetime) -> Range:
    since = _parse_time(parameters, "since", now)
    until = _parse_time(parameters, "until", now) if parameters.get("until") else now
    if until <= since:
        problem = _("until: expected a time after %(since)s UTC, got %(until)s")
        raise BadRange(problem % {"since": f"{since:%Y-%m-%d %H:%M}", "until": f"{until:%Y-%m-%d %H:%M}"})
    if since >= now:
        problem = _("since: expected a time in the past, got %(since)s UTC")
        raise BadRange(problem % {"since": f"{since:%Y-%m-%d %H:%M}"})
    if until - since > LONGEST:
        problem = _("since: expected at most %(most)s days before the end, got %(days)s")
        raise BadRange(problem % {"most": LONGEST.days, "days": (until - since).days})
    step = next(step for longest, step in STEPS if until - since <= longest)
    since = _floor(since, min(step, DAY))
    until = min(now, _floor(until - timedelta(microseconds=1), HOUR) + HOUR)
    return Range(name="custom", since=since, until=until, step=step, back=-((since - until) // step) * step)


def _parse_time(parameters: Mapping[str, str], name: str, now: datetime) -> datetime:
    text = parameters.get(name, "")
    try:
        return moment(text, now)
    except ValueError as error:
        problem = _("%(field)s: expected a time such as 2026-11-21T10:00, or an age such as 36h, got %(got)s")
        raise BadRange(problem % {"field": name, "got": repr(text[:40])}) from error


def _floor(at: datetime, step: timedelta) -> datetime:
    """The last whole step of a day before a moment, UTC."""
    midnight = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + (at - midnight) // step * step


def decisions_link(since: datetime, until: datetime, **filters: str | None) -> str:
    """The list of decisions of a period; filters as in ``review.lists.filters``, None omitted."""
    return f"/decisions?{_times(since, until)}{_chosen(tuple(filters.items()))}"


def range_link(chosen: Range, **filters: str | None) -> str:
    """The list of decisions of a whole range."""
    return decisions_link(chosen.since, chosen.until, **filters)


@lru_cache(maxsize=1024)
def _times(since: datetime, until: datetime) -> str:
    """Cached: a page repeats the same few times and filters in hundreds of links."""
    times = {"since": since, "until": until}
    return urlencode({name: f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" for name, at in times.items()})


@lru_cache(maxsize=1024)
def _chosen(filters: tuple[tuple[str, str | None], ...]) -> str:
    chosen = [(name, value) for name, value in filters if value]
    return f"&{urlencode(chosen)}" if chosen else ""
