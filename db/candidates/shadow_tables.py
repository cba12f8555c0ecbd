"""The tables of shadows."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB

from db.columns import EMPTY_OBJECT, NOW, ZERO, Timestamp, index, key, required, required_texts, table

shadows: Final = table(
    "shadows",
    "candidates that decide every new event of an account again, without acting",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("user_id", sa.Text, comment="the account"),
    required("candidate_id", sa.ForeignKey("candidates.id", ondelete="CASCADE")),
    required("state", sa.Text, server_default="running", comment="running, stopped or failed"),
    required("started_by", sa.Text, comment="login at that time"),
    required("reason", sa.Text, comment="why it was started"),
    required("started_at", Timestamp),
    required("usd_a_day", DOUBLE_PRECISION, comment="for new answers; 0: nothing is asked"),
    required("reached_at", Timestamp, comment="time of the last decision that was looked at"),
    required("reached_id", sa.Uuid, comment="its id"),
    required("counts", JSONB, server_default=EMPTY_OBJECT, comment="group -> decisions"),
    required("day", sa.Date, comment="UTC, of the two figures that follow"),
    required("day_decisions", sa.Integer, server_default=ZERO),
    required("day_usd", DOUBLE_PRECISION, server_default=ZERO),
    required("usd", DOUBLE_PRECISION, server_default=ZERO, comment="spent since the start"),
    sa.Column("ended_at", Timestamp),
    sa.Column("ended_by", sa.Text, comment="login, or hushgate when it was switched off"),
    sa.Column("ended_why", sa.Text),
    sa.CheckConstraint("state IN ('running', 'stopped', 'failed')", name="state_known"),
    sa.CheckConstraint("(state = 'running') = (ended_at IS NULL)", name="end_known"),
    sa.CheckConstraint("usd_a_day >= 0", name="budget_range"),
    index("ix_shadows_account", "user_id", "id"),
    index("ix_shadows_running", "candidate_id", unique=True, where="state = 'running'"),
)

shadow_results: Final = table(
    "shadow_results",
    "decisions that a shadow's candidate would have ended otherwise; sealed as recordings are",
    key("id", sa.Uuid, comment="UUIDv7"),
    *(required(name, sa.Uuid) for name in ("shadow_id", "decision_id", "candidate_id")),
    *required_texts("user_id", "conversation_id", "author_id"),
    required("decision_at", Timestamp, comment="of the decision"),
    required("kind", sa.Text, comment="as worker.replay.difference.DifferenceKind"),
    required("before_code", sa.Text, comment="reason code of the decision"),
    required("decision", sa.Text, comment="the candidate's: respond, ignore or escalate"),
    required("reason_code", sa.Text, comment="the candidate's"),
    required("reason", sa.Text, comment="the candidate's, in one sentence"),
    sa.Column("matched_rule", sa.Text, comment="the candidate's"),
    sa.Column("reply", sa.Text, comment="the candidate's, where it differs; sealed"),
    required("created_at", Timestamp, server_default=NOW),
    sa.UniqueConstraint("decision_id", "shadow_id"),
    index("ix_shadow_results_candidate", "candidate_id", "decision_at", "decision_id"),
)
