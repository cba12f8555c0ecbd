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
PATH = "SET search_path = pg_catalog, {schema}, pg_temp"
# A lock of a table, because any login can take an advisory lock and stop the log.
LOCK_LOG = """
    CREATE FUNCTION {schema}.hushgate_lock_log() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
    BEGIN
        LOCK TABLE audit_log_checkpoints IN SHARE ROW EXCLUSIVE MODE NOWAIT;
        RETURN true;
    EXCEPTION WHEN lock_not_available THEN
        RETURN false;
    END $$
"""
# A run of `append` that has read a row before this change inserts its leaf first.
LOCK = """IF EXISTS (SELECT FROM audit_log_checkpoints) THEN
            LOCK TABLE audit_log_checkpoints IN SHARE ROW EXCLUSIVE MODE;
        END IF"""
FORGET_ROWS = """
    CREATE FUNCTION {schema}.hushgate_forget_rows() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
    DECLARE
        limit_of_sweep text := nullif(current_setting('hushgate.swept_before', true), '');
        ids uuid[];
    BEGIN
        IF current_setting('hushgate.sweeping', true) IS DISTINCT FROM 'on' OR limit_of_sweep IS NULL THEN
            RETURN NULL;
        END IF;
        {lock};
        SELECT array_agg(l.subject_id) INTO ids FROM gone g
            JOIN audit_log_leaves l ON l.kind = TG_ARGV[0] AND l.subject_id = g.id WHERE l.kept_salt IS NOT NULL;
        IF ids IS NOT NULL THEN
            INSERT INTO audit_log_removals (id, kind, reason, before, subjects) VALUES (
                gen_random_uuid(), TG_ARGV[0], 'retention', limit_of_sweep::timestamptz, to_jsonb(ids));
            UPDATE audit_log_leaves SET salt = NULL, kept_salt = NULL
                WHERE kind = TG_ARGV[0] AND subject_id = ANY(ids);
        END IF;
        RETURN NULL;
    END $$
"""
"""Rows that a sweep deletes lose their salts, and the removal is recorded with the limit of the sweep."""
FORGET_TEXTS = """
    CREATE FUNCTION {schema}.hushgate_forget_texts() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
    DECLARE
        erasure uuid := nullif(current_setting('hushgate.erasure', true), '');
        ids uuid[];
    BEGIN
        IF current_setting('hushgate.erasing', true) IS DISTINCT FROM 'on' OR NOT EXISTS (
                SELECT FROM erasures e WHERE e.id = erasure AND e.confirmed_at IS NOT NULL
                    AND e.started_at IS NOT NULL AND e.finished_at IS NULL) THEN
            RETURN NULL;
        END IF;
        {lock};
        IF TG_ARGV[0] = 'decision' THEN
            SELECT array_agg(l.subject_id) INTO ids FROM changed c
                JOIN audit_log_leaves l ON l.kind = 'decision' AND l.subject_id = c.id
                WHERE l.salt IS NOT NULL AND c.snapshot_json ? 'erased' AND c.message_text = '';
        ELSE
            SELECT array_agg(l.subject_id) INTO ids FROM changed c
                JOIN audit_log_leaves l ON l.kind = 'review' AND l.subject_id = c.id
                WHERE l.salt IS NOT NULL AND c.note = '';
        END IF;
        IF ids IS NOT NULL THEN
            INSERT INTO audit_log_removals (id, kind, reason, erasure_id, subjects)
                VALUES (gen_random_uuid(), TG_ARGV[0], 'erasure', erasure, to_jsonb(ids));
            UPDATE audit_log_leaves SET salt = NULL WHERE kind = TG_ARGV[0] AND subject_id = ANY(ids);
        END IF;
        RETURN NULL;
    END $$
"""
"""Rows that an erasure under way empties lose the salt of their texts, and the removal names the erasure.

Without an erasure or a sweep nothing is recorded: then the change is found by `audit-log verify`.
"""
# A month that was dropped at once leaves its salts; a salt goes only when its row is gone.
FORGET_DROPPED = """
    CREATE FUNCTION {schema}.hushgate_forget_dropped(most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
    DECLARE
        forgotten bigint;
    BEGIN
        UPDATE audit_log_leaves SET salt = NULL, kept_salt = NULL WHERE position = ANY(ARRAY(
            SELECT l.position FROM audit_log_removals r JOIN audit_log_leaves l
                ON l.kind = r.kind AND l.subject_at >= r.since AND l.subject_at < r.before
            WHERE r.subjects IS NULL AND l.kept_salt IS NOT NULL AND NOT EXISTS (
                SELECT FROM ai_decisions d WHERE d.created_at = l.subject_at AND d.id = l.subject_id)
            LIMIT most));
        GET DIAGNOSTICS forgotten = ROW_COUNT;
        RETURN forgotten;
    END $$
"""
FUNCTIONS = "hushgate_lock_log, hushgate_forget_rows, hushgate_forget_texts, hushgate_forget_dropped"
TRIGGERS = {
    "forget_texts": ("UPDATE", "NEW TABLE AS changed"),
    "forget_rows": ("DELETE", "OLD TABLE AS gone"),
}
LOGGED = {"ai_decisions": "decision", "decision_reviews": "review"}
ROLE = (
    """
    DO $$
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'hushgate_audit') THEN
            CREATE ROLE hushgate_audit NOLOGIN;
        END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END $$
    """,
    "GRANT hushgate_audit TO CURRENT_USER",
    """
    DO $$
    BEGIN
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO hushgate_audit', current_schema());
    END $$
    """,
)
GRANTS = (
    f"GRANT SELECT ON {', '.join(TABLES)}, ai_decisions, decision_reviews, erasures TO hushgate_audit",
    "GRANT INSERT ON audit_log_leaves, audit_log_nodes, audit_log_checkpoints TO hushgate_audit",
    "GRANT UPDATE (through) ON audit_log_checkpoints TO hushgate_audit",
    "GRANT EXECUTE ON FUNCTION hushgate_lock_log, hushgate_forget_dropped TO hushgate_audit",
    f"GRANT SELECT ON {', '.join(TABLES)} TO hushgate_reviewer",
)


