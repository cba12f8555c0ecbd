"""What a leaf of the log says: one row in canonical form, in two salted parts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from compliance.audit_log.merkle import leaf_hash
from db.people.sample_data import SAMPLE_ACCOUNT

SALT_BYTES: Final = 16
NO_SAMPLE: Final = f"user_id <> '{SAMPLE_ACCOUNT}'"


class LeafKind(StrEnum):
    """What a leaf is about; stored. In the order of an append: a limit comes before what it allows."""

    LIMIT = "limit"
    DECISION = "decision"
    REVIEW = "review"
    REMOVAL = "removal"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedTable:
    """The rows of a kind.

    Attributes:
        kept: columns that an erasure keeps; they are compared as long as the row is there.
        erasable: columns that an erasure empties.
        due_from: the column that retention counts from.
        where: which rows are logged; sample data, which can be removed at any time, is not.
    """

    table: str
    kept: tuple[str, ...]
    erasable: tuple[str, ...] = ()
    due_from: str = "created_at"
    where: str = "true"

    @property
    def columns(self) -> str:
        """All of them, for a SELECT."""
        return ", ".join((*self.kept, *self.erasable))


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


LOGGED: Final = {
    LeafKind.LIMIT: LoggedTable(
        table="retention_limits",
        where="table_name IN ('ai_decisions', 'decision_reviews')",
        kept=_names("id created_at table_name keep_days"),
    ),
    LeafKind.DECISION: LoggedTable(
        table="ai_decisions",
        kept=_names(
            "id created_at user_id event_id scope decision confidence reason_code matched_rule degraded"
            " rejection_reason candidate_id"
        ),
        where=NO_SAMPLE,
        erasable=_names("message_id conversation_id author_id reason message_text snapshot_json"),
    ),
    LeafKind.REVIEW: LoggedTable(
        table="decision_reviews",
        kept=_names(
            "id created_at decision_id decision_at user_id person_id person ruling corrected_decision"
            " reason_code effect source item_id job_id withdraws"
        ),
        where=NO_SAMPLE,
        erasable=("note",),
        due_from="decision_at",
    ),
    LeafKind.REMOVAL: LoggedTable(
        table="audit_log_removals",
        kept=_names("id created_at kind reason since before erasure_id subjects"),
    ),
}
"""The columns that leaves cover; a test compares them with the tables. A later column needs a new kind.

``decision_reviews.sealed_until`` is left out: it says how long a sealed text is kept, not what was ruled.
"""
DELETED: Final = (LeafKind.DECISION, LeafKind.REVIEW)
"""Kinds whose rows retention deletes."""
TOMBSTONE: Final = {
    "message_id": "",
    "conversation_id": "",
    "author_id": "",
    "message_text": "",
    "reason": "Erased on request.",
}


def canonical(row: Mapping[str, Any], columns: tuple[str, ...]) -> str:
    """Columns of a row as JSON with sorted names and no spaces; times in UTC with microseconds."""
    chosen = {name: row[name] for name in columns}
    return json.dumps(chosen, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_plain)


def salted_hash(salt: bytes, text: str) -> bytes:
    """The hash of a part: salted, because an erased text could be guessed."""
    return hashlib.sha256(salt + text.encode()).digest()


def hash_of_leaf(
    kind: str, subject_id: UUID, subject_at: datetime, due_from: datetime, kept: bytes, erasable: bytes
) -> bytes:
    """The hash in the tree, of the salted hashes of both parts.

    Id and times are in it in clear: they prove what retention may have deleted.
    """
    times = _plain(subject_at), _plain(due_from)
    lines = (f"hushgate {kind} 1", str(subject_id), *times, kept.hex(), erasable.hex())
    return leaf_hash("".join(f"{line}\n" for line in lines).encode())


def is_tombstone(kind: LeafKind, row: Mapping[str, Any]) -> bool:
    """Whether a row has nothing left of what an erasure empties."""
    if kind is LeafKind.REVIEW:
        return bool(row["note"] == "")
    emptied = all(row.get(name) == left for name, left in TOMBSTONE.items())
    snapshot = row["snapshot_json"]
    return emptied and isinstance(snapshot, dict) and snapshot.get("erased") is True


def _plain(value: object) -> str:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds")
        case UUID():
            return str(value)
    raise TypeError(f"no canonical form of {type(value).__name__}")
