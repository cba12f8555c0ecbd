"""Times in the forms in which libraries and channels write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

EXPECTED: Final = "an RFC 3339 time such as 2026-11-21T10:00:00Z, or Unix seconds or milliseconds"
WRITTEN: Final = re.compile(
    r"(?P<year>\d{4})-?(?P<month>\d\d)-?(?P<day>\d\d)[Tt ]\s?(?P<hour>\d\d):?(?P<minute>\d\d)"
    r"(?::?(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,12}))?)?"
    r"\s?(?P<zone>[Zz]|UTC|GMT|[+\-\u2212]\d\d(?::?\d\d(?::?\d\d)?)?)(?:\sUTC|\sGMT|\[[\w/+\-]{1,60}\])?",
    re.ASCII,
)
"""ISO 8601 as Java, Go, Ruby, PHP, Python, .NET, JavaScript and databases print it.

With or without separators and seconds, a comma or a point, an offset with or without minutes, then a zone.
"""
NUMBER: Final = re.compile(r"\d{9,19}(?:\.\d{1,9})?", re.ASCII)
LARGEST_SECONDS: Final = 1e11
"""Unix seconds are smaller until the year 5138; larger numbers are milli-, micro- or nanoseconds."""
UNITS: Final = (1, 1_000, 1_000_000, 1_000_000_000)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LEAP: Final = 60
MICROS: Final = 1_000_000


def parsed_time(value: object) -> datetime:
    """The time of ``created_at``; raises ``ValueError`` for a text without an offset or of another form."""
    if isinstance(value, str) and NUMBER.fullmatch(value):
        return _unix_time(float(value) if "." in value else int(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _unix_time(value)
    written = WRITTEN.fullmatch(value.strip()) if isinstance(value, str) else None
    if written is None:
        raise ValueError(EXPECTED)
    parts = {name: int(part) for name, part in written.groupdict().items() if part and part.isdecimal()}
    fraction = (written["fraction"] or "").ljust(6, "0")[:6]
    second = parts.get("second", 0) - (parts.get("second") == LEAP)
    day = (parts["year"], parts["month"], parts["day"])
    try:
        zone = _zone(written["zone"])
        return datetime(*day, parts["hour"], parts["minute"], second, int(fraction), tzinfo=zone)
    except ValueError as error:
        raise ValueError(f"a valid datetime: {error}") from error


def _unix_time(number: float) -> datetime:
    """The time of a Unix number; its size says whether it counts seconds or parts of them."""
    if not 0 <= number < LARGEST_SECONDS * UNITS[-1]:
        raise ValueError(EXPECTED)
    unit = next(unit for unit in UNITS if number < LARGEST_SECONDS * unit)
    if isinstance(number, int):
        return EPOCH + timedelta(microseconds=number * MICROS // unit)
    return EPOCH + timedelta(microseconds=round(number * MICROS / unit))


def _zone(written: str) -> timezone:
    if written[0] not in "+-\u2212":
        return UTC
    digits = written[1:].replace(":", "").ljust(6, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]), seconds=int(digits[4:6]))
    return timezone(offset if written[0] == "+" else -offset)
