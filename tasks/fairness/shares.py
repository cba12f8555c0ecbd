"""What one READ may take: entries ahead of the free places, and how grants are shared by accounts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

KEPT_FREE: Final = 10
"""One place in so many is kept for accounts that run few lanes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """What one READ may take. Without arguments: nothing ahead, all grants for any account.

    Attributes:
        batch: entries read ahead in one call.
        most_admitted: entries read and not finished in the whole fleet, beyond which none is read ahead.
        shared: most grants to accounts that run ``few`` lanes or more; None for all of them.
        few: lanes that an account runs in the whole fleet.
        limited: accounts that get a grant only while they run fewer lanes, in the whole fleet: key and limit.
    """

    batch: int = 0
    most_admitted: int = 0
    shared: int | None = None
    few: int = 0
    limited: tuple[tuple[str, int], ...] = ()

    def excludes_some(self, wanted: int) -> bool:
        """Whether a lane may wait although a place is free."""
        return bool(self.limited) or (self.shared is not None and self.shared < wanted)

    def arguments(self, wanted: int) -> tuple[str | int, ...]:
        """The arguments of READ from ``ARGV[6]`` on."""
        shared = wanted if self.shared is None else min(wanted, self.shared)
        limits = (part for pair in self.limited for part in pair)
        return (self.batch, self.most_admitted, shared, self.few, *limits)


ANY_ACCOUNT: Final = ReadPlan()


def account_key(user_id: str) -> str:
    """The account in the queue, as ``account_of`` in prelude.lua names it."""
    return hashlib.sha1(user_id.encode(), usedforsecurity=False).hexdigest()[:16]


def kept_free(limit: int) -> int:
    """How many of a worker's places only accounts that run few lanes may take."""
    return limit // KEPT_FREE


def few_lanes(limit: int) -> int:
    """How many lanes an account may run, in the whole fleet, and still take a place that is kept free."""
    return max(1, kept_free(limit) // 4)
