"""What a server's answers say about its limits: ``Retry-After`` and ``x-ratelimit-*``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from worker.settings.calls import Resource

RATE_LIMITED: Final = 429
SPAN: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>ms|s|m|h|d)")
SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
LONGEST_S: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """What a server says is left of a resource.

    Attributes:
        limit: None when the server does not say.
        reset_s: until it is whole again; None when the server does not say.
    """

    resource: Resource
    left: int
    limit: int | None
    reset_s: float | None


def quotas(headers: Mapping[str, str]) -> tuple[Quota, ...]:
    """The quotas in the headers of an answer."""
    found = []
    for resource in Resource:
        left = _number(headers.get(f"x-ratelimit-remaining-{resource}"))
        if left is not None:
            limit = _number(headers.get(f"x-ratelimit-limit-{resource}"))
            reset_s = span_s(headers.get(f"x-ratelimit-reset-{resource}"))
            found.append(Quota(resource=resource, left=left, limit=limit, reset_s=reset_s))
    return tuple(found)


def pause_s(headers: Mapping[str, str], status: int) -> float:
    """Seconds in which no call can succeed; 0 for none.

    A refusal with ``Retry-After`` says it itself; an answer that used up a quota says when it is whole again.
    """
    if status == RATE_LIMITED:
        for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            try:
                return min(max(0.0, float(headers[name]) * factor), LONGEST_S)
            except (KeyError, ValueError):
                continue
    spent = (each.reset_s or 0.0 for each in quotas(headers) if each.left <= 0)
    return min(max(spent, default=0.0), LONGEST_S)


def span_s(text: str | None) -> float | None:
    """Seconds of a span such as ``6m0s``, ``120ms`` or ``1.5``; None for anything else."""
    if text is None:
        return None
    if (plain := _float(text)) is not None:
        return plain if 0 <= plain <= LONGEST_S else None  # a larger number is a time, not a span
    parts = list(SPAN.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text.strip():
        return None
    return sum(float(part["number"]) * SECONDS[part["unit"]] for part in parts)


def _number(text: str | None) -> int | None:
    value = None if text is None else _float(text)
    return None if value is None or not -1e12 < value < 1e12 else int(value)


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
