"""How long the tables of compliance are kept."""

from __future__ import annotations

from typing import Final

from db.retention.kept import days, for_ever, other

RETENTION: Final = (
    days("appeals", "appeals_days", "after the outcome; open ones stay"),
    days("legal_holds", "access_log_days", "after its end"),
    other("erasure_items", "the erasure, at its end"),
    for_ever("erasures", "receipts, without the id that was erased"),
    for_ever("audit_log_leaves", "hashes; the salts go with texts and rows"),
    for_ever("audit_log_nodes", "hashes"),
    for_ever("audit_log_checkpoints", "signed hashes"),
    for_ever("audit_log_removals", "ids of rows that are gone; verification needs them"),
)
