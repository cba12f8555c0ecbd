"""What a leaf of the log says: one row in canonical form, salted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from db.transparency.merkle import leaf_hash

SALT_BYTES: Final = 16


class LeafKind(StrEnum):
    """What a leaf is about; stored."""

    DECISION = "decision"
    REVIEW = "review"
    REMOVAL = "removal"


ROWS: Final = {LeafKind.DECISION: "ai_decisions", LeafKind.REVIEW: "decision_reviews"}
COLUMNS: Final = {
    LeafKind.DECISION: (
        "id, created_at, user_id, event_id, message_id, conversation_id, author_id, scope, decision,"
        " confidence, reason_code, reason, matched_rule, message_text, snapshot_json, degraded,"
        " rejection_reason"
    ),
    LeafKind.REVIEW: (
        "id, created_at, decision_id, decision_at, user_id, person_id, person, ruling, corrected_decision,"
        " reason_code, note, effect, source, item_id, job_id, withdraws"
    ),
}
"""The columns of a row that its leaf covers. A later column needs a new kind: old leaves keep their hash.

``decision_reviews.sealed_until`` is left out: it says how long a sealed text is kept, not what was ruled.
"""


def canonical(row: Mapping[str, Any]) -> str:
    """A row as JSON with sorted names and no spaces; times in UTC with microseconds."""
    return json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_plain)


def salted_leaf_hash(kind: str, salt: bytes, text: str) -> bytes:
    """The hash in the tree: over kind and salted text, because an erased text could be guessed."""
    inner = hashlib.sha256(salt + text.encode()).hexdigest()
    return leaf_hash(f"hushgate {kind} 1\n{inner}\n".encode())


def _plain(value: object) -> str:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds")
        case UUID():
            return str(value)
    raise TypeError(f"no canonical form of {type(value).__name__}")
