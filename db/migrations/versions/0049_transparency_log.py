"""The transparency log: a signed Merkle tree over decisions and reviews.

Law: as 0001. The previous release ignores the tables.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

# expand-only: CREATE TRIGGER waits for transactions that write, which are short; lock_timeout ends a longer wait
revision: str = "0049"
down_revision: str | Sequence[str] | None = "0046"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
TABLES = ("audit_log_leaves", "audit_log_nodes", "audit_log_checkpoints", "audit_log_removals")
FORGET = """
    CREATE FUNCTION {schema}.hushgate_forget_leaves() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    DECLARE
        swept boolean := TG_OP = 'DELETE' AND current_setting('hushgate.sweeping', true) = 'on';
        ids uuid[];
    BEGIN
        IF NOT swept AND current_setting('hushgate.erasing', true) IS DISTINCT FROM 'on' THEN
            RETURN NULL;
        END IF;
        -- a run of `append` that has read the row before this change inserts its leaf first
        PERFORM pg_advisory_xact_lock(hashtextextended('hushgate transparency log', 0))
            WHERE EXISTS (SELECT FROM audit_log_checkpoints);
        SELECT array_agg(l.subject_id) INTO ids FROM gone g
            JOIN audit_log_leaves l ON l.kind = TG_ARGV[0] AND l.subject_id = g.id WHERE l.salt IS NOT NULL;
        IF ids IS NOT NULL THEN
            INSERT INTO audit_log_removals (id, kind, reason, subjects) VALUES (
                gen_random_uuid(), TG_ARGV[0], CASE WHEN swept THEN 'retention' ELSE 'erasure' END, to_jsonb(ids));
            UPDATE audit_log_leaves SET salt = NULL WHERE kind = TG_ARGV[0] AND subject_id = ANY(ids);
        END IF;
        RETURN NULL;
    END $$
"""
"""Rows that an erasure empties and rows that a sweep deletes lose their salts, and the removal is recorded.

Without an erasure or a sweep under way nothing is recorded: then the change is found by `audit-log verify`.
"""
LOGGED = {"ai_decisions": "decision", "decision_reviews": "review"}
GRANTS = (
    f"GRANT SELECT, INSERT ON {', '.join(TABLES)} TO hushgate_reviewer",
    "GRANT UPDATE (salt) ON audit_log_leaves TO hushgate_reviewer",
    "GRANT UPDATE (through) ON audit_log_checkpoints TO hushgate_reviewer",
)


def upgrade() -> None:
    """Add the tables, for the login of the review pages only."""
    _create_leaves()
    op.create_table(
        "audit_log_nodes",
        sa.Column("height", sa.SmallInteger(), autoincrement=False, nullable=False, comment="8, 16, ..."),
        sa.Column(
            "position",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="from the left, among those of its height",
        ),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("height", "position", name="pk_audit_log_nodes"),
        comment="hashes of complete subtrees of 256, 65536, ... leaves",
    )
    _create_checkpoints()
    _create_removals()
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    op.execute(FORGET.format(schema=schema))
    op.execute("REVOKE ALL ON FUNCTION hushgate_forget_leaves FROM PUBLIC")
    for table, kind in LOGGED.items():
        for action in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER forget_leaves_{action.lower()} AFTER {action} ON {table}"
                f" REFERENCING OLD TABLE AS gone FOR EACH STATEMENT"
                f" EXECUTE FUNCTION hushgate_forget_leaves('{kind}')"
            )
    for statement in GRANTS:
        op.execute(statement)


def downgrade() -> None:
    """Drop the tables; keep an export where the log must stay provable."""
    for table in LOGGED:
        for action in ("update", "delete"):
            op.execute(f"DROP TRIGGER forget_leaves_{action} ON {table}")
    op.execute("DROP FUNCTION hushgate_forget_leaves")
    for name in reversed(TABLES):
        op.drop_table(name)


def _create_leaves() -> None:
    op.create_table(
        "audit_log_leaves",
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False, comment="0, 1, 2, ..."),
        sa.Column("kind", sa.Text(), nullable=False, comment="decision, review or removal"),
        sa.Column("subject_id", sa.Uuid(), nullable=False, comment="of the decision, review or removal"),
        sa.Column("subject_at", TIME, nullable=False, comment="its created_at"),
        sa.Column("salt", sa.LargeBinary(), nullable=True, comment="null: erased with its row"),
        sa.Column("hash", sa.LargeBinary(), nullable=False, comment="RFC 6962 leaf hash"),
        sa.CheckConstraint(
            "kind IN ('decision', 'review', 'removal')", name=op.f("ck_audit_log_leaves_kind_known")
        ),
        sa.PrimaryKeyConstraint("position", name="pk_audit_log_leaves"),
        comment="leaves of the transparency log, in order; a hash is never changed",
    )
    op.create_index("ix_audit_log_leaves_subject", "audit_log_leaves", ["kind", "subject_id"], unique=True)
    op.create_index(
        "ix_audit_log_leaves_salted",
        "audit_log_leaves",
        ["kind", "subject_at"],
        postgresql_where=sa.text("salt IS NOT NULL"),
    )


def _create_checkpoints() -> None:
    op.create_table(
        "audit_log_checkpoints",
        sa.Column("size", sa.BigInteger(), autoincrement=False, nullable=False, comment="leaves"),
        sa.Column("signed", sa.Text(), nullable=False, comment="C2SP checkpoint with its signature"),
        sa.Column(
            "verifier_key", sa.Text(), nullable=False, comment="public key, as C2SP signed-note writes it"
        ),
        sa.Column("through", TIME, nullable=False, comment="rows older than this were looked for"),
        sa.Column("created_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("size", name="pk_audit_log_checkpoints"),
        comment="signed roots of the transparency log",
    )


def _create_removals() -> None:
    op.create_table(
        "audit_log_removals",
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUID"),
        sa.Column("kind", sa.Text(), nullable=False, comment="decision or review"),
        sa.Column("reason", sa.Text(), nullable=False, comment="retention or erasure"),
        sa.Column(
            "before", TIME, nullable=True, comment="months that were dropped: rows created before this"
        ),
        sa.Column("subjects", JSONB(), nullable=True, comment="ids of the rows"),
        sa.Column("created_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("kind IN ('decision', 'review')", name=op.f("ck_audit_log_removals_kind_known")),
        sa.CheckConstraint(
            "reason IN ('retention', 'erasure')", name=op.f("ck_audit_log_removals_reason_known")
        ),
        sa.CheckConstraint(
            "num_nulls(before, subjects) = 1", name=op.f("ck_audit_log_removals_rows_named_once")
        ),
        sa.PrimaryKeyConstraint("id", name="pk_audit_log_removals"),
        comment="rows that were deleted or emptied on purpose; each becomes a leaf itself",
    )
    op.create_index("ix_audit_log_removals_created_at", "audit_log_removals", ["created_at"])
