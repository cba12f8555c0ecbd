"""Axes: a few marks at round numbers; a share with its interval, drawn for a table cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from babel.dates import format_datetime
from markupsafe import Markup

from review.charts.svg import decoration, share, tag
from review.languages import gettext as _
from review.languages import mark
from review.languages.numbers import localized
from review.languages.reader import reader
from worker.statistics.shares import Share

DAY: Final = timedelta(days=1)
UNITS: Final = (
    ("ms", 1.0, 999.5),
    ("s", 1000.0, 59_950.0),
    ("min", 60_000.0, 3_597_000.0),
    ("h", 3_600_000.0, 86_000_000.0),
    ("d", 86_400_000.0, math.inf),
)
"""Name, milliseconds, and up to how many milliseconds it is used."""
UNIT_WORDS: Final[Mapping[str, str]] = {
    "ms": mark("%(ms)s ms"),
    "s": mark("%(s)s s"),
    "min": mark("%(min)s min"),
    "h": mark("%(h)s h"),
    "d": mark("%(d)s d"),
}
MOST_APART: Final = 4
"""Of more names, one at an edge of a plot, which is written inwards, would cover its neighbour."""
DAY_PATTERNS: Final[Mapping[str, str]] = {"en_GB": "d MMM", "vi": "d/M"}
"""CLDR patterns of a day by locale."""


def ticks(top: float, *, most: int = 4, least: float = 0.0) -> tuple[float, ...]:
    """Marks from 0 to at least ``top``, in whole steps of 1, 2 or 5 times a power of ten.

    ``least`` is the smallest step: 1 for counts.
    """
    if top <= 0:
        return (0.0, 1.0)
    rough = max(top / most, least)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * each for each in (1, 2, 5, 10) if power * each >= rough * (1 - 1e-9))
    return tuple(round(step * number, 12) for number in range(math.ceil(top / step - 1e-9) + 1))


def log_ticks(low: float, high: float, *, most: int = 5) -> tuple[float, ...]:
    """Marks at 1, 2 and 5 times powers of ten, or fewer, from below ``low`` to above ``high``, both > 0."""
    found: tuple[float, ...] = ()
    for steps in ((1, 2, 5), (1, 3), (1,)):
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        marks = sorted(step * 10.0**power for power in powers for step in steps)
        first = max((place for place, mark in enumerate(marks) if mark <= low * (1 + 1e-9)), default=0)
        last = min(place for place, mark in enumerate(marks) if mark >= high * (1 - 1e-9))
        found = tuple(marks[first : max(last, first + 1) + 1])
        if len(found) <= most + 1:
            break
    return found


def duration(ms: float) -> str:
    """A duration with its unit: 180 ms, 1.4 s, 12 min, 3.5 h."""
    unit, size, _most = next(each for each in UNITS if ms < each[2])
    value = ms / size
    shown = f"{value:.1f}".removesuffix(".0") if value < 9.95 else f"{value:.0f}"
    return _(UNIT_WORDS[unit]) % {unit: localized(shown)}


def compact(number: float) -> str:
    """A number for an axis: 900, 1.5k, 20k, 3M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return localized(f"{number / size:g}{letter}")
    return localized(f"{number:g}")


def span(start: datetime, step: timedelta) -> str:
    """A step of time in full: 22 Nov 09:00-10:00, or its days."""
    start = start.astimezone(UTC)
    if step % DAY == timedelta(0):
        last = start + step - DAY
        if step == DAY:
            return day(start)
        return _("%(first)s to %(last)s") % {"first": day(start), "last": day(last)}
    return f"{day(start)} {start:%H:%M}\N{EN DASH}{start + step:%H:%M}"


def day(moment: datetime) -> str:
    """A day without its year, in the reader's language."""
    return _day(moment.replace(hour=0, minute=0, second=0, microsecond=0), reader.get().locale)


@lru_cache(maxsize=4096)
def _day(moment: datetime, locale: str) -> str:
    return format_datetime(moment, DAY_PATTERNS[locale], locale=locale)


def time_marks(starts: Sequence[datetime], *, most: int = 6) -> tuple[tuple[int, str], ...]:
    """The named steps below a plot: days where there are several, else hours."""
    if not starts:
        return ()
    midnights = [place for place, each in enumerate(starts) if each.hour == 0]
    hourly = len(midnights) <= 2 and len(starts) > len(midnights)
    places = [p for p, each in enumerate(starts) if each.hour % 4 == 0] if hourly else midnights
    places = places or list(range(len(starts)))
    every = math.ceil(len(places) / most)
    chosen = places[::every]
    if len(chosen) > MOST_APART and chosen[-1] == len(starts) - 1:
        del chosen[-2]
    if len(chosen) > MOST_APART and chosen[0] == 0:
        del chosen[1]
    return tuple(
        (p, day(starts[p]) if not hourly or starts[p].hour == 0 else f"{starts[p]:%H:%M}") for p in chosen
    )


_SCALE: Final = Markup("").join(
    (
        tag("line", x1="0", x2="100%", y1="50%", y2="50%", class_="rule"),
        *(tag("line", x1=f"{at}%", x2=f"{at}%", y1="30%", y2="70%", class_="rule") for at in (0, 50, 100)),
    )
)


def interval(found: Share) -> Markup:
    """A share for a table cell: a dot on a line from 0 to 100 %, its interval as a bar."""
    low, high = 100 * found.low, 100 * found.high
    return decoration(
        _SCALE,
        tag("rect", x=share(low), width=share(max(0.5, high - low)), y="28%", height="44%", class_="range"),
        tag("circle", cx=share(100 * found.share), cy="50%", r=4, class_="point"),
        class_="interval",
    )
