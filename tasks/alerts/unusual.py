"""Whether a share of decisions is unusual, compared with the same hours of the past week."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from db.fleet.recent import RecentCount

MINIMUM: Final = 20
"""Fewer decisions in 15 minutes are never unusual."""
FACTOR: Final = 3
PRIOR_MATCHED: Final = 1
PRIOR_EVENTS: Final = 20
"""Added to the past: without one, a share above 15 % is unusual."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventShare:
    """Decisions of a kind, ``matched``, among ``events``."""

    matched: int
    events: int

    def __str__(self) -> str:
        return f"{self.matched} of {self.events}"


def usual_share(past: EventShare) -> float:
    """The share that the past lets expect, 0..1."""
    return (past.matched + PRIOR_MATCHED) / (past.events + PRIOR_EVENTS)


def is_unusual(recent: EventShare, past: EventShare) -> bool:
    """True from ``MINIMUM`` decisions on, above ``FACTOR`` times the usual share or half-way from it to 1."""
    if recent.matched < MINIMUM:
        return False
    usual = usual_share(past)
    return recent.matched / recent.events > min(FACTOR * usual, (1 + usual) / 2)


def unusual_shares(
    counts: Iterable[RecentCount],
    matches: Callable[[RecentCount], bool],
    key: Callable[[RecentCount], str],
    among: Callable[[RecentCount], str],
) -> Iterator[tuple[str, EventShare, EventShare]]:
    """Each unusual key of matching counts, with its recent and past share of all counts of ``among``."""
    matched: Counter[tuple[str, str, bool]] = Counter()
    every: Counter[tuple[str, bool]] = Counter()
    for each in counts:
        every[among(each), each.recent] += each.events
        if matches(each):
            matched[key(each), among(each), each.recent] += each.events
    for name, group in sorted({(name, group) for name, group, recent in matched if recent}):
        recent, past = (
            EventShare(matched=matched[name, group, now], events=every[group, now]) for now in (True, False)
        )
        if is_unusual(recent, past):
            yield name, recent, past
