"""The tables of rollouts."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB

from db.columns import NOW, Timestamp, index, key, required, required_texts, table

rollouts: Final = table(
    "rollouts",
    "candidates that decide a share of an account's conversations",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("user_id", sa.Text, comment="the account"),
    required("candidate_id", sa.ForeignKey("candidates.id", ondelete="CASCADE")),
    required("base_version", sa.Integer, comment="of ai_rules; with any other in force nothing is tried"),
    required("share", DOUBLE_PRECISION, comment="0..1 of the conversations"),
    required("state", sa.Text, server_default="running", comment="running, returned or finished"),
    required("bounds", sa.ARRAY(sa.Text), comment="as worker.rollouts.bounds reads them"),
    required("least", sa.Integer, comment="decisions before a bound is tested"),
    required("metric", sa.Text, comment="what is compared, declared at the start"),
    required("planned", sa.Integer, comment="conversations at which the interval is narrowest"),
    required("stepped_at", Timestamp, comment="of the last step; figures are since then"),
    sa.CheckConstraint("share > 0 AND share <= 1", name="share_range"),
    sa.CheckConstraint("state IN ('running', 'returned', 'finished')", name="state_known"),
    index("ix_rollouts_account", "user_id", "id"),
    index("ix_rollouts_running", "user_id", unique=True, where="state = 'running'"),
)

rollout_steps: Final = table(
    "rollout_steps",
    "what was done with a rollout, append-only",
    key("id", sa.BigInteger, sa.Identity()),
    required("rollout_id", sa.ForeignKey("rollouts.id")),
    required("kind", sa.Text, comment="start, share, return or finish"),
    required("share", DOUBLE_PRECISION, comment="0..1, from then on"),
    *required_texts("made_by", "reason"),
    required("made_at", Timestamp, server_default=NOW),
    sa.Column("version", sa.Integer, comment="of ai_rules that the step stored, or that ended the rollout"),
    sa.Column(
        "figures",
        JSONB,
        comment="of both arms before the step, as worker.rollouts.stored writes them; null: not measured",
    ),
    sa.CheckConstraint("kind IN ('start', 'share', 'return', 'finish')", name="kind_known"),
    index("ix_rollout_steps_rollout", "rollout_id", "id"),
)