def upgrade() -> None:
    """Add the role, the tables and the triggers: only the log's own login writes, and only new leaves."""
    for statement in ROLE:
        op.execute(statement)
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
    for function in (LOCK_LOG, FORGET_ROWS, FORGET_TEXTS, FORGET_DROPPED):
        op.execute(function.format(schema=schema, path=PATH.format(schema=schema), lock=LOCK))
    op.execute(f"REVOKE ALL ON FUNCTION {FUNCTIONS} FROM PUBLIC")
    for table, kind in LOGGED.items():
        for name, (action, rows) in TRIGGERS.items():
            op.execute(
                f"CREATE TRIGGER {name} AFTER {action} ON {table} REFERENCING {rows}"
                f" FOR EACH STATEMENT EXECUTE FUNCTION hushgate_{name}('{kind}')"
            )
    for statement in GRANTS:
        op.execute(statement)


def downgrade() -> None:
    """Drop the tables; keep an export where the log must stay provable."""
    for table in LOGGED:
        for name in TRIGGERS:
            op.execute(f"DROP TRIGGER {name} ON {table}")
    op.execute(f"DROP FUNCTION {FUNCTIONS}")
    for name in reversed(TABLES):
        op.drop_table(name)


def _create_leaves() -> None:
    op.create_table(
        "audit_log_leaves",
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False, comment="0, 1, 2, ..."),
        sa.Column("kind", sa.Text(), nullable=False, comment="decision, review, removal or limit"),
        sa.Column("subject_id", sa.Uuid(), nullable=False, comment="of the row"),
        sa.Column("subject_at", TIME, nullable=False, comment="its created_at"),
        sa.Column("due_from", TIME, nullable=False, comment="the time that retention counts from"),
        sa.Column("salt", sa.LargeBinary(), nullable=True, comment="of erasable_hash; null: texts erased"),
        sa.Column("kept_salt", sa.LargeBinary(), nullable=True, comment="of kept_hash; null: row deleted"),
        sa.Column(
            "kept_hash", sa.LargeBinary(), nullable=False, comment="SHA-256 of salt and what an erasure keeps"
        ),
        sa.Column(
            "erasable_hash", sa.LargeBinary(), nullable=False, comment="SHA-256 of salt and what it empties"
        ),
        sa.Column("hash", sa.LargeBinary(), nullable=False, comment="RFC 6962 leaf hash"),
        sa.CheckConstraint(
            "kind IN ('decision', 'review', 'removal', 'limit')", name=op.f("ck_audit_log_leaves_kind_known")
        ),
        sa.PrimaryKeyConstraint("position", name="pk_audit_log_leaves"),
        comment="leaves of the transparency log, in order; a hash is never changed",
    )
    op.create_index("ix_audit_log_leaves_subject", "audit_log_leaves", ["kind", "subject_id"], unique=True)
    op.create_index(
        "ix_audit_log_leaves_salted",
        "audit_log_leaves",
        ["kind", "subject_at"],
        postgresql_where=sa.text("kept_salt IS NOT NULL"),
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
        sa.Column("since", TIME, nullable=True, comment="a month that was dropped at once: its start"),
        sa.Column("before", TIME, nullable=True, comment="of retention: only rows of before this were due"),
        sa.Column("erasure_id", sa.Uuid(), nullable=True, comment="of an erasure: its request"),
        sa.Column("subjects", JSONB(), nullable=True, comment="ids of the rows"),
        sa.Column("created_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("kind IN ('decision', 'review')", name=op.f("ck_audit_log_removals_kind_known")),
        sa.CheckConstraint(
            "reason IN ('retention', 'erasure')", name=op.f("ck_audit_log_removals_reason_known")
        ),
        sa.CheckConstraint(
            "num_nulls(since, subjects) = 1", name=op.f("ck_audit_log_removals_rows_named_once")
        ),
        sa.CheckConstraint(
            "num_nulls(before, erasure_id) = 1 AND (reason = 'erasure') = (erasure_id IS NOT NULL)",
            name=op.f("ck_audit_log_removals_cause_named"),
        ),
        sa.PrimaryKeyConstraint("id", name="pk_audit_log_removals"),
        comment="rows that were deleted or emptied on purpose; each becomes a leaf itself",
    )
    op.create_index("ix_audit_log_removals_created_at", "audit_log_removals", ["created_at"])
