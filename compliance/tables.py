"""The tables of legal holds, erasures, appeals and the audit log."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from db.columns import (
    EMPTY_OBJECT,
    FALSE,
    NOW,
    Timestamp,
    choice,
    index,
    key,
    required,
    required_texts,
    table,
)


class ErasurePhase(StrEnum):
    """Where an erasure is; stored, never renamed. In this order, but for ``cancelled``.

    ``waiting``: events published before the job started are still in the stream. The phases after it repeat
    the first ones, for what was in flight.
    """

    REQUESTED = "requested"
    PREVIEWED = "previewed"
    DECISIONS = "decisions"
    CONVERSATIONS = "conversations"
    ROWS = "rows"
    QUERIES = "queries"
    STREAMS = "streams"
    WAITING = "waiting"
    DECISIONS_AGAIN = "decisions_again"
    CONVERSATIONS_AGAIN = "conversations_again"
    COPIES_AGAIN = "copies_again"
    ROWS_AGAIN = "rows_again"
    QUERIES_AGAIN = "queries_again"
    STREAMS_AGAIN = "streams_again"
    FINISHED = "finished"
    CANCELLED = "cancelled"


legal_holds: Final = table(
    "legal_holds",
    "what no sweep and no erasure may delete",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("user_id", sa.Text, comment="the account"),
    *choice("kind", "decision conversation author"),
    required("subject", sa.Text, comment="the id; empty: erased after the hold ended"),
    required("reason", sa.Text, comment="why, in the words of the person"),
    required("placed_by", sa.Text, comment="login, or command line"),
    required("placed_at", Timestamp, server_default=NOW),
    sa.Column("until", Timestamp, comment="it ends then; null: when a person releases it"),
    sa.Column("released_at", Timestamp),
    sa.Column("released_by", sa.Text),
    sa.CheckConstraint("num_nulls(released_at, released_by) IN (0, 2)", name="released_by_person"),
    index("ix_legal_holds_account", "user_id", "placed_at"),
)

erasures: Final = table(
    "erasures",
    "requests to erase an author, a conversation or an account, with their receipts",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("user_id", sa.Text, comment="the account"),
    *choice("kind", "author conversation account"),
    sa.Column("subject", sa.Text, comment="the id; null once the job has ended"),
    required("salt", sa.LargeBinary, comment="of subject_hash"),
    required("subject_hash", sa.Text, comment="SHA-256 of salt and subject, hex"),
    required("reason", sa.Text, comment="why, in the words of the person"),
    required("requested_by", sa.Text, comment="login, or command line"),
    required("requested_at", Timestamp, server_default=NOW),
    sa.Column("preview", JSONB, comment="rows per table and stream, and decisions under a hold"),
    sa.Column("confirmed_at", Timestamp, comment="null: nothing is erased yet"),
    sa.Column("confirmed_by", sa.Text),
    sa.Column("started_at", Timestamp, comment="messages of this time and before are erased"),
    sa.Column("until_entry", sa.Text, comment="newest entry of each shard when the job started"),
    *choice("phase", " ".join(ErasurePhase), server_default="requested"),
    required(
        "phase_done",
        sa.Boolean,
        server_default=FALSE,
        comment="the work of the phase is done: the next one may begin",
    ),
    sa.Column("position_at", Timestamp, comment="created_at of the last decision looked at in this phase"),
    sa.Column("position_id", sa.Uuid, comment="its id"),
    sa.Column("position_line", sa.BigInteger, comment="id of the last line of the access log looked at"),
    required("erased", JSONB, server_default=EMPTY_OBJECT, comment="rows per table and stream so far"),
    sa.Column("alive_at", Timestamp, comment="heartbeat of the process that runs it"),
    sa.Column("finished_at", Timestamp),
    sa.Column("held", sa.BigInteger, comment="decisions that a legal hold kept, at the end"),
    sa.Column("receipt", JSONB, comment="what was erased, as it is signed"),
    sa.Column("signature", sa.Text, comment="Ed25519 of the receipt, base64; null: no key was configured"),
    sa.CheckConstraint("num_nulls(confirmed_at, confirmed_by) IN (0, 2)", name="confirmed_by_person"),
    index("ix_erasures_account", "user_id", "requested_at"),
    index("ix_erasures_open", "requested_at", where="finished_at IS NULL"),
)

erasure_items: Final = table(
    "erasure_items",
    "what a running erasure found; deleted at its end",
    key("erasure_id", sa.ForeignKey("erasures.id", ondelete="CASCADE")),
    key("kind", sa.Text, comment="decision, answer, conversation, place, word or exports"),
    key("value", sa.Text, comment="its id, the word, or a time"),
    sa.Column("text", sa.Text, comment="message of the decision, to find searches for it"),
)

audit_log_leaves: Final = table(
    "audit_log_leaves",
    "leaves of the transparency log, in order; a hash is never changed",
    key("position", sa.BigInteger, autoincrement=False, comment="0, 1, 2, ..."),
    *choice("kind", "decision review removal limit"),
    required("subject_id", sa.Uuid, comment="of the row"),
    required("subject_at", Timestamp, comment="its created_at"),
    required("due_from", Timestamp, comment="the time that retention counts from"),
    sa.Column("salt", sa.LargeBinary, comment="of erasable_hash; null: texts erased"),
    sa.Column("kept_salt", sa.LargeBinary, comment="of kept_hash; null: row deleted"),
    required("kept_hash", sa.LargeBinary, comment="SHA-256 of salt and what an erasure keeps"),
    required("erasable_hash", sa.LargeBinary, comment="SHA-256 of salt and what it empties"),
    required("hash", sa.LargeBinary, comment="RFC 6962 leaf hash"),
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
    *choice("kind", "decision review"),
    *choice("reason", "retention erasure"),
    sa.Column("since", Timestamp, comment="a month that was dropped at once: its start"),
    sa.Column("before", Timestamp, comment="of retention: only rows of before this were due"),
    sa.Column("erasure_id", sa.Uuid, comment="of an erasure: its request"),
    sa.Column("subjects", JSONB, comment="ids of the rows"),
    required("created_at", Timestamp, server_default=NOW),
    sa.CheckConstraint("num_nulls(since, subjects) = 1", name="rows_named_once"),
    sa.CheckConstraint(
        "num_nulls(before, erasure_id) = 1 AND (reason = 'erasure') = (erasure_id IS NOT NULL)",
        name="cause_named",
    ),
    index("ix_audit_log_removals_created_at", "created_at"),
)

appeals: Final = table(
    "appeals",
    "appeals against decisions, one for each decision",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("decision_id", sa.Uuid, unique=True),
    required("decision_at", Timestamp, comment="created_at of the decision"),
    *required_texts("user_id", "event_id", "conversation_id", "message_id", "author_id", "scope"),
    *choice("source", "api link page"),
    required("text", sa.Text, comment="why the author wants another decision"),
    required("entered_by", sa.Text, comment="login of the person or token's owner; empty: by link"),
    required("created_at", Timestamp),
    required("due_at", Timestamp, comment="until when people should decide it"),
    *choice("outcome", "upheld restored", "null: open", nullable=True),
    sa.Column("statement", sa.Text, comment="the reasons, for the author"),
    sa.Column("decided_by", sa.Text, comment="login at that time"),
    sa.Column("decided_at", Timestamp),
    sa.Column("review_id", sa.Uuid, comment="the review that the outcome stored; null: the decision is gone"),
    sa.Column("effect", sa.Text, comment="of the review: none, restored or removed"),
    sa.Column("settled_at", Timestamp, comment="the undo window is over, and the outcome was reported"),
    sa.CheckConstraint(
        "num_nulls(outcome, statement, decided_by, decided_at, effect) IN (0, 5)", name="decided_completely"
    ),
    sa.CheckConstraint("settled_at IS NULL OR outcome IS NOT NULL", name="settled_with_outcome"),
    index("ix_appeals_open", "due_at", "id", where="outcome IS NULL"),
    index("ix_appeals_to_settle", "decided_at", where="outcome IS NOT NULL AND settled_at IS NULL"),
    index("ix_appeals_created_at", "created_at", "id"),
    index("ix_appeals_review_id", "review_id", unique=True, where="review_id IS NOT NULL"),
)
