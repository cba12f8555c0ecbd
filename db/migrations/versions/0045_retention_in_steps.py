"""Retention of every table in small steps; holds come first.

Law: as 0001. The functions of the previous release keep their names and limits, and spare what is held.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0045"
down_revision: str | Sequence[str] | None = "0044"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

PATH = "SET search_path = pg_catalog, {schema}, pg_temp"
# table, column that orders the steps, its type, time that counts, youngest age, other condition, held by.
# Rows of serial ids are in the order of their times, so the primary key serves as their index of times.
TARGETS = """
    ('event_keys', 'created_at', 'timestamptz', 'created_at', '23 hours', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, NULL, NULL)'),
    ('duplicates', 'created_at', 'timestamptz', 'created_at', '23 hours', 'true',
        'hushgate_is_held(t.user_id, (SELECT k.decision_id FROM event_keys k
            WHERE k.user_id = t.user_id AND k.event_id = t.event_id), NULL, NULL)'),
    ('dead_letters', 'created_at', 'timestamptz', 'created_at', '23 hours', 'true',
        'hushgate_payload_is_held(t.raw)'),
    ('ai_decisions', 'created_at', 'timestamptz', 'created_at', '28 days', 'true',
        'hushgate_is_held(t.user_id, t.id, t.conversation_id, t.author_id)'),
    ('messages', 'id', 'bigint', 'created_at', '1 day', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, NULL)'),
    ('conversations', 'people_until', 'timestamptz', 'people_until', '1 day', 'true',
        'hushgate_is_held(t.user_id, NULL, t.conversation_id, NULL)'),
    ('quarantine', 'expires_at', 'timestamptz', 'expires_at', '-1 minute', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, NULL)'),
    ('held_drafts', 'expires_at', 'timestamptz', 'expires_at', '-1 minute', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, NULL)'),
    ('outbox', 'id', 'bigint', 'created_at', '28 days', 't.delivered_at IS NOT NULL OR t.cancel_settled',
        'hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, NULL)'),
    ('outgoing_events', 'created_at', 'timestamptz', 'created_at', '6 days', 't.streamed_at IS NOT NULL',
        'hushgate_event_is_held(t.user_id, t.conversation_id, t.body)'),
    ('escalations', 'opened_at', 'timestamptz', 'opened_at', '28 days', 't.closed_at IS NOT NULL',
        'hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, t.author_id)'),
    ('answers', 'created_at', 'timestamptz', 'created_at', '28 days', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, NULL)'),
    ('retractions', 'id', 'bigint', 'created_at', '28 days',
        't.delivered_at IS NOT NULL OR t.cancelled_at IS NOT NULL',
        'hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, NULL)'),
    ('decision_reviews', 'id', 'uuid', 'decision_at', '28 days', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, NULL, NULL)'),
    ('review_states', 'decision_at', 'timestamptz', 'decision_at', '28 days', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, NULL, NULL)'),
    ('queue_items', 'id', 'bigint', 'decision_at', '28 days', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, NULL, NULL)'),
    ('golden_items', 'decision_id', 'uuid', 'decision_at', '28 days', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, NULL, NULL)'),
    ('access_log', 'id', 'bigint', 'at', '28 days', 'true',
        't.decision_id IS NOT NULL AND hushgate_is_held(t.user_id, t.decision_id, NULL, NULL)'),
    ('jobs', 'id', 'uuid', 'finished_at', '1 day', 'true', 'false'),
    ('legal_holds', 'id', 'uuid', 'coalesce(released_at, until)', '28 days', 'true', 'false')
