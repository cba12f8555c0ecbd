"""Webhook endpoints and deliveries.

Law: as 0001. New columns are nullable or have a constant default: the previous release continues to work.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0030"
down_revision: str | Sequence[str] | None = "0029"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
ENDPOINT_COLUMNS = (
    "id, user_id, url, description, types, state, disabled_reason, secret_hint, old_secret_until, failures,"
    " failing_since, failed_at, paused_until, created_by, created_at"
)
"""What people may read: every column without the secrets."""
GRANTS = (
    "GRANT SELECT ON webhook_endpoints TO hushgate_worker",
    "GRANT UPDATE (state, disabled_reason, failures, failing_since, failed_at, paused_until) ON webhook_endpoints"
    " TO hushgate_worker",
    "GRANT SELECT, INSERT, UPDATE ON webhook_deliveries TO hushgate_worker, hushgate_reviewer",
    f"GRANT SELECT ({ENDPOINT_COLUMNS}) ON webhook_endpoints TO hushgate_reviewer",
    "GRANT INSERT, UPDATE, DELETE ON webhook_endpoints TO hushgate_reviewer",
    "GRANT UPDATE (withdrawn) ON outgoing_events TO hushgate_worker",
)
ROTATION = """
    CREATE FUNCTION {schema}.hushgate_rotate_secret(endpoint uuid, new_secret text, hint text, until timestamptz)
    RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
        UPDATE {schema}.webhook_endpoints
        SET old_secret = secret, old_secret_until = until, secret = new_secret, secret_hint = hint
        WHERE id = endpoint
    $$
"""
"""The present secret becomes the old one; the caller need not be able to read it."""
STORE = """
    CREATE FUNCTION {schema}.hushgate_store_event(
        account text, conversation text, event_type text, event_key text, content jsonb, moment timestamptz)
    RETURNS bigint LANGUAGE sql VOLATILE SET search_path = pg_catalog, {schema}, pg_temp AS $$
        INSERT INTO {schema}.outgoing_events (
            user_id, conversation_id, type, key, body, created_at, streamed_at)
        VALUES (account, conversation, event_type, event_key, content, moment, moment)
        ON CONFLICT (user_id, type, key) DO NOTHING RETURNING id
    $$
