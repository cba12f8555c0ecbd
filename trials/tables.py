"""The tables of trials: candidates, backtests, rollouts, shadows, golden sets, suggestions."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB

from db.columns import EMPTY_OBJECT, NOW, ZERO, Timestamp, index, key, required, required_texts, table

candidates: Final = table(
    "candidates",
    "changes of an account's settings that are not in force",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("user_id", sa.Text, comment="the account"),
    required("base_version", sa.Integer, comment="of ai_rules, which the changes were made from"),
    required("changes", JSONB, comment="setting -> value, as worker.account_settings.changed takes it"),
    required("note", sa.Text, server_default="", comment="why, in a person's words"),
    required("source", sa.Text, comment="person, calibration or suggestion"),
    required("created_by", sa.Text, comment="login at that time; a job: its name"),
    required("created_at", Timestamp, server_default=NOW),
    sa.Column("withdrawn_at", Timestamp, comment="null: it may be tried"),
    sa.CheckConstraint("source IN ('person', 'calibration', 'suggestion')", name="source_known"),
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

rollouts: Final = table(
    "rollouts",
    "candidates that decide a share of an account's conversations",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("user_id", sa.Text, comment="the account"),
    required("candidate_id", sa.ForeignKey("candidates.id", ondelete="CASCADE")),
    required("base_version", sa.Integer, comment="of ai_rules; with any other in force nothing is tried"),
    required("share", DOUBLE_PRECISION, comment="0..1 of the conversations"),
    required("state", sa.Text, server_default="running", comment="running, returned or finished"),
    required("bounds", sa.ARRAY(sa.Text), comment="as trials.pure.rollouts.bounds reads them"),
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
    required("automatic", sa.Boolean, server_default=sa.false(), comment="a worker took it"),
    required("made_at", Timestamp, server_default=NOW),
    sa.Column("version", sa.Integer, comment="of ai_rules that the step stored, or that ended the rollout"),
    sa.Column(
        "figures",
        JSONB,
        comment="of both arms before the step, see trials.pure.rollouts.bounds; null: not measured",
    ),
    sa.CheckConstraint("kind IN ('start', 'share', 'return', 'finish')", name="kind_known"),
    index("ix_rollout_steps_rollout", "rollout_id", "id"),
)

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
    required("kind", sa.Text, comment="as trials.pure.replay.difference.DifferenceKind"),
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
    required("content", JSONB, comment="texts, see trials/pure/evaluation/items.py"),
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
