"""Dead letters that were published again, and dropping them by hand.

Law: as 0001. The previous release ignores the columns; a letter that it publishes again stays without them.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0062"
down_revision: str | Sequence[str] | None = "0061"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
# What a hold covers stays; the conservation check counts the others as deleted.
DROP = """
    CREATE FUNCTION {schema}.hushgate_drop_letters(entries text[]) RETURNS SETOF text
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
        WITH gone AS (
            DELETE FROM dead_letters l
            WHERE l.entry_id = ANY(entries) AND NOT hushgate_payload_is_held(l.raw)
            RETURNING l.entry_id
        ), counted AS (
            INSERT INTO purged AS p (table_name, rows)
            SELECT 'dead_letters', count(*) FROM gone HAVING count(*) > 0
            ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows + excluded.rows
        )
        SELECT entry_id FROM gone
    $$
"""


def upgrade() -> None:
    """Add the columns and the function."""
    op.add_column(
        "dead_letters", sa.Column("retried_at", TIME, nullable=True, comment="when it was published again")
    )
    op.add_column(
        "dead_letters", sa.Column("retried_as", sa.Text(), nullable=True, comment="the entry made then")
    )
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    op.execute(DROP.format(schema=schema))
    op.execute("REVOKE ALL ON FUNCTION hushgate_drop_letters FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION hushgate_drop_letters TO hushgate_reviewer")
    op.execute("GRANT UPDATE (retried_at, retried_as) ON dead_letters TO hushgate_reviewer")


def downgrade() -> None:
    """Drop them."""
    op.execute("DROP FUNCTION hushgate_drop_letters")
    op.drop_column("dead_letters", "retried_as")
    op.drop_column("dead_letters", "retried_at")
