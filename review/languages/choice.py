"""Which language and time zone a reader gets."""

from __future__ import annotations

from functools import lru_cache
from operator import itemgetter
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from babel.core import negotiate_locale

from review.languages.catalogues import LANGUAGES
from review.languages.pseudo_locale import PSEUDO

LANGUAGE_COOKIE: Final = "hushgate-language"
ZONE_COOKIE: Final = "hushgate-zone"
"""The browser's zone, which ``static/zone.js`` stores."""
UTC_ZONE: Final = ZoneInfo("UTC")
HEADER_CHARS: Final = 200


def choose_language(stored: str | None, cookie: str | None, accepted: str) -> str:
    """The person's setting, else the cookie, else the browser's languages, else English."""
    for each in (stored, cookie):
        if each in LANGUAGES or each == PSEUDO:
            return str(each)
    return _negotiated(accepted[:HEADER_CHARS])


def choose_zone(stored: str | None, cookie: str | None) -> ZoneInfo:
    """The person's setting, else the browser's zone, else UTC."""
    return next((zone for each in (stored, cookie) if each and (zone := zone_named(each))), UTC_ZONE)


@lru_cache(maxsize=256)
def zone_named(name: str) -> ZoneInfo | None:
    """The zone of an IANA name; None for other names, which may be any text of a cookie."""
    return ZoneInfo(name) if name in zone_names() else None


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Every IANA name of this system."""
    return frozenset(available_timezones())


@lru_cache(maxsize=256)
def _negotiated(accepted: str) -> str:
    """The best language of an Accept-Language header."""
    wanted = sorted(filter(None, map(_weighted, accepted.split(","))), key=itemgetter(0), reverse=True)
    found = negotiate_locale([tag for _, tag in wanted], list(LANGUAGES), sep="-")
    return found if found is not None and found in LANGUAGES else "en"


def _weighted(part: str) -> tuple[float, str] | None:
    """Weight and tag of ``vi;q=0.8``; None where it is refused or unreadable."""
    tag, _, parameter = part.strip().partition(";")
    name, _, weight = parameter.strip().partition("=")
    try:
        value = float(weight) if name == "q" else 1.0
    except ValueError:
        return None
    return (value, tag.strip()) if tag and value > 0 else None
