"""The tables of trials: candidates, golden sets, trials with their steps and differences, suggestions."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB

from db.columns import (
    EMPTY_JSON_LIST,
    EMPTY_OBJECT,
    NOW,
    ZERO,
    Timestamp,
    choice,
    index,
    key,
    required,
    required_texts,
    table,
)

FIRST_ID: Final = sa.text("'00000000-0000-0000-0000-000000000000'::uuid")
"""Before every decision of a moment."""

candidates: Final = table(
    "candidates",
    "changes of an account's settings that are not in force",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("user_id", sa.Text, comment="the account"),
    required("base_version", sa.Integer, comment="of ai_rules, which the changes were made from"),
    required("changes", JSONB, comment="setting -> value, as worker.account_settings.changed takes it"),
    required("note", sa.Text, server_default="", comment="why, in a person's words"),
    *choice("source", "person calibration suggestion"),
    required("created_by", sa.Text, comment="login at that time; a job: its name"),
    required("created_at", Timestamp, server_default=NOW),
    sa.Column("withdrawn_at", Timestamp, comment="null: it may be tried"),
    sa.CheckConstraint("jsonb_typeof(changes) = 'object' AND changes <> '{}'", name="changes_are_some"),
    index("ix_candidates_account", "user_id", "id"),
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
    *choice("source", "decision import edited_draft"),
    sa.Column("decision_id", sa.Uuid, comment="null: an imported row"),
    *required_texts("conversation_id", "author_id"),
    *choice("expected", "answer silent"),
    sa.Column("expected_reason", sa.Text, comment="reason code of a silent decision; null: any"),
    required("labelled_by", sa.Text, comment="people whose rulings or texts are the label"),
    required("content", JSONB, comment="texts, see trials/pure/evaluation/items.py"),
    required("recorded_at", Timestamp, comment="of the decision; of an imported row when it was imported"),
    required("created_at", Timestamp, server_default=NOW),
    sa.CheckConstraint("(source = 'import') = (decision_id IS NULL)", name="decision_unless_imported"),
    sa.UniqueConstraint("set_id", "row_id"),
    index("ix_golden_set_items_decision", "decision_id"),
    index("ix_golden_set_items_conversation", "user_id", "conversation_id"),
)

trials: Final = table(
    "trials",
    "changed settings that are tried, and what came of it",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("user_id", sa.Text, comment="the account"),
    *choice("kind", "backtest evaluation shadow rollout"),
    *choice("state", "running finished returned stopped failed", server_default="running"),
    sa.Column("candidate_id", sa.ForeignKey("candidates.id", ondelete="CASCADE"), comment="null: typed"),
    required("base_version", sa.Integer, comment="of ai_rules, which the changes were made from"),
    required("changes", JSONB, comment="setting -> value"),
    sa.Column("set_id", sa.ForeignKey("golden_sets.id", ondelete="CASCADE"), comment="of an evaluation"),
    sa.Column("since", Timestamp, comment="decisions of a backtest from then on"),
    sa.Column("until", Timestamp, comment="and before then; null: every new decision"),
    required("reached_at", Timestamp, server_default=NOW, comment="time of the last seen decision"),
    required("reached_id", sa.Uuid, server_default=FIRST_ID, comment="its id"),
    sa.Column("share", DOUBLE_PRECISION, comment="0..1 of the conversations that a rollout decides"),
    required(
        "usd_a_day", DOUBLE_PRECISION, server_default=ZERO, comment="for new answers; 0: nothing is asked"
    ),
    required("plan", JSONB, server_default=EMPTY_OBJECT, comment="what a kind declares further at its start"),
    required("started_at", Timestamp, server_default=NOW),
    required("stepped_at", Timestamp, server_default=NOW, comment="of the last step, or of the end"),
    required("done", sa.Integer, server_default=ZERO, comment="decisions that were looked at"),
    required("counts", JSONB, server_default=EMPTY_OBJECT, comment="group -> decisions, and more figures"),
    required("examples", JSONB, server_default=EMPTY_JSON_LIST, comment="ids and reasons, without texts"),
    sa.Column("arms", JSONB, comment="of an evaluation: settings, model and figures, without texts"),
    sa.Column("day", sa.Date, comment="UTC, of the two figures that follow"),
    required("day_decisions", sa.Integer, server_default=ZERO),
    required("day_usd", DOUBLE_PRECISION, server_default=ZERO),
    required("usd", DOUBLE_PRECISION, server_default=ZERO, comment="spent since the start"),
    sa.CheckConstraint("(kind = 'rollout') = (share IS NOT NULL)", name="share_of_rollouts"),
    sa.CheckConstraint("share > 0 AND share <= 1", name="share_range"),
    sa.CheckConstraint("usd_a_day >= 0", name="budget_range"),
    sa.CheckConstraint("(kind = 'evaluation') = (set_id IS NOT NULL)", name="set_of_evaluations"),
    sa.CheckConstraint(
        "kind IN ('backtest', 'evaluation') OR candidate_id IS NOT NULL", name="candidate_known"
    ),
    index("ix_trials_account", "user_id", "kind", "id"),
    index("ix_trials_set", "set_id", "id", where="set_id IS NOT NULL"),
    index("ix_trials_rollout", "user_id", unique=True, where="kind = 'rollout' AND state = 'running'"),
    index("ix_trials_shadow", "candidate_id", unique=True, where="kind = 'shadow' AND state = 'running'"),
)

trial_steps: Final = table(
    "trial_steps",
    "who started, changed and ended a trial, and why: append-only",
    key("id", sa.BigInteger, sa.Identity()),
    required("trial_id", sa.ForeignKey("trials.id", ondelete="CASCADE")),
    *choice("kind", "start share return finish stop fail"),
    sa.Column("share", DOUBLE_PRECISION, comment="0..1, of a rollout from then on"),
    *required_texts("made_by", "reason"),
    required("automatic", sa.Boolean, server_default=sa.false(), comment="the engine took it"),
    required("made_at", Timestamp, server_default=NOW),
    sa.Column("version", sa.Integer, comment="of ai_rules that the step stored, or that ended the rollout"),
    sa.Column(
        "figures",
        JSONB,
        comment="of both arms before the step, see trials.pure.rollouts.bounds; null: not measured",
    ),
    index("ix_trial_steps_trial", "trial_id", "id"),
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
        server_default=EMPTY_JSON_LIST,
        comment="evidence, edits and ids of decisions; words of at least two authors, no messages",
    ),
)