"""
# One step: looks at the next rows, deletes those that are due, and says where the next step starts.
# On a table ordered by its key, a step without one old row ends the sweep: all later ones are younger.
SWEEP_ROWS = """
    CREATE FUNCTION {schema}.hushgate_sweep_rows(
        target text, before timestamptz, after text, most integer,
        OUT deleted bigint, OUT seen bigint, OUT last text, OUT finished boolean)
    LANGUAGE plpgsql SECURITY DEFINER {path}
    SET hushgate.erasing = 'on' SET hushgate.sweeping = 'on' SET lock_timeout = '1s' AS $$
    DECLARE
        spec record;
        clock text;
        held text;
        ordered boolean;
        old bigint;
    BEGIN
        SELECT * INTO spec FROM (VALUES {targets})
            AS s (name, ordering, kind, clock, youngest, ended, held) WHERE s.name = target;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'retention does not know table %', target;
        END IF;
        IF before > now() - spec.youngest::interval THEN
            IF spec.youngest = '-1 minute' THEN
                RAISE EXCEPTION '%: expected a moment not after now, got %', replace(target, '_', ' '), before
                    USING HINT = 'a clock may be ahead of Postgres by up to one minute';
            END IF;
            RAISE EXCEPTION 'retention: expected a moment at least % ago, got %',
                replace(replace(spec.youngest, '23 hours', 'a day'), '1 day', 'a day'), before;
        END IF;
        clock := CASE WHEN spec.clock ~ '[(]' THEN spec.clock ELSE format('t.%I', spec.clock) END;
        held := CASE WHEN EXISTS (SELECT FROM legal_holds h WHERE h.released_at IS NULL
                                  AND (h.until IS NULL OR h.until > now()))
                     THEN spec.held ELSE 'false' END;
        ordered := spec.kind = 'timestamptz';
        EXECUTE format($sql$
            WITH looked AS MATERIALIZED (
                SELECT t.tableoid AS part, t.ctid AS place, t.%1$I AS position, %2$s AS at
                FROM {schema}.%3$I t
                WHERE ($2::text IS NULL OR t.%1$I %4$s $2::%5$s) AND %6$s ORDER BY t.%1$I LIMIT $3
            ), gone AS (
                DELETE FROM {schema}.%3$I t USING looked l
                WHERE t.tableoid = l.part AND t.ctid = l.place AND l.at < $1 AND (%7$s) AND NOT (%8$s)
                RETURNING 1
            )
            SELECT (SELECT count(*) FROM gone), count(*), max(position%9$s)::text,
                   count(*) FILTER (WHERE at < $1)
            FROM looked
        $sql$, spec.ordering, clock, target, CASE WHEN ordered THEN '>=' ELSE '>' END,
            spec.kind, CASE WHEN ordered THEN format('t.%I < $1', spec.ordering) ELSE 'true' END, spec.ended, held,
            CASE WHEN spec.kind = 'uuid' THEN '::text' ELSE '' END)
        INTO deleted, seen, last, old USING before, after, most;
        finished := seen < most OR (NOT ordered AND spec.kind = 'bigint' AND old = 0);
        IF deleted > 0 AND target IN ('event_keys', 'duplicates', 'dead_letters', 'ai_decisions') THEN
            INSERT INTO purged AS p (table_name, rows) VALUES (target, deleted)
                ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows + excluded.rows;
        END IF;
    END $$
"""
EVENT_IS_HELD = """
    CREATE FUNCTION {schema}.hushgate_event_is_held(account text, conversation text, body jsonb)
    RETURNS boolean LANGUAGE plpgsql STABLE {path} AS $$
    DECLARE
        decision uuid;
    BEGIN
        IF body ->> 'decision_id' ~ '^[0-9a-f]{{8}}-([0-9a-f]{{4}}-){{3}}[0-9a-f]{{12}}$' THEN
            decision := body ->> 'decision_id';
        END IF;
        RETURN hushgate_is_held(account, decision, conversation, body ->> 'author_id');
    END $$
"""
# A month with held rows stays; hushgate_sweep_rows deletes its other rows.
DROP_PARTITIONS = """
    CREATE OR REPLACE FUNCTION {schema}.hushgate_drop_partitions(before date)
    RETURNS integer LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
    DECLARE
        dropped integer := 0;
        child record;
        gone bigint;
        held boolean;
    BEGIN
        IF before > current_date - 28 THEN
            RAISE EXCEPTION 'retention: expected a day at least 28 days ago, got %', before;
        END IF;
        PERFORM set_config('lock_timeout', '1s', true);
        FOR child IN
            SELECT n.nspname, c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE i.inhparent = '{schema}.ai_decisions'::regclass
              AND CASE WHEN c.relname ~ '^ai_decisions_[0-9]{{4}}_[0-9]{{2}}$'
                       THEN to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= before
                       ELSE false END
        LOOP
            EXECUTE format($sql$
                SELECT EXISTS (
                    SELECT FROM legal_holds h WHERE h.released_at IS NULL AND (h.until IS NULL OR h.until > now())
                    AND CASE h.kind
                        WHEN 'decision' THEN EXISTS (
                            SELECT FROM %1$I.%2$I d WHERE d.id::text = h.subject AND d.user_id = h.user_id)
                        WHEN 'conversation' THEN EXISTS (
                            SELECT FROM %1$I.%2$I d
                            WHERE d.user_id = h.user_id AND d.conversation_id = h.subject)
                        ELSE EXISTS (
                            SELECT FROM %1$I.%2$I d
                            WHERE d.author_id = h.subject AND d.user_id = h.user_id) END)
            $sql$, child.nspname, child.relname) INTO held;
            CONTINUE WHEN held;
            EXECUTE format('SELECT count(*) FROM %I.%I', child.nspname, child.relname) INTO gone;
            INSERT INTO purged AS p (table_name, rows) VALUES ('ai_decisions', gone)
                ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows + excluded.rows;
            EXECUTE format('DROP TABLE %I.%I', child.nspname, child.relname);
            dropped := dropped + 1;
        END LOOP;
        RETURN dropped;
    END $$
