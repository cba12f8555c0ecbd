"""How long the owner of the database keeps each table: what no sweep may undercut, with any login.

Erasures also empty the ids that 0086 added to keys of events.

Law: as 0001. The previous release sweeps as before; where its settings are shorter than a stored limit, it is
refused. Without a stored limit the ages in the functions count.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0090"
down_revision: str | Sequence[str] | None = "0086"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
PATH = "SET search_path = pg_catalog, {schema}, pg_temp"
# Null: rows may be deleted at any age that the functions allow; infinity in the past: never.
LATEST = """
    CREATE FUNCTION {schema}.hushgate_retention_limit(target text) RETURNS timestamptz
    LANGUAGE sql STABLE {path} AS $$
        SELECT coalesce(now() - l.keep_days * interval '24 hours', '-infinity')
        FROM retention_limits l WHERE l.table_name = target ORDER BY l.created_at DESC, l.id DESC LIMIT 1
    $$
"""
SWEEP_BEFORE = "        clock := CASE WHEN spec.clock ~ '[(]' THEN"
SWEEP = """        IF before > hushgate_retention_limit(target) THEN
            RAISE EXCEPTION 'retention of %: expected a moment not after %, got %', target,
                hushgate_retention_limit(target), before USING HINT = 'hushgate migrate stores the limits';
        END IF;
        PERFORM set_config('hushgate.swept_before', before::text, true);
"""
DROP_BEFORE = "        PERFORM set_config('lock_timeout', '1s', true);\n"
DROP = """        IF before > hushgate_retention_limit('ai_decisions') THEN
            RAISE EXCEPTION 'retention of %: expected a moment not after %, got %', 'ai_decisions',
                hushgate_retention_limit('ai_decisions'), before USING HINT = 'hushgate migrate stores the limits';
        END IF;
"""
REMOVED_BEFORE = "            EXECUTE format('DROP TABLE %I.%I', child.nspname, child.relname);\n"
REMOVED = """            INSERT INTO audit_log_removals (id, kind, reason, since, before)
            SELECT gen_random_uuid(), 'decision', 'retention', month.since, month.before
            FROM (SELECT start AT TIME ZONE 'UTC' AS since, (start + interval '1 month') AT TIME ZONE 'UTC' AS before
                FROM (SELECT to_date(right(child.relname, 7), 'YYYY_MM')::timestamp AS start) AS first) AS month
            WHERE EXISTS (SELECT FROM audit_log_leaves l WHERE l.kind = 'decision' AND l.kept_salt IS NOT NULL
                AND l.subject_at >= month.since AND l.subject_at < month.before);
"""
# Keys stay, so that no event is decided again; what they say of the message goes.
KEYS_BEFORE = "            counts := jsonb_build_object('ai_decisions', gone);\n"
KEYS = """            UPDATE event_keys k SET conversation_id = NULL, message_id = NULL FROM ai_decisions d
            WHERE d.id = ANY(ids) AND d.created_at BETWEEN oldest AND last_at
                AND k.user_id = d.user_id AND k.event_id = d.event_id;
"""
OLD_KEYS_BEFORE = "        -- relays wait from here on\n"
OLD_KEYS = """        UPDATE event_keys k SET conversation_id = NULL, message_id = NULL
        WHERE k.user_id = e.user_id AND k.message_id IS NOT NULL AND k.created_at <= e.started_at
            AND (e.kind = 'account' OR k.conversation_id = ANY(places))
            AND NOT hushgate_is_held(k.user_id, k.decision_id, k.conversation_id, NULL);
"""
FUNCTIONS = (
    ("hushgate_erase_decisions", KEYS_BEFORE, KEYS_BEFORE + KEYS),
    ("hushgate_erase_rows", OLD_KEYS_BEFORE, OLD_KEYS + OLD_KEYS_BEFORE),
    ("hushgate_sweep_rows", SWEEP_BEFORE, SWEEP + SWEEP_BEFORE),
    ("hushgate_drop_partitions", DROP_BEFORE, DROP + DROP_BEFORE),
    ("hushgate_drop_partitions", REMOVED_BEFORE, REMOVED_BEFORE + REMOVED),
)
"""Function, a part of its text, and what stands there instead."""


def upgrade() -> None:
    """Add the table, and the check to the two functions that delete."""
    op.create_table(
        "retention_limits",
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUID"),
        sa.Column("table_name", sa.Text(), nullable=False),
        sa.Column("keep_days", sa.Integer(), comment="rows younger than this stay; null: all rows"),
        sa.Column(
            "created_at",
            TIME,
            server_default=sa.text("now()"),
            nullable=False,
            comment="in force from then on",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_retention_limits")),
        comment="how long the owner of the database keeps each table; the newest row of a table counts",
    )
    op.create_index("ix_retention_limits_table", "retention_limits", ["table_name", "created_at"])
    op.execute("GRANT SELECT ON retention_limits TO hushgate_worker, hushgate_reviewer, hushgate_audit")
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    op.execute(LATEST.format(schema=schema, path=PATH.format(schema=schema)))
    op.execute("REVOKE ALL ON FUNCTION hushgate_retention_limit FROM PUBLIC")
    for name, before, after in FUNCTIONS:
        _change_function(name, before, after)


def downgrade() -> None:
    """Let the functions delete what their ages allow."""
    for name, before, after in reversed(FUNCTIONS):
        _change_function(name, after, before)
    op.execute("DROP FUNCTION hushgate_retention_limit")
    op.drop_table("retention_limits")


def _change_function(name: str, before: str, after: str) -> None:
    """Replace one part of a function's text; its rights stay."""
    connection = op.get_bind()
    query = sa.text("SELECT pg_get_functiondef(to_regproc(:name))")
    found = connection.execute(query, {"name": name}).scalar_one()
    if found.count(before) != 1:
        raise RuntimeError(f"{name}: expected one place with {before.strip()!r}, got {found.count(before)}")
    connection.exec_driver_sql(found.replace(before, after).replace("%", "%%"))
