"""The running rollout of an account, and which conversations its candidate decides.

A conversation's place is a number from 0 to 9999: the first four bytes of the SHA-256 of the rollout's id, a
colon and the conversation's id in UTF-8, modulo 10,000. The candidate decides the places below its share, so
a larger share keeps every conversation that the candidate had. ``hushgate_rollout_place`` in
``trials/sql`` is the same in SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

PLACES: Final = 10_000


def place_of(rollout_id: UUID, conversation_id: str) -> int:
    """The place of a conversation in a rollout: 0 to 9999."""
    digest = sha256(f"{rollout_id}:{conversation_id}".encode()).digest()
    return int.from_bytes(digest[:4], "big") % PLACES


def places_of(share: float) -> int:
    """How many places a share, 0..1, takes."""
    return round(share * PLACES)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningRollout:
    """A rollout as workers need it.

    Attributes:
        base_version: of the settings that the changes are made on; with any other in force nothing is tried.
        changes: setting -> value, as ``worker.account_settings.changed`` takes it.
        share: 0..1 of the conversations.
    """

    rollout_id: UUID
    candidate_id: UUID
    user_id: str
    base_version: int
    changes: Mapping[str, Any]
    share: float

    def takes(self, conversation_id: str) -> bool:
        """Whether the candidate decides this conversation."""
        return place_of(self.rollout_id, conversation_id) < places_of(self.share)