"""
"""With the rights of its caller: a commit calls it only where an endpoint subscribes."""


def upgrade() -> None:
    """Add two tables, and a mark on events that must not be sent any more."""
    op.add_column(
        "outgoing_events",
        sa.Column("withdrawn", sa.Text(), comment="why webhooks must not send it any more"),
    )
    _create_endpoints()
    _create_deliveries()
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    op.execute(ROTATION.format(schema=schema))
    op.execute(STORE.format(schema=schema))
    op.execute("REVOKE ALL ON FUNCTION hushgate_rotate_secret, hushgate_store_event FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION hushgate_rotate_secret TO hushgate_reviewer")
    op.execute("GRANT EXECUTE ON FUNCTION hushgate_store_event TO hushgate_worker")
    for statement in GRANTS:
        op.execute(statement)


def downgrade() -> None:
    """Drop them; events are on their streams as before."""
    op.execute("DROP FUNCTION hushgate_rotate_secret, hushgate_store_event")
    op.drop_table("webhook_deliveries")
    op.drop_table("webhook_endpoints")
    op.drop_column("outgoing_events", "withdrawn")


def _text(name: str, comment: str | None = None, **options: object) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), nullable=False, comment=comment, **options)  # type: ignore[arg-type]


def _create_endpoints() -> None:
    zero = sa.text("0")
    op.create_table(
        "webhook_endpoints",
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUIDv7"),
        _text("user_id", "the account; *: every account"),
        _text("url"),
        _text("description", server_default=""),
        sa.Column(
            "types",
            sa.ARRAY(sa.Text()),
            nullable=False,
            comment="types of events that are sent, such as reply.created",
        ),
        _text("state", "enabled or disabled", server_default="enabled"),
        _text("disabled_reason", "person, gone or failing", server_default=""),
        _text("secret", "signs events; only workers may read it"),
        _text("secret_hint", "first characters of the secret, for display"),
        sa.Column("old_secret", sa.Text(), comment="signs too, until old_secret_until"),
        sa.Column("old_secret_until", TIME),
        sa.Column(
            "failures",
            sa.Integer(),
            server_default=zero,
            nullable=False,
            comment="attempts since the last success",
        ),
        sa.Column("failing_since", TIME, comment="first failure since the last success"),
        sa.Column("failed_at", TIME, comment="the last failure"),
        sa.Column("paused_until", TIME, comment="the receiver asked for a pause: Retry-After"),
        _text("created_by"),
        sa.Column("created_at", TIME, server_default=sa.func.now(), nullable=False),
        sa.CheckConstraint("state IN ('enabled', 'disabled')", name=op.f("ck_webhook_endpoints_state_known")),
        sa.CheckConstraint(
            "disabled_reason IN ('', 'person', 'gone', 'failing')",
            name=op.f("ck_webhook_endpoints_disabled_reason_known"),
        ),
        sa.CheckConstraint(
            "(state = 'disabled') = (disabled_reason <> '')",
            name=op.f("ck_webhook_endpoints_disabled_for_a_reason"),
        ),
        sa.CheckConstraint(
            "num_nulls(old_secret, old_secret_until) IN (0, 2)",
            name=op.f("ck_webhook_endpoints_old_secret_ends"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_endpoints")),
        comment="addresses of accounts that events are sent to",
    )
    op.create_index("ix_webhook_endpoints_account", "webhook_endpoints", ["user_id", "id"])


def _create_deliveries() -> None:
    zero = sa.text("0")
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("endpoint_id", sa.Uuid(), nullable=False),
        sa.Column("event_row", sa.BigInteger(), nullable=False),
        _text("user_id"),
        _text("conversation_id"),
        _text("state", "waiting, succeeded, failed or cancelled", server_default="waiting"),
        sa.Column(
            "attempts",
            sa.Integer(),
            server_default=zero,
            nullable=False,
            comment="of the present run of the schedule",
        ),
        sa.Column(
            "next_attempt_at", TIME, comment="while waiting; null: after an earlier event of the conversation"
        ),
        sa.Column("lease_until", TIME, comment="an attempt runs, at most until then"),
        sa.Column(
            "may_have_arrived",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="an attempt had no answer, so the receiver may have the event",
        ),
        sa.Column("cancel_reason", sa.Text(), comment="why it is not sent"),
        sa.Column("error", sa.Text(), comment="of the last attempt"),
        sa.Column("status", sa.Integer(), comment="HTTP status of the last attempt"),
        _text("answer", "start of the last answer's body", server_default=""),
        sa.Column("duration_ms", sa.DOUBLE_PRECISION(), comment="of the last attempt"),
        sa.Column("attempted_at", TIME, comment="begin of the last attempt"),
        sa.Column("ended_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint(
            "state IN ('waiting', 'succeeded', 'failed', 'cancelled')",
            name=op.f("ck_webhook_deliveries_state_known"),
        ),
        sa.CheckConstraint(
            "cancel_reason IN ('taken_over', 'too_late', 'message_deleted', 'retracted', 'reply_not_sent')",
            name=op.f("ck_webhook_deliveries_cancel_reason_known"),
        ),
        sa.CheckConstraint(
            "(state = 'cancelled') = (cancel_reason IS NOT NULL)",
            name=op.f("ck_webhook_deliveries_cancelled_for_a_reason"),
        ),
        sa.CheckConstraint(
            "(state = 'waiting') = (ended_at IS NULL)", name=op.f("ck_webhook_deliveries_ended_once")
        ),
        sa.ForeignKeyConstraint(
            ["endpoint_id"],
            ["webhook_endpoints.id"],
            ondelete="CASCADE",
            name=op.f("fk_webhook_deliveries_endpoint_id"),
        ),
        sa.ForeignKeyConstraint(
            ["event_row"],
            ["outgoing_events.id"],
            ondelete="CASCADE",
            name=op.f("fk_webhook_deliveries_event_row"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_deliveries")),
        sa.UniqueConstraint(
            "endpoint_id", "event_row", name=op.f("uq_webhook_deliveries_endpoint_id_event_row")
        ),
        comment="one row per event and endpoint",
    )
    _create_indexes()


def _create_indexes() -> None:
    waiting = "state = 'waiting'"
    for name, columns, where in (
        ("due", ["endpoint_id", "next_attempt_at"], f"{waiting} AND next_attempt_at IS NOT NULL"),
        ("leased", ["endpoint_id"], "lease_until IS NOT NULL"),
        ("conversation", ["endpoint_id", "user_id", "conversation_id", "event_row"], waiting),
        ("list", ["endpoint_id", "id"], None),
        ("event", ["event_row"], None),
    ):
        op.create_index(
            f"ix_webhook_deliveries_{name}",
            "webhook_deliveries",
            columns,
            postgresql_where=None if where is None else sa.text(where),
        )
