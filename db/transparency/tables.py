"""The tables of the transparency log."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from db.columns import NOW, Timestamp, index, key, required, table

audit_log_leaves: Final = table(
    "audit_log_leaves",
    "leaves of the transparency log, in order; a hash is never changed",
    key("position", sa.BigInteger, autoincrement=False, comment="0, 1, 2, ..."),
    required("kind", sa.Text, comment="decision, review, removal or limit"),
    required("subject_id", sa.Uuid, comment="of the row"),
    required("subject_at", Timestamp, comment="its created_at"),
    required("due_from", Timestamp, comment="the time that retention counts from"),
    sa.Column("salt", sa.LargeBinary, comment="of erasable_hash; null: texts erased"),
    sa.Column("kept_salt", sa.LargeBinary, comment="of kept_hash; null: row deleted"),
    required("kept_hash", sa.LargeBinary, comment="SHA-256 of salt and what an erasure keeps"),
    required("erasable_hash", sa.LargeBinary, comment="SHA-256 of salt and what it empties"),
    required("hash", sa.LargeBinary, comment="RFC 6962 leaf hash"),
    sa.CheckConstraint("kind IN ('decision', 'review', 'removal', 'limit')", name="kind_known"),
    index("ix_audit_log_leaves_subject", "kind", "subject_id", unique=True),
    index("ix_audit_log_leaves_salted", "kind", "subject_at", where="kept_salt IS NOT NULL"),
)

audit_log_nodes: Final = table(
    "audit_log_nodes",
    "hashes of complete subtrees of 256, 65536, ... leaves",
    key("height", sa.SmallInteger, autoincrement=False, comment="8, 16, ..."),
    key("position", sa.BigInteger, autoincrement=False, comment="from the left, among those of its height"),
    required("hash", sa.LargeBinary),
)

audit_log_checkpoints: Final = table(
    "audit_log_checkpoints",
    "signed roots of the transparency log",
    key("size", sa.BigInteger, autoincrement=False, comment="leaves"),
    required("signed", sa.Text, comment="C2SP checkpoint with its signature"),
    required("verifier_key", sa.Text, comment="public key, as C2SP signed-note writes it"),
    required("through", Timestamp, comment="rows older than this were looked for"),
    required("created_at", Timestamp, server_default=NOW),
)

audit_log_removals: Final = table(
    "audit_log_removals",
    "rows that were deleted or emptied on purpose; each becomes a leaf itself",
    key("id", sa.Uuid, comment="UUID"),
    required("kind", sa.Text, comment="decision or review"),
    required("reason", sa.Text, comment="retention or erasure"),
    sa.Column("since", Timestamp, comment="a month that was dropped at once: its start"),
    sa.Column("before", Timestamp, comment="of retention: only rows of before this were due"),
    sa.Column("erasure_id", sa.Uuid, comment="of an erasure: its request"),
    sa.Column("subjects", JSONB, comment="ids of the rows"),
    required("created_at", Timestamp, server_default=NOW),
    sa.CheckConstraint("kind IN ('decision', 'review')", name="kind_known"),
    sa.CheckConstraint("reason IN ('retention', 'erasure')", name="reason_known"),
    sa.CheckConstraint("num_nulls(since, subjects) = 1", name="rows_named_once"),
    sa.CheckConstraint(
        "num_nulls(before, erasure_id) = 1 AND (reason = 'erasure') = (erasure_id IS NOT NULL)",
        name="cause_named",
    ),
    index("ix_audit_log_removals_created_at", "created_at"),
)
