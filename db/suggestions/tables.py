"""The table of suggestions."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from db.columns import EMPTY_OBJECT, Timestamp, key, required, table

learning_suggestions: Final = table(
    "learning_suggestions",
    "what decisions and reviews suggest to change, one row per account, computed once a day",
    key("user_id", sa.Text, comment="the account"),
    required("begun_at", Timestamp, comment="when a server began to compute them"),
    sa.Column("computed_at", Timestamp, comment="null: not yet"),
    required("material", JSONB, server_default=EMPTY_OBJECT, comment="how much they were computed from"),
    required(
        "found",
        JSONB,
        server_default=sa.text("'[]'::jsonb"),
        comment="evidence, edits and ids of decisions; words of at least two authors, no messages",
    ),
)
