"""Outgoing events, escalations, and what an account wants of them.

Law: as 0001. New columns are nullable or have a constant default: the previous release continues to work.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0029"
down_revision: str | Sequence[str] | None = "0028"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

EMPTY_OBJECT = sa.text("'{}'::jsonb")
OBJECTS = {
    "handoff_texts": "language -> text to the author at a handoff; empty: none",
    "handoff_texts_closed": "language -> text outside business hours; empty: as handoff_texts",
    "escalation_actions": "reason code or matched rule -> escalate or silence",
    "escalation_queues": "matched rule, label:<name>=<value>, reason code or * -> queue",
    "business_hours": "weekday -> ranges such as 09:00-17:00; empty: always open",
}
ORIGINS = "origin IN ('ai', 'handoff', 'person')"
TIME = sa.DateTime(timezone=True)
SWEEPS = (
    """
    CREATE FUNCTION {schema}.hushgate_sweep_outgoing(moment timestamptz) RETURNS bigint {definer}
    DECLARE
        gone bigint;
    BEGIN
        IF moment > now() - interval '6 days' THEN
            RAISE EXCEPTION 'retention: expected a moment at least 6 days ago, got %', moment;
        END IF;
        DELETE FROM {schema}.outgoing_events WHERE created_at < moment AND streamed_at IS NOT NULL;
        GET DIAGNOSTICS gone = ROW_COUNT;
        RETURN gone;
    END $$
    """,
    """
    CREATE FUNCTION {schema}.hushgate_sweep_escalations(moment timestamptz) RETURNS bigint {definer}
    DECLARE
        gone bigint;
    BEGIN
        IF moment > now() - interval '28 days' THEN
            RAISE EXCEPTION 'retention: expected a moment at least 28 days ago, got %', moment;
        END IF;
        DELETE FROM {schema}.escalations WHERE opened_at < moment AND closed_at IS NOT NULL;
        GET DIAGNOSTICS gone = ROW_COUNT;
        RETURN gone;
    END $$
    """,
)
DEFINER = "LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$"
GRANTS = (
    "GRANT SELECT, INSERT ON outgoing_events, escalations TO hushgate_worker, hushgate_reviewer",
    "GRANT UPDATE (streamed_at, fanned_out_at) ON outgoing_events TO hushgate_worker",
    "GRANT UPDATE (closed_at, closed_by, cause) ON escalations TO hushgate_worker, hushgate_reviewer",
    "GRANT SELECT (decision_id, state, last_review, updated_at) ON review_states TO hushgate_worker",
    "GRANT SELECT (id, person) ON decision_reviews TO hushgate_worker",
    "REVOKE ALL ON FUNCTION hushgate_sweep_outgoing, hushgate_sweep_escalations FROM PUBLIC",
    "GRANT EXECUTE ON FUNCTION hushgate_sweep_outgoing, hushgate_sweep_escalations TO hushgate_worker",
)


def upgrade() -> None:
    """Add two tables, the origin of replies and the settings."""
    _create_outgoing_events()
    _create_escalations()
    op.add_column(
        "outbox",
        sa.Column(
            "origin",
            sa.Text(),
            server_default="ai",
            nullable=False,
            comment="ai, handoff (the account's text at a handoff) or person",
        ),
    )
    op.execute(f"ALTER TABLE outbox ADD CONSTRAINT ck_outbox_origin_known CHECK ({ORIGINS}) NOT VALID")
    op.execute("ALTER TABLE outbox VALIDATE CONSTRAINT ck_outbox_origin_known")
    _add_settings()
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    for sweep in SWEEPS:
        op.execute(sweep.format(schema=schema, definer=DEFINER.format(schema=schema)))
    for statement in GRANTS:
        op.execute(statement)


def downgrade() -> None:
    """Drop them; texts at handoffs that wait are not sent, because the previous release would cancel them."""
    op.execute(
        "REVOKE SELECT (decision_id, state, last_review, updated_at) ON review_states FROM hushgate_worker"
    )
    op.execute("REVOKE SELECT (id, person) ON decision_reviews FROM hushgate_worker")
    op.execute("DROP FUNCTION hushgate_sweep_outgoing, hushgate_sweep_escalations")
    for name in ("holidays", "time_zone", *reversed(OBJECTS)):
        op.drop_column("ai_rules", name)
    op.drop_column("outbox", "origin")
    op.drop_table("escalations")
    op.drop_table("outgoing_events")


def _create_outgoing_events() -> None:
    op.create_table(
        "outgoing_events",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False, comment="such as escalation.opened"),
        sa.Column(
            "key",
            sa.Text(),
            nullable=False,
            comment="unique within account and type, such as the decision's id",
        ),
        sa.Column(
            "body",
            JSONB(),
            nullable=False,
            comment="the fields of the type's schema, see tasks/sending/outgoing.py",
        ),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("streamed_at", TIME, comment="put on its stream; at once for a type without a stream"),
        sa.Column("fanned_out_at", TIME, comment="webhook deliveries were made from it"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outgoing_events")),
        sa.UniqueConstraint("user_id", "type", "key", name=op.f("uq_outgoing_events_user_id_type_key")),
        comment="what changed, for streams and webhooks; stored in the transaction of the change",
    )
    for name, column in (("to_stream", "streamed_at"), ("to_fan_out", "fanned_out_at")):
        where = sa.text(f"{column} IS NULL")
        op.create_index(f"ix_outgoing_events_{name}", "outgoing_events", ["id"], postgresql_where=where)
    op.create_index("ix_outgoing_events_created_at", "outgoing_events", ["created_at"])


def _create_escalations() -> None:
    op.create_table(
        "escalations",
        sa.Column("decision_id", sa.Uuid(), nullable=False, comment="UUIDv7"),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in ("user_id", "event_id", "conversation_id", "message_id", "author_id", "scope")
        ),
        sa.Column("reason_code", sa.Text(), nullable=False, comment="of the decision"),
        sa.Column(
            "queue",
            sa.Text(),
            nullable=False,
            comment="of the account's escalation_queues; empty: none named",
        ),
        sa.Column("opened_at", TIME, nullable=False),
        sa.Column("closed_at", TIME, comment="null: it is open"),
        sa.Column("closed_by", sa.Text(), comment="agent, login or empty"),
        sa.Column("cause", sa.Text(), comment="why it was closed"),
        sa.CheckConstraint(
            "cause IN ('released', 'answered', 'idle', 'reviewed', 'replaced')",
            name=op.f("ck_escalations_cause_known"),
        ),
        sa.CheckConstraint(
            "num_nulls(closed_at, closed_by, cause) IN (0, 3)", name=op.f("ck_escalations_closed_completely")
        ),
        sa.PrimaryKeyConstraint("decision_id", name=op.f("pk_escalations")),
        comment="decisions that people must answer; at most one of a conversation is open",
    )
    is_open = sa.text("closed_at IS NULL")
    op.create_index("ix_escalations_open", "escalations", ["decision_id"], postgresql_where=is_open)
    op.create_index("ix_escalations_conversation", "escalations", ["user_id", "conversation_id", "opened_at"])
    op.create_index("ix_escalations_opened_at", "escalations", ["opened_at"])


def _add_settings() -> None:
    for name, comment in OBJECTS.items():
        op.add_column(
            "ai_rules",
            sa.Column(name, JSONB(), server_default=EMPTY_OBJECT, nullable=False, comment=comment),
        )
        values = f"jsonb_typeof({name}) = 'object' AND NOT jsonb_path_exists({name}, '$.* ? (@.type() <> \"string\")')"
        op.create_check_constraint(op.f(f"ck_ai_rules_{name}_are_text"), "ai_rules", values)
    op.add_column(
        "ai_rules",
        sa.Column(
            "time_zone", sa.Text(), server_default="UTC", nullable=False, comment="IANA, of business_hours"
        ),
    )
    op.add_column(
        "ai_rules",
        sa.Column(
            "holidays",
            sa.ARRAY(sa.Text()),
            server_default=sa.text("'{}'::text[]"),
            nullable=False,
            comment="dates such as 2026-12-25",
        ),
    )
