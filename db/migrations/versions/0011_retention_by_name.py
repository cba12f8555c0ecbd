"""Retention reads months only from the names of monthly tables.

Law: as 0001. The planner may parse a name before it checks the kind of relation, and indexes are in the same
catalogue: an index named ``..._version`` ended the sweep with an error.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0011"
down_revision: str | Sequence[str] | None = "0010"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

DROP_PARTITIONS = """
    CREATE OR REPLACE FUNCTION hushgate_drop_partitions(before date) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    DECLARE
        dropped integer := 0;
        child record;
        gone bigint;
    BEGIN
        IF before > current_date - 28 THEN
            RAISE EXCEPTION 'retention drops no month younger than 28 days, asked for %', before;
        END IF;
        FOR child IN
            SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'ai_decisions'::regclass
              AND CASE WHEN c.relname ~ '^ai_decisions_[0-9]{4}_[0-9]{2}$'
                       THEN to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= before
                       ELSE false END
        LOOP
            EXECUTE format('SELECT count(*) FROM %I', child.relname) INTO gone;
            INSERT INTO purged AS p (table_name, rows) VALUES ('ai_decisions', gone)
                ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows + excluded.rows;
            EXECUTE format('DROP TABLE %I', child.relname);
            dropped := dropped + 1;
        END LOOP;
        RETURN dropped;
    END $$
"""


def upgrade() -> None:
    """Replace the function; its grants stay."""
    op.execute(DROP_PARTITIONS)


def downgrade() -> None:
    """Keep the function: it does what the previous one was meant to do."""
