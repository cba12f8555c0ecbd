"""Functions with the owner's rights resolve every name in a fixed schema; TEMP is not for PUBLIC.

Law: as 0001. The functions keep their signatures and grants: the previous release continues to work.
Before this migration the functions searched ``pg_temp`` first, so a temporary table of the caller could replace
a table of ours, and its triggers ran with the owner's rights.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0012"
down_revision: str | Sequence[str] | None = "0011"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

DEFINER = "LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$"
# {schema} is the quoted schema of our tables, {name} the same as a literal, {definer} is DEFINER.
ENSURE_PARTITIONS = """
    CREATE OR REPLACE FUNCTION {schema}.hushgate_ensure_partitions(today date, months integer)
    RETURNS integer {definer}
    DECLARE
        made integer := 0;
        first date;
        name text;
    BEGIN
        PERFORM pg_advisory_xact_lock(hashtextextended('hushgate partitions', 0));
        FOR step IN 0..months LOOP
            first := (date_trunc('month', today::timestamp) + make_interval(months => step))::date;
            name := 'ai_decisions_' || to_char(first, 'YYYY_MM');
            IF to_regclass(format('%I.%I', {name}, name)) IS NULL THEN
                EXECUTE format(
                    'CREATE TABLE %I.%I PARTITION OF {schema}.ai_decisions FOR VALUES FROM (%L) TO (%L)',
                    {name}, name,
                    first::text || ' 00:00+00', ((first + interval '1 month')::date)::text || ' 00:00+00');
                made := made + 1;
            END IF;
        END LOOP;
        RETURN made;
    END $$
"""
SWEEP_BEFORE = """
    CREATE OR REPLACE FUNCTION {schema}.hushgate_sweep_before(table_name text, moment timestamptz)
    RETURNS bigint {definer}
    DECLARE
        gone bigint;
    BEGIN
        IF table_name NOT IN ('event_keys', 'duplicates', 'dead_letters') THEN
            RAISE EXCEPTION 'retention does not know table %', table_name;
        END IF;
        IF moment > now() - interval '23 hours' THEN
            RAISE EXCEPTION 'retention deletes nothing younger than a day, asked for %', moment;
        END IF;
        EXECUTE format('DELETE FROM %I.%I WHERE created_at < $1', {name}, table_name) USING moment;
        GET DIAGNOSTICS gone = ROW_COUNT;
        INSERT INTO {schema}.purged AS p (table_name, rows)
            VALUES (hushgate_sweep_before.table_name, gone)
            ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows + excluded.rows;
        RETURN gone;
    END $$
"""
# A minute: clocks of workers and of Postgres differ; `hushgate doctor` warns from 2 s on.
SWEEP_QUARANTINE = """
    CREATE OR REPLACE FUNCTION {schema}.hushgate_sweep_quarantine(moment timestamptz)
    RETURNS bigint {definer}
    DECLARE
        gone bigint;
    BEGIN
        IF moment > now() + interval '1 minute' THEN
            RAISE EXCEPTION 'quarantine: expected a moment not after now, got %', moment
                USING HINT = 'a clock may be ahead of Postgres by up to one minute';
        END IF;
        DELETE FROM {schema}.quarantine WHERE expires_at < moment;
        GET DIAGNOSTICS gone = ROW_COUNT;
        RETURN gone;
    END $$
"""
DROP_PARTITIONS = """
    CREATE OR REPLACE FUNCTION {schema}.hushgate_drop_partitions(before date)
    RETURNS integer {definer}
    DECLARE
        dropped integer := 0;
        child record;
        gone bigint;
    BEGIN
        IF before > current_date - 28 THEN
            RAISE EXCEPTION 'retention drops no month younger than 28 days, asked for %', before;
        END IF;
        FOR child IN
            SELECT n.nspname, c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE i.inhparent = '{schema}.ai_decisions'::regclass
              AND CASE WHEN c.relname ~ '^ai_decisions_[0-9]{{4}}_[0-9]{{2}}$'
                       THEN to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= before
                       ELSE false END
        LOOP
            EXECUTE format('SELECT count(*) FROM %I.%I', child.nspname, child.relname) INTO gone;
            INSERT INTO {schema}.purged AS p (table_name, rows) VALUES ('ai_decisions', gone)
                ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows + excluded.rows;
            EXECUTE format('DROP TABLE %I.%I', child.nspname, child.relname);
            dropped := dropped + 1;
        END LOOP;
        RETURN dropped;
    END $$
"""
DEFINERS = (ENSURE_PARTITIONS, SWEEP_BEFORE, SWEEP_QUARANTINE, DROP_PARTITIONS)
CALLED_BY_WORKERS = (
    "hushgate_ensure_partitions",
    "hushgate_sweep_before",
    "hushgate_sweep_quarantine",
    "hushgate_drop_partitions",
)
TRIGGERS = (
    "hushgate_append_only",
    "hushgate_next_version",
    "hushgate_count_words",
    "hushgate_end_exports",
)


def upgrade() -> None:
    """Replace the functions, fix the path of the trigger functions, take rights from PUBLIC."""
    bind = op.get_bind()
    schema, name, database = bind.execute(
        sa.text(
            "SELECT quote_ident(current_schema()), quote_literal(current_schema()),"
            " quote_ident(current_database())"
        )
    ).one()
    definer = DEFINER.format(schema=schema)
    for definition in DEFINERS:
        op.execute(definition.format(schema=schema, name=name, definer=definer))
    for function in CALLED_BY_WORKERS:
        op.execute(f"REVOKE ALL ON FUNCTION {schema}.{function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {schema}.{function} TO hushgate_worker")
    for function in TRIGGERS:
        op.execute(f"ALTER FUNCTION {schema}.{function}() SET search_path = pg_catalog, {schema}, pg_temp")
        op.execute(f"REVOKE ALL ON FUNCTION {schema}.{function}() FROM PUBLIC")
    # For a login that owns neither database nor schema these two are warnings; hushgate doctor reports it.
    op.execute(f"REVOKE TEMPORARY ON DATABASE {database} FROM PUBLIC")
    op.execute(f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC")
    # hushgate doctor reads the revision, whichever login it is given.
    op.execute("GRANT SELECT ON alembic_version TO hushgate_worker, hushgate_reviewer")


def downgrade() -> None:
    """Keep the functions, and grant TEMP to PUBLIC again."""
    bind = op.get_bind()
    schema, database = bind.execute(
        sa.text("SELECT quote_ident(current_schema()), quote_ident(current_database())")
    ).one()
    op.execute(f"GRANT TEMPORARY ON DATABASE {database} TO PUBLIC")
    for function in TRIGGERS:
        op.execute(f"ALTER FUNCTION {schema}.{function}() RESET search_path")
        op.execute(f"GRANT EXECUTE ON FUNCTION {schema}.{function}() TO PUBLIC")
    op.execute("REVOKE ALL ON alembic_version FROM hushgate_worker, hushgate_reviewer")
