"""The table of retention limits."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from db.columns import NOW, Timestamp, index, key, required, table

retention_limits: Final = table(
    "retention_limits",
    "how long the owner of the database keeps each table; the newest row of a table counts",
    key("id", sa.Uuid, comment="UUID"),
    required("table_name", sa.Text),
    sa.Column("keep_days", sa.Integer, comment="rows younger than this stay; null: all rows"),
    required("created_at", Timestamp, server_default=NOW, comment="in force from then on"),
    index("ix_retention_limits_table", "table_name", "created_at"),
)
