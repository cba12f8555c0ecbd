"""Times of day in another time zone: 07:00 CET, where the document says 06:00 UTC."""

from __future__ import annotations

import re
from typing import Final

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
_ZONE: Final = re.compile(rf"(?<!\w)(?:{'|'.join(ZONES).upper()})(?!\w)")
"""In capital letters: "ist" is a German word."""


def zone_steps(text: str, evidence: str) -> frozenset[int]:
    """The minutes from times of the evidence to those of a text, where both name a time zone."""
    return frozenset(one - other for one in _zones(text) for other in _zones(evidence))


def _zones(text: str) -> set[int]:
    return {ZONES[each.lower()] for each in _ZONE.findall(text)}
