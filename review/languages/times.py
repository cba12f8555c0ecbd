"""Times for readers: relative, or short in their zone, always with the exact time beside it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from babel.dates import format_datetime, format_timedelta
from markupsafe import Markup

from review.languages import gettext as _
from review.languages.reader import PageReader, reader

DAY: Final = timedelta(days=1)
NOW: Final = timedelta(seconds=45)
NO_TIME: Final = Markup("–")
PATTERNS: Final[Mapping[str, Mapping[str, str]]] = {
    "en_GB": {
        "clock": "HH:mm",
        "short": "d MMM, HH:mm",
        "year": "d MMM y, HH:mm",
        "exact": "d MMM y, HH:mm:ss",
    },
    "vi": {"clock": "HH:mm", "short": "HH:mm d/M", "year": "HH:mm d/M/y", "exact": "HH:mm:ss d/M/y"},
}
"""CLDR patterns by locale: of this year, of other years, to the second."""


def load_formats() -> None:
    """Load the data of every locale, so that no request waits for it."""
    for locale in PATTERNS:
        _distance(-1, locale)
        _formatted(datetime(2026, 1, 1), "year", locale)  # noqa: DTZ001  # local time, as _short passes it


def time_element(moment: datetime | None) -> Markup:
    """A time as a reader needs it in a list: ``4 min ago``; after a day ``21 Nov, 14:03``."""
    return NO_TIME if moment is None else _element(moment, relative=True)


def exact_time_element(moment: datetime | None) -> Markup:
    """A time in UTC to the second, for logs that are compared with other systems."""
    if moment is None:
        return NO_TIME
    at = moment.astimezone(UTC)
    shown = f'<time datetime="{at.isoformat()}">{at:%Y-%m-%d %H:%M:%S}</time>'
    return Markup(shown)  # noqa: S704  # digits and punctuation of a time


def clock_time_element(moment: datetime | None) -> Markup:
    """A clock time in the reader's zone, correct while the page is open; ``21 Nov, 14:03`` on another day."""
    return NO_TIME if moment is None else _element(moment, relative=False)


def _element(moment: datetime, *, relative: bool) -> Markup:
    at, seen_by = moment.astimezone(UTC), reader.get()
    shown = _relative(at, seen_by) if relative else ""
    exact = f"{_exact(at, seen_by)} {_zone_name(at, seen_by)}"
    text = shown or (_short(at, seen_by) if relative else _clock(at, seen_by))
    found = f'<time datetime="{at.isoformat()}" title="{exact}">{text}</time>'
    return Markup(found)  # noqa: S704  # digits, and words of Babel and of the catalogue; a list has fifty


def _relative(at: datetime, seen_by: PageReader) -> str:
    """The distance from now within a day; empty beyond, and where no request has a present time."""
    if seen_by.now is None:
        return ""
    since = at - seen_by.now
    if abs(since) >= DAY:
        return ""
    if abs(since) < NOW:
        return _("just now") if since <= timedelta() else _("in a moment")
    return _distance(round(since.total_seconds() / 60), seen_by.locale)


@lru_cache(maxsize=8192)
def _distance(minutes: int, locale: str) -> str:
    since = timedelta(minutes=minutes)
    return format_timedelta(
        since, granularity="minute", threshold=1.5, add_direction=True, format="short", locale=locale
    )


def _clock(moment: datetime, seen_by: PageReader) -> str:
    local = moment.astimezone(seen_by.zone)
    if seen_by.now is None or local.date() != seen_by.now.astimezone(seen_by.zone).date():
        return _short(moment, seen_by)
    return f"{local:%H:%M}"


def _short(moment: datetime, seen_by: PageReader) -> str:
    local = moment.astimezone(seen_by.zone)
    same_year = seen_by.now is not None and local.year == seen_by.now.astimezone(seen_by.zone).year
    cut = local.replace(second=0, microsecond=0, tzinfo=None)
    return _formatted(cut, "short" if same_year else "year", seen_by.locale)


def _exact(moment: datetime, seen_by: PageReader) -> str:
    local = moment.astimezone(seen_by.zone)
    return _formatted(local.replace(microsecond=0, tzinfo=None), "exact", seen_by.locale)


@lru_cache(maxsize=8192)
def _formatted(local: datetime, name: str, locale: str) -> str:
    return format_datetime(local, PATTERNS[locale][name], locale=locale)


def _zone_name(moment: datetime, seen_by: PageReader) -> str:
    offset = moment.astimezone(seen_by.zone).utcoffset() or timedelta()
    return _offset_name(offset)


@lru_cache(maxsize=64)
def _offset_name(offset: timedelta) -> str:
    """``UTC`` or ``UTC+7``: understood everywhere, while ``ICT`` or ``EST`` are not."""
    minutes = round(offset.total_seconds() / 60)
    if not minutes:
        return "UTC"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'+' if minutes > 0 else '−'}{hours}" + (f":{rest:02}" if rest else "")
