"""The tables of golden sets."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from db.columns import NOW, Timestamp, index, key, required, required_texts, table

golden_sets: Final = table(
    "golden_sets",
    "sets of labelled messages, on which settings and models are evaluated",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("user_id", sa.Text, comment="the account"),
    required("name", sa.Text, comment="unique in the account"),
    required("purpose", sa.Text, server_default="", comment="what it is for, in a person's words"),
    required("version", sa.Integer, server_default=sa.text("1"), comment="counts changes of its items"),
    required("created_by", sa.Text, comment="login at that time"),
    required("created_at", Timestamp, server_default=NOW),
    required("changed_at", Timestamp, server_default=NOW, comment="of its items"),
    sa.UniqueConstraint("user_id", "name"),
)

golden_set_items: Final = table(
    "golden_set_items",
    "labelled messages with their history and passages; sealed as recordings are",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("set_id", sa.ForeignKey("golden_sets.id", ondelete="CASCADE")),
    required("user_id", sa.Text, comment="the account"),
    required("row_id", sa.Text, comment="of its decision or its imported row; unique in the set"),
    required("source", sa.Text, comment="decision, import or edited_draft"),
    sa.Column("decision_id", sa.Uuid, comment="null: an imported row"),
    *required_texts("conversation_id", "author_id"),
    required("expected", sa.Text, comment="answer or silent"),
    sa.Column("expected_reason", sa.Text, comment="reason code of a silent decision; null: any"),
    required("labelled_by", sa.Text, comment="people whose rulings or texts are the label"),
    required("content", JSONB, comment="texts, see worker/evaluation/items.py"),
    required("recorded_at", Timestamp, comment="of the decision; of an imported row when it was imported"),
    required("created_at", Timestamp, server_default=NOW),
    sa.CheckConstraint("source IN ('decision', 'import', 'edited_draft')", name="source_known"),
    sa.CheckConstraint("expected IN ('answer', 'silent')", name="expected_known"),
    sa.CheckConstraint("(source = 'import') = (decision_id IS NULL)", name="decision_unless_imported"),
    sa.UniqueConstraint("set_id", "row_id"),
    index("ix_golden_set_items_decision", "decision_id"),
    index("ix_golden_set_items_conversation", "user_id", "conversation_id"),
)

golden_runs: Final = table(
    "golden_runs",
    "results of evaluations, without texts: append-only",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("set_id", sa.ForeignKey("golden_sets.id", ondelete="CASCADE")),
    required("set_version", sa.Integer),
    required("user_id", sa.Text, comment="the account"),
    required("arms", JSONB, comment="a list of settings, model and figures"),
    required("made_by", sa.Text, comment="login at that time"),
    required("made_at", Timestamp),
    index("ix_golden_runs_set", "set_id", "id"),
)
