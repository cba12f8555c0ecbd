"""Drafts that were not sent are kept for people, and people can answer.

Law: as 0001. New columns are nullable or have a constant default: the previous release continues to work.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0031"
down_revision: str | Sequence[str] | None = "0030"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
EMPTY_ARRAY = sa.text("'[]'::jsonb")
EMPTY_OBJECT = sa.text("'{}'::jsonb")
SWEEP = """
    CREATE FUNCTION {schema}.hushgate_sweep_held_drafts(moment timestamptz) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    DECLARE
        gone bigint;
    BEGIN
        IF moment > now() + interval '1 minute' THEN
            RAISE EXCEPTION 'held drafts: expected a moment not after now, got %', moment
                USING HINT = 'a clock may be ahead of Postgres by up to one minute';
        END IF;
        DELETE FROM {schema}.held_drafts WHERE expires_at < moment;
        GET DIAGNOSTICS gone = ROW_COUNT;
        RETURN gone;
    END $$
"""
GRANTS = (
    "REVOKE ALL ON FUNCTION hushgate_sweep_held_drafts FROM PUBLIC",
    "GRANT EXECUTE ON FUNCTION hushgate_sweep_held_drafts TO hushgate_worker",
    "GRANT INSERT ON held_drafts TO hushgate_worker",
    "GRANT SELECT ON held_drafts TO hushgate_reviewer",
    "GRANT SELECT, INSERT ON answers TO hushgate_reviewer",
    "GRANT INSERT ON outbox TO hushgate_reviewer",
    """
    CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON answers
        FOR EACH ROW EXECUTE FUNCTION hushgate_append_only()
    """,
    """
    CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON answers
        FOR EACH STATEMENT EXECUTE FUNCTION hushgate_append_only()
    """,
)


def upgrade() -> None:
    """Add two tables, the settings, and the rights of workers and reviewers."""
    _create_held_drafts()
    _create_answers()
    _add_settings()
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    op.execute(SWEEP.format(schema=schema))
    for statement in GRANTS:
        op.execute(statement)


def downgrade() -> None:
    """Drop them; answers of people that were sent stay in the outbox."""
    op.execute("REVOKE INSERT ON outbox FROM hushgate_reviewer")
    op.execute("DROP FUNCTION hushgate_sweep_held_drafts")
    for name in ("keep_drafts_days", "auto_from_confidence", "auto_reasons", "reply_mode"):
        op.drop_column("ai_rules", name)
    op.drop_table("answers")
    op.drop_table("held_drafts")


def _create_held_drafts() -> None:
    op.create_table(
        "held_drafts",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in ("user_id", "conversation_id", "message_id")
        ),
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column("reason_code", sa.Text(), nullable=False, comment="of the decision"),
        sa.Column("kind", sa.Text(), nullable=False, comment="reply, draft or recheck"),
        sa.Column("text", sa.Text(), nullable=False, comment="as it would be sent"),
        sa.Column("draft", sa.Text(), comment="with its citation marks; null: no model wrote the text"),
        sa.Column(
            "sources",
            JSONB(),
            server_default=EMPTY_ARRAY,
            nullable=False,
            comment="the passages that the draft cites",
        ),
        sa.Column(
            "passages",
            JSONB(),
            server_default=EMPTY_ARRAY,
            nullable=False,
            comment="the passages that the model was shown: id, title, text and its SHA-256",
        ),
        sa.Column("confidence", sa.DOUBLE_PRECISION(), comment="null: not measured"),
        sa.Column("tier", sa.Text(), comment="null: not measured"),
        sa.Column("metadata", JSONB(), server_default=EMPTY_OBJECT, nullable=False, comment="as in outbox"),
        sa.Column("send_before", TIME, comment="not approved unchanged after this"),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False, comment="swept after this"),
        sa.CheckConstraint("kind IN ('reply', 'draft', 'recheck')", name=op.f("ck_held_drafts_kind_known")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_held_drafts")),
        comment="drafts and replies that were not sent, sealed: the worker may write here and never read",
    )
    op.create_index("ix_held_drafts_decision_id", "held_drafts", ["decision_id"])
    op.create_index("ix_held_drafts_expires_at", "held_drafts", ["expires_at"])
    waits = sa.text("reason_code = 'HELD_FOR_APPROVAL' AND kind = 'reply'")
    op.create_index(
        "ix_held_drafts_for_approval",
        "held_drafts",
        ["send_before"],
        postgresql_where=waits,
    )


def _create_answers() -> None:
    op.create_table(
        "answers",
        sa.Column(
            "id",
            sa.Uuid(),
            nullable=False,
            comment="of the form; also decision_id of its outbox row and of its line in messages",
        ),
        sa.Column("decision_id", sa.Uuid(), nullable=False, comment="the decision of the AI that it answers"),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in ("user_id", "conversation_id", "message_id", "scope")
        ),
        sa.Column(
            "outcome",
            sa.Text(),
            nullable=False,
            comment="unchanged, edited, replaced, written or dismissed",
        ),
        sa.Column("text", sa.Text(), comment="as sent; null: dismissed"),
        sa.Column("draft", sa.Text(), comment="the text of the AI that the person was shown"),
        sa.Column("held_id", sa.BigInteger(), comment="its row of held_drafts, swept earlier than this one"),
        sa.Column("person_id", sa.Uuid()),
        sa.Column("person", sa.Text(), nullable=False, comment="login at that time"),
        sa.Column(
            "released",
            sa.Boolean(),
            nullable=False,
            comment="the conversation was given back to the AI with it",
        ),
        sa.Column(
            "rules_version",
            sa.Integer(),
            nullable=False,
            comment="of ai_rules, whose rules tested the text",
        ),
        sa.Column(
            "checks", JSONB(), server_default=EMPTY_OBJECT, nullable=False, comment="moderation of the text"
        ),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint(
            "outcome IN ('unchanged', 'edited', 'replaced', 'written', 'dismissed')",
            name=op.f("ck_answers_outcome_known"),
        ),
        sa.CheckConstraint(
            "(outcome = 'dismissed') = (text IS NULL)", name=op.f("ck_answers_text_unless_dismissed")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_answers")),
        comment="decisions of people on messages that the AI did not answer: append-only",
    )
    op.create_index("ix_answers_decision_id", "answers", ["decision_id", "created_at"])
    op.create_index("ix_answers_account", "answers", ["user_id", "created_at"])
    op.create_index("ix_answers_created_at", "answers", ["created_at"])


def _add_settings() -> None:
    op.add_column(
        "ai_rules",
        sa.Column("reply_mode", sa.Text(), server_default="auto", nullable=False, comment="auto or suggest"),
    )
    op.add_column(
        "ai_rules",
        sa.Column(
            "auto_reasons",
            sa.ARRAY(sa.Text()),
            server_default=sa.text("'{}'::text[]"),
            nullable=False,
            comment="with suggest, reasons whose replies are sent at once",
        ),
    )
    op.add_column(
        "ai_rules",
        sa.Column(
            "auto_from_confidence",
            sa.DOUBLE_PRECISION(),
            comment="with suggest, the confidence from which replies are sent at once; null: none",
        ),
    )
    op.add_column(
        "ai_rules",
        sa.Column(
            "keep_drafts_days",
            sa.DOUBLE_PRECISION(),
            server_default=sa.text("30"),
            nullable=False,
            comment="how long drafts that were not sent are kept",
        ),
    )
    for name, condition in (
        ("reply_mode_known", "reply_mode IN ('auto', 'suggest')"),
        ("auto_from_confidence_is_share", "auto_from_confidence BETWEEN 0 AND 1"),
        ("keep_drafts_days_bounded", "keep_drafts_days BETWEEN 1 AND 365"),
    ):
        op.create_check_constraint(op.f(f"ck_ai_rules_{name}"), "ai_rules", condition)
