"""The tables of recordings and of candidates."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from db.columns import EMPTY_OBJECT, FALSE, NOW, ZERO, Timestamp, index, key, required, required_texts, table

recordings: Final = table(
    "recordings",
    "what the ports answered for a decision, sealed: the worker may write here and never read",
    key("decision_id", sa.Uuid),
    *required_texts("user_id", "conversation_id", "author_id"),
    required("created_at", Timestamp, comment="of the decision"),
    required(
        "overtaken",
        sa.Boolean,
        server_default=FALSE,
        comment="people took the conversation before the commit, which discarded the reply",
    ),
    required("data", sa.LargeBinary, comment="see worker/replay/stored.py"),
)

candidates: Final = table(
    "candidates",
    "changes of an account's settings that are not in force",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("user_id", sa.Text, comment="the account"),
    required("base_version", sa.Integer, comment="of ai_rules, which the changes were made from"),
    required("changes", JSONB, comment="setting -> value, as worker.account_settings.changed takes it"),
    required("note", sa.Text, server_default="", comment="why, in a person's words"),
    required("source", sa.Text, comment="person, calibration, suggestion or adaptive"),
    required("created_by", sa.Text, comment="login at that time; a job: its name"),
    required("created_at", Timestamp, server_default=NOW),
    sa.Column("withdrawn_at", Timestamp, comment="null: it may be tried"),
    sa.CheckConstraint("source IN ('person', 'calibration', 'suggestion', 'adaptive')", name="source_known"),
    sa.CheckConstraint("jsonb_typeof(changes) = 'object' AND changes <> '{}'", name="changes_are_some"),
    index("ix_candidates_account", "user_id", "id"),
)

backtests: Final = table(
    "backtests",
    "decisions made again with changed settings",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("user_id", sa.Text, comment="the account"),
    required("base_version", sa.Integer, comment="of ai_rules"),
    required("changes", JSONB, comment="setting -> value"),
    required("since", Timestamp),
    required("until", Timestamp),
    required("total", sa.Integer, comment="decisions in the range"),
    required("done", sa.Integer, server_default=ZERO),
    sa.Column("position", sa.Uuid, comment="the last decision that was counted"),
    required("counts", JSONB, server_default=EMPTY_OBJECT),
    required(
        "examples", JSONB, server_default=sa.text("'[]'::jsonb"), comment="ids and reasons, without texts"
    ),
    required("created_by", sa.Text, comment="login at that time"),
    required("created_at", Timestamp),
    sa.Column("finished_at", Timestamp),
    index("ix_backtests_account", "user_id", "id"),
)
