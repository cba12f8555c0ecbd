"""What a server's answers say about its limits: ``Retry-After`` and ``x-ratelimit-*``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from worker.adapters.server_waits import LONGEST_S, retry_after_s
from worker.settings.calls import Resource

RATE_LIMITED: Final = 429


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
            reset_s = retry_after_s(headers.get(f"x-ratelimit-reset-{resource}"), 0.0)
            found.append(Quota(resource=resource, left=left, limit=limit, reset_s=reset_s))
    return tuple(found)


def pause_s(headers: Mapping[str, str], status: int) -> float:
    """Seconds in which no call can succeed; 0 without a pause.

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


def _number(text: str | None) -> int | None:
    value = None if text is None else _float(text)
    return None if value is None or not -1e12 < value < 1e12 else int(value)


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
