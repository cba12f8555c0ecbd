"""Times of day in another time zone: 07:00 CET, where the document says 06:00 UTC."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from worker.assessment.text.wordlists import one_of

ZONES: Final = {
    **dict.fromkeys(("utc", "gmt"), 0),
    **dict.fromkeys(("cet", "mez", "bst", "wat"), 60),
    **dict.fromkeys(("cest", "mesz", "eet", "sast"), 120),
    **dict.fromkeys(("eest", "msk", "trt"), 180),
    "ist": 330,
    "ict": 420,
    **dict.fromkeys(("jst", "kst"), 540),
    "aest": 600,
    "aedt": 660,
    "brt": -180,
    "edt": -240,
    **dict.fromkeys(("est", "cdt"), -300),
    **dict.fromkeys(("cst", "mdt"), -360),
    **dict.fromkeys(("mst", "pdt"), -420),
    "pst": -480,
}
"""Abbreviation of a time zone -> minutes that its clocks are ahead of UTC."""
AMERICAN: Final = {"ET": -300, "CT": -360, "MT": -420, "PT": -480}
"""Zones with summer time under one name -> minutes in winter."""
_ZONE: Final = re.compile(rf"(?<!\w)(?:{'|'.join(ZONES).upper()}|{'|'.join(AMERICAN)})(?!\w)")
"""In capital letters: "ist" is a German word."""
_SEASONS: Final = (datetime(2026, 1, 15, tzinfo=UTC), datetime(2026, 7, 15, tzinfo=UTC))


def zone_steps(text: str, evidence: str, written: str) -> frozenset[int]:
    """The minutes from times of the evidence to those of a text, where both name a time zone or its city.

    Evidence without one is in the zone that ``written`` names: that of the account.
    """
    known = _zones(evidence) or _zones(written)
    pairs = [pair for one in _zones(text) for other in known for pair in zip(one, other, strict=True)]
    return frozenset(one - other for one, other in pairs)


def _zones(text: str) -> set[tuple[int, ...]]:
    """The minutes ahead of UTC in January and in July, of each zone of a text."""
    names = set(_ZONE.findall(text))
    found = {(ZONES[each.lower()],) * 2 for each in names - AMERICAN.keys()}
    found |= {(AMERICAN[each], AMERICAN[each] + 60) for each in names & AMERICAN.keys()}
    pattern, cities = _cities()
    return found | {_offsets(cities[each]) for each in pattern.findall(text)}


@cache
def _offsets(zone: str) -> tuple[int, ...]:
    shifts = (each.astimezone(ZoneInfo(zone)).utcoffset() for each in _SEASONS)
    return tuple(int(shift.total_seconds()) // 60 for shift in shifts if shift is not None)


@cache
def _cities() -> tuple[re.Pattern[str], Mapping[str, str]]:
    """A pattern for the cities that name a time zone, and the zone of each."""
    zones = (each for each in sorted(available_timezones()) if "/" in each and not each.startswith("Etc/"))
    cities = {zone.rpartition("/")[2].replace("_", " "): zone for zone in zones}
    return re.compile(rf"(?<!\w){one_of(sorted(cities, key=len, reverse=True))}(?!\w)"), cities