"""
# Workers of the previous release call these; they do all in one statement.
FORMER = """
    CREATE OR REPLACE FUNCTION {schema}.hushgate_sweep_{name}(moment timestamptz) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER {path}
    AS $$ SELECT deleted FROM hushgate_sweep_rows('{target}', moment, NULL, 2147483647) $$
"""
FORMER_BEFORE = """
    CREATE OR REPLACE FUNCTION {schema}.hushgate_sweep_before(table_name text, moment timestamptz)
    RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
    BEGIN
        IF table_name NOT IN ('event_keys', 'duplicates', 'dead_letters') THEN
            RAISE EXCEPTION 'retention does not know table %', table_name;
        END IF;
        RETURN (SELECT deleted FROM hushgate_sweep_rows(table_name, moment, NULL, 2147483647));
    END $$
"""
FORMER_NAMES = {
    "quarantine": "quarantine",
    "held_drafts": "held_drafts",
    "outgoing": "outgoing_events",
    "escalations": "escalations",
    "answers": "answers",
    "outbox": "outbox",
}
# name -> (condition, youngest age): for the way back.
PLAIN = {
    "quarantine": ("expires_at < moment", "-1 minute"),
    "held_drafts": ("expires_at < moment", "-1 minute"),
    "outgoing": ("created_at < moment AND streamed_at IS NOT NULL", "6 days"),
    "escalations": ("opened_at < moment AND closed_at IS NOT NULL", "28 days"),
    "answers": ("created_at < moment", "28 days"),
    "outbox": ("created_at < moment AND (delivered_at IS NOT NULL OR cancel_settled)", "28 days"),
}
PLAIN_SWEEP = """
    CREATE OR REPLACE FUNCTION {schema}.hushgate_sweep_{name}(moment timestamptz) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER {path} {setting} AS $$
    DECLARE
        gone bigint;
    BEGIN
        IF moment > now() - interval '{age}' THEN
            RAISE EXCEPTION 'retention: expected a moment at least {age} ago, got %', moment;
        END IF;
        DELETE FROM {target} WHERE {condition};
        GET DIAGNOSTICS gone = ROW_COUNT;
        RETURN gone;
    END $$
"""
PLAIN_BEFORE = """
    CREATE OR REPLACE FUNCTION {schema}.hushgate_sweep_before(table_name text, moment timestamptz)
    RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
    DECLARE
        gone bigint;
    BEGIN
        IF table_name NOT IN ('event_keys', 'duplicates', 'dead_letters') THEN
            RAISE EXCEPTION 'retention does not know table %', table_name;
        END IF;
        IF moment > now() - interval '23 hours' THEN
            RAISE EXCEPTION 'retention: expected a moment at least a day ago, got %', moment;
        END IF;
        EXECUTE format('DELETE FROM %I WHERE created_at < $1', table_name) USING moment;
        GET DIAGNOSTICS gone = ROW_COUNT;
        INSERT INTO purged AS p (table_name, rows)
            VALUES (hushgate_sweep_before.table_name, gone)
            ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows + excluded.rows;
        RETURN gone;
    END $$
