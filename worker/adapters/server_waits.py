"""The wait that a refusal asks for: in headers, in fields of its body, or in its message.

The forms are listed in ``docs/vendors.md``. A wait of more than a day is no wait a server means.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

LONGEST_S: Final = 86_400.0
MOST_VALUES: Final = 200
"""Values of a body that are looked at."""
EPOCH_S: Final = 1e9
"""From here on a number of seconds is a time, not a span."""
EPOCH_MS: Final = 1e12
UNITS: Final = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
UNIT_WORDS: Final = {
    "ms": r"ms|milliseconds?",
    "s": r"s|secs?|seconds?|sekunden?|sekund[yę]?|segundos?|secondes?|second[io]|seconden|секунд[уы]?|saniye",
    "m": r"m|mins?|minutes?|minuten?|minut[yę]?|minutos?|minut[io]|минут[уы]?|мин|dakika",
    "h": r"h|hrs?|hours?|stunden?|horas?|heures?|or[ae]|uur|час(?:а|ов)?|saat",
    "d": r"d|days?",
}
UNIT_SIGNS: Final = {"秒": "s", "초": "s", "分": "m", "분": "m", "小时": "h", "小時": "h", "時間": "h"}
_NUMBER: Final = r"\d{1,15}(?:\.\d{1,15})?"
_UNIT: Final = rf"(?:(?:{'|'.join(UNIT_WORDS.values())})(?![a-zа-я])|(?:{'|'.join(UNIT_SIGNS)})[钟鐘]?)"
_ONE: Final = rf"{_NUMBER}\s*{_UNIT}"
CLOCK: Final = re.compile(r"(\d{1,2}):(\d\d):(\d\d)")
ISO: Final = re.compile(r"PT(?=\d)(?:(\d{1,4})H)?(?:(\d{1,6})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?", re.IGNORECASE)
SPAN: Final = re.compile(rf"(?P<number>{_NUMBER})\s*(?P<unit>{_UNIT})", re.IGNORECASE)
_SPANS: Final = rf"(?:{CLOCK.pattern}|{_ONE}(?:(?:[\s,]|and){{0,6}}{_ONE}){{0,3}})"
_ASKED: Final = (
    r"try|retry|again|available|allowed|wait|resets?|replenished|cool\w*|erneut|versuch\w*|warten|int[eé]nt\w*"
    r"|reintent\w*|espere|r[eé]essay\w*|patiente\w*|attend\w*|tente|aguarde|riprov\w*|повтор\w*|попроб\w*"
    r"|подожд\w*|probeer|wacht|spr[oó]buj|odczekaj"
)
SAID: Final = re.compile(
    rf"(?:\b(?:{_ASKED})\b[^.:;\d]{{0,40}}?|retry_?delay\W{{1,6}})(?P<after>{_SPANS})"
    rf"|(?<!\d)(?P<before>{_SPANS})\s*(?:之?[后後]|이?후|sonra)"
    rf"|retry[_-]?after\W{{1,6}}(?P<seconds>{_NUMBER})(?![\w.:-])",
    re.IGNORECASE,
)
"""A span behind a word that asks for a wait, one before "after", or seconds behind ``retry_after``."""
READ_CHARS: Final = 4000
SECONDS_KEYS: Final = frozenset(
    {
        "retrydelay",
        "retryafter",
        "retryafterseconds",
        "retryaftersec",
        "retryafters",
        "retryin",
        "retryaftersecs",
        "resetafter",
        "resetsinseconds",
        "ratelimitafter",
        "ratelimitretryafter",
        "waitseconds",
        "estimatedtime",
        "cooldownseconds",
    }
)
MS_KEYS: Final = frozenset({"retryafterms", "retrydelayms", "retryinms", "msretryafterms"})
RESET_HEADER: Final = re.compile(r"rate-?limit.*reset")
DRAFT_LIMIT: Final = re.compile(
    r"(?:^|;)\s*r=0\s*;(?:[^,]*;)?\s*t=(?P<t>\d{1,6})\b"
    r"|\bremaining=0\s*,(?:.*,)?\s*reset=(?P<reset>\d{1,6})\b"
)
"""Header ``ratelimit`` of the IETF's drafts: nothing remains of a policy for so many seconds."""


def asked_wait_s(headers: Mapping[str, str], body: object, *, resets: bool) -> float | None:
    """Seconds until the server wants the next call; None when the server names no wait.

    Args:
        headers: of the refusal.
        body: as parsed; texts in it are read too.
        resets: the refusal is a rate limit, so that the reset of a used-up quota counts.
    """
    now_s = _server_now_s(headers)
    for found in _said(headers, body, now_s, resets=resets):
        if found is not None:
            return found
    return None


