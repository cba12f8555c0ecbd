"""The tables of legal holds and erasures."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from db.columns import EMPTY_OBJECT, FALSE, NOW, Timestamp, index, key, required, table


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
    required("kind", sa.Text, comment="decision, conversation or author"),
    required("subject", sa.Text, comment="the id; empty: erased after the hold ended"),
    required("reason", sa.Text, comment="why, in the words of the person"),
    required("placed_by", sa.Text, comment="login, or command line"),
    required("placed_at", Timestamp, server_default=NOW),
    sa.Column("until", Timestamp, comment="it ends then; null: when a person releases it"),
    sa.Column("released_at", Timestamp),
    sa.Column("released_by", sa.Text),
    sa.CheckConstraint("kind IN ('decision', 'conversation', 'author')", name="kind_known"),
    sa.CheckConstraint("num_nulls(released_at, released_by) IN (0, 2)", name="released_by_person"),
    index("ix_legal_holds_account", "user_id", "placed_at"),
)

erasures: Final = table(
    "erasures",
    "requests to erase an author, a conversation or an account, with their receipts",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("user_id", sa.Text, comment="the account"),
    required("kind", sa.Text, comment="author, conversation or account"),
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
    required("phase", sa.Text, server_default="requested", comment="a member of ErasurePhase"),
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
    sa.CheckConstraint("kind IN ('author', 'conversation', 'account')", name="kind_known"),
    sa.CheckConstraint(
        f"phase IN ({', '.join(repr(each.value) for each in ErasurePhase)})",
        name="phase_known",
    ),
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

retention_limits: Final = table(
    "retention_limits",
    "how long the owner of the database keeps each table; the newest row of a table counts",
    key("id", sa.Uuid, comment="UUID"),
    required("table_name", sa.Text),
    sa.Column("keep_days", sa.Integer, comment="rows younger than this stay; null: all rows"),
    required("created_at", Timestamp, server_default=NOW, comment="in force from then on"),
    index("ix_retention_limits_table", "table_name", "created_at"),
)
