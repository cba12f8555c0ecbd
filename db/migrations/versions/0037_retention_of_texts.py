"""Retention of people's answers and of replies that have ended, with the months of the audit.

Law: as 0001. The previous release does not call the new functions.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0037"
down_revision: str | Sequence[str] | None = "0036"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

INDEX = "ix_outbox_created_at"
# The table is append-only for every login; the word holds inside the function.
SWEEP_ANSWERS = """
    CREATE FUNCTION {schema}.hushgate_sweep_answers(moment timestamptz) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
    SET hushgate.erasing = 'on' AS $$
    DECLARE
        gone bigint;
    BEGIN
        IF moment > now() - interval '28 days' THEN
            RAISE EXCEPTION 'retention: expected a moment at least 28 days ago, got %', moment;
        END IF;
        DELETE FROM {schema}.answers WHERE created_at < moment;
        GET DIAGNOSTICS gone = ROW_COUNT;
        RETURN gone;
    END $$
"""
SWEEP_OUTBOX = """
    CREATE FUNCTION {schema}.hushgate_sweep_outbox(moment timestamptz) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    DECLARE
        gone bigint;
    BEGIN
        IF moment > now() - interval '28 days' THEN
            RAISE EXCEPTION 'retention: expected a moment at least 28 days ago, got %', moment;
        END IF;
        DELETE FROM {schema}.outbox
        WHERE created_at < moment AND (delivered_at IS NOT NULL OR cancel_settled);
        GET DIAGNOSTICS gone = ROW_COUNT;
        RETURN gone;
    END $$
"""


def upgrade() -> None:
    """Add two functions that workers may call, and an index that is built while they write."""
    with op.get_context().autocommit_block():
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {INDEX}")  # left by an interrupted run
        op.create_index(
            INDEX, "outbox", ["created_at"], postgresql_using="brin", postgresql_concurrently=True
        )
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    for sweep in (SWEEP_ANSWERS, SWEEP_OUTBOX):
        op.execute(sweep.format(schema=schema))
    op.execute("REVOKE ALL ON FUNCTION hushgate_sweep_answers, hushgate_sweep_outbox FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION hushgate_sweep_answers, hushgate_sweep_outbox TO hushgate_worker")


def downgrade() -> None:
    """Drop them."""
    op.drop_index(INDEX, "outbox")
    op.execute("DROP FUNCTION hushgate_sweep_answers, hushgate_sweep_outbox")
