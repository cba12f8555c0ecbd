"""The table of model servers."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from db.columns import NOW, Timestamp, choice, required, table

model_servers: Final = table(
    "model_servers",
    "model servers that administrators connected on the pages, one row per role; the environment wins",
    *choice("role", "model moderation judge embeddings", primary_key=True),
    sa.Column("url", sa.Text, comment="base URL; none: the server of the model"),
    sa.Column("sealed_key", sa.LargeBinary, comment="see db/model_servers/sealing.py; none: no key"),
    required("model", sa.Text, comment="as the server names it; empty: the default; off: no server"),
    required("changed_by", sa.Text, comment="the person's login"),
    required("changed_at", Timestamp, server_default=NOW),
    sa.CheckConstraint("url IS NOT NULL OR sealed_key IS NULL", name="key_of_url"),
)