"""
# How many rows are due, at most, and the time of the oldest; for people, who may not read every table.
DUE = """
    CREATE FUNCTION {schema}.hushgate_retention_due(
        target text, before timestamptz, most integer, OUT due bigint, OUT held bigint, OUT oldest timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER {path} AS $$
    DECLARE
        spec record;
        clock text;
    BEGIN
        SELECT * INTO spec FROM (VALUES {targets})
            AS s (name, ordering, kind, clock, youngest, ended, held) WHERE s.name = target;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'retention does not know table %', target;
        END IF;
        clock := CASE WHEN spec.clock ~ '[(]' THEN spec.clock ELSE format('t.%I', spec.clock) END;
        EXECUTE format('SELECT min(%s) FROM {schema}.%I t', clock, target) INTO oldest;
        EXECUTE format($sql$
            SELECT count(*) FILTER (WHERE NOT is_held), count(*) FILTER (WHERE is_held) FROM (
                SELECT %1$s AS is_held FROM {schema}.%2$I t WHERE %3$s < $1 AND (%4$s) LIMIT $2) AS found
        $sql$, spec.held, target, clock, spec.ended) INTO due, held USING before, most;
    END $$
"""
SIGNATURES = {
    "hushgate_sweep_rows(text, timestamptz, text, integer)": "hushgate_worker",
    "hushgate_retention_due(text, timestamptz, integer)": "hushgate_worker, hushgate_reviewer",
}
# Retention deletes whole months, after every export that was requested then. The function asks for itself:
# another trigger would wait for every reader of the audit, and everyone behind it.
END_EXPORTS = """
    CREATE OR REPLACE FUNCTION {schema}.hushgate_end_exports() RETURNS trigger LANGUAGE plpgsql {path} AS $$
    BEGIN
        {spared}
        LOCK TABLE jobs IN SHARE ROW EXCLUSIVE MODE;
        UPDATE jobs SET state = 'failed', finished_at = coalesce(finished_at, now()),
            error = 'A decision that this export may contain was erased. Request the export again.'
        WHERE kind = 'export' AND state IN ('running', 'done') AND created_at >= OLD.created_at;
        DELETE FROM job_parts p USING jobs j
        WHERE j.id = p.job_id AND j.kind = 'export' AND j.created_at >= OLD.created_at;
        RETURN NULL;
    END $$
"""
SPARED = "IF current_setting('hushgate.sweeping', true) = 'on' THEN RETURN NULL; END IF;"


def upgrade() -> None:
    """Add the functions, and one index for the table that had none by time."""
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    values = {"schema": schema, "path": PATH.format(schema=schema), "targets": TARGETS}
    with op.get_context().autocommit_block():
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS ix_duplicates_created_at")
        op.create_index(
            "ix_duplicates_created_at", "duplicates", ["created_at"], postgresql_concurrently=True
        )
    op.execute("DROP FUNCTION hushgate_sweep_answers")  # its setting would stay
    for function in (EVENT_IS_HELD, SWEEP_ROWS, DUE, DROP_PARTITIONS, FORMER_BEFORE):
        op.execute(function.format(**values))
    for name, target in FORMER_NAMES.items():
        op.execute(FORMER.format(**values, name=name, target=target))
    op.execute("REVOKE ALL ON FUNCTION hushgate_event_is_held, hushgate_sweep_answers FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION hushgate_sweep_answers TO hushgate_worker")
    for signature, roles in SIGNATURES.items():
        op.execute(f"REVOKE ALL ON FUNCTION {signature} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {signature} TO {roles}")
    op.execute(END_EXPORTS.format(**values, spared=SPARED))


def downgrade() -> None:
    """Let the functions delete in one statement, as those of the previous release did."""
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    values = {"schema": schema, "path": PATH.format(schema=schema)}
    op.execute(END_EXPORTS.format(**values, spared=""))
    for name, (condition, age) in PLAIN.items():
        setting = "SET hushgate.erasing = 'on'" if name == "answers" else ""
        target = FORMER_NAMES[name]
        op.execute(
            PLAIN_SWEEP.format(
                **values, name=name, target=target, condition=condition, age=age, setting=setting
            )
        )
    op.execute(PLAIN_BEFORE.format(**values))
    without_holds = DROP_PARTITIONS.format(**values)
    start, end = without_holds.index("EXECUTE format($sql$"), without_holds.index("CONTINUE WHEN held;")
    op.execute(without_holds[:start] + without_holds[end + len("CONTINUE WHEN held;") :])
    for signature in SIGNATURES:
        op.execute(f"DROP FUNCTION {signature}")
    op.execute("DROP FUNCTION hushgate_event_is_held")
    op.drop_index("ix_duplicates_created_at", "duplicates")