def _said(headers: Mapping[str, str], body: object, now_s: float, *, resets: bool) -> Iterator[float | None]:
    """The waits that are said, the most exact form first."""
    yield _bounded(_number(headers.get("retry-after-ms")), 0.001)
    yield retry_after_s(headers.get("retry-after"), now_s)
    for name, text in headers.items():
        yield _of_field(name.lower().removeprefix("x-"), text)
    found = tuple(_values(body))
    for key, value in found:
        yield _of_field(key, value)
    for _, value in found:
        if isinstance(value, str) and (said := SAID.search(value[:READ_CHARS])):
            yield _bounded(_number(said["seconds"])) or span_s(said["after"] or said["before"] or "")
    if resets:
        plain = {key.lower(): str(value) for key, value in found}
        yield _reset_s({**plain, **_lower(headers)}, now_s)


def retry_after_s(text: str | None, now_s: float) -> float | None:
    """A ``Retry-After``: seconds, a span such as ``1m30s`` or a date; None when unusable."""
    if text is None:
        return None
    if (seconds := _number(text)) is not None:
        return _bounded(seconds - now_s if seconds >= EPOCH_S else seconds)
    if (span := span_s(text)) is not None:
        return span
    if (first := re.split("[,;]", text)[0].strip(' "')).isdecimal():  # it came twice, or with parameters
        return _bounded(float(first))
    at = _date_s(text)
    return None if at is None else _bounded(max(0.0, at - now_s))


def span_s(text: str) -> float | None:
    """Seconds of a span such as ``7.3s``, ``2 Minuten``, ``00:12:34`` or ``PT30S``; None for others."""
    if (clock := CLOCK.fullmatch(text.strip()) or ISO.fullmatch(text.strip())) is not None:
        hours, minutes, seconds = (float(each or 0) for each in clock.groups())
        return _bounded(hours * UNITS["h"] + minutes * UNITS["m"] + seconds)
    parts = list(SPAN.finditer(text))
    if not parts or re.sub(r"[\s,]|and", "", SPAN.sub("", text)):
        return None
    return _bounded(sum(float(part["number"]) * UNITS[_unit(part["unit"])] for part in parts))


def _unit(word: str) -> str:
    sign = UNIT_SIGNS.get(word.rstrip("钟鐘"))
    known = (name for name, words in UNIT_WORDS.items() if re.fullmatch(words, word, re.IGNORECASE))
    return sign or next(known)


def _of_field(key: str, value: object) -> float | None:
    """The wait in a named field: ``retryDelay: "37s"``, ``retry_after_ms: 7300``."""
    name = re.sub(r"[^a-z]", "", key.lower())
    factor = 0.001 if name in MS_KEYS else 1.0 if name in SECONDS_KEYS else None
    if factor is None:
        return None
    if isinstance(value, Mapping):  # a protobuf duration
        return _bounded((_number(value.get("seconds")) or 0.0) + (_number(value.get("nanos")) or 0.0) / 1e9)
    number = _number(value)
    if number is None:
        return span_s(value) if isinstance(value, str) else None
    return _bounded(number, factor)


def _reset_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """When the used-up quotas are whole again: a span, seconds, a time in seconds or milliseconds, a date."""
    found = []
    for name, value in headers.items():
        left = name.replace("reset", "remaining")
        if not RESET_HEADER.search(name) or (left in headers and (_number(headers[left]) or 0.0) > 0):
            continue  # a quota that is not used up says nothing about this refusal
        number = _number(value)
        if number is None:
            span, at = span_s(value), _date_s(value)
            found.append(span if span is not None else None if at is None else _bounded(max(0.0, at - now_s)))
        elif number >= EPOCH_S:
            at_s = number / 1000 if number >= EPOCH_MS else number
            found.append(_bounded(max(0.0, at_s - now_s)))
        else:
            found.append(_bounded(number))
    drafts = DRAFT_LIMIT.finditer(headers.get("ratelimit", ""))
    found += [_bounded(float(each["t"] or each["reset"])) for each in drafts]
    return max((each for each in found if each is not None), default=None)


def _values(body: object) -> Iterator[tuple[str, object]]:
    """Each key and value of a body, at any depth; texts that are JSON are not opened."""
    waiting: list[tuple[str, object]] = [("", body)]
    for _ in range(MOST_VALUES):
        if not waiting:
            return
        key, value = waiting.pop(0)
        yield key, value
        if isinstance(value, Mapping):
            waiting += [(str(name), each) for name, each in value.items()]
        elif isinstance(value, list):
            waiting += [(key, each) for each in value[:MOST_VALUES]]


def _server_now_s(headers: Mapping[str, str]) -> float:
    said = headers.get("date")
    at = None if said is None else _date_s(said)
    return time.time() if at is None else at


def _date_s(text: str) -> float | None:
    """A time of the forms of mail and of ISO 8601; None for anything else, such as a year of 20 digits."""
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            at = read(text)
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
    return None


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _bounded(seconds: float | None, factor: float = 1.0) -> float | None:
    """A wait of at most a day; None for all others, so that no header can stop an upstream for good."""
    if seconds is None or not 0 <= seconds * factor <= LONGEST_S:
        return None
    return seconds * factor


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
