-- Deletion of old rows, in steps.

-- Null: rows may be deleted at any age that the functions allow; infinity in the past: never.
CREATE OR REPLACE FUNCTION hushgate_retention_limit(target text) RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT coalesce(now() - l.keep_days * interval '24 hours', '-infinity')
    FROM retention_limits l WHERE l.table_name = target ORDER BY l.created_at DESC, l.id DESC LIMIT 1
$$;

-- The tables whose rows retention deletes: column that orders the steps, its type, time that counts, least
-- age of a row, further condition, condition of a held row. Numbers of identity columns are in the order of
-- their rows' times, so the primary key orders rows by time too.
CREATE OR REPLACE FUNCTION hushgate_retention_tables() RETURNS TABLE (
    name text, ordering text, kind text, clock text, youngest text, ended text, held text)
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
    VALUES
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
    ('unmoderated_texts', 'decided_at', 'timestamptz', 'decided_at', '28 days', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, t.author_id)'),
    ('customer_feedback', 'id', 'uuid', 'created_at', '28 days', 'true',
        'hushgate_is_held(t.user_id, coalesce(t.decision_id, t.id), t.conversation_id, t.author_id)'),
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
    ('decision_comments', 'id', 'uuid', 'decision_at', '28 days', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, NULL, NULL)'),
    ('decision_assignments', 'decision_id', 'uuid', 'decision_at', '28 days', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, NULL, NULL)'),
    ('subject_notes', 'id', 'uuid', 'created_at', '28 days', 'true',
        'hushgate_is_held(t.user_id, NULL, CASE t.kind WHEN ''conversation'' THEN t.subject END,
            CASE t.kind WHEN ''author'' THEN t.subject END)'),
    ('subject_tags', 'id', 'bigint', 'added_at', '28 days', 'true',
        'hushgate_is_held(t.user_id, NULL, CASE t.kind WHEN ''conversation'' THEN t.subject END,
            CASE t.kind WHEN ''author'' THEN t.subject END)'),
    ('appeals', 'created_at', 'timestamptz', 'decided_at', '28 days', 't.outcome IS NOT NULL',
        'hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, t.author_id)'),
    ('checks', 'created_at', 'timestamptz', 'created_at', '28 days', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, t.author_id)'),
    ('recordings', 'decision_id', 'uuid', 'created_at', '23 hours', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, t.author_id)'),
    ('shadow_results', 'id', 'uuid', 'created_at', '23 hours', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, t.author_id)'),
    ('golden_set_items', 'id', 'uuid', 'recorded_at', '28 days', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, t.author_id)'),
    ('jobs', 'id', 'uuid', 'finished_at', '1 day', 'true', 'false'),
    ('legal_holds', 'id', 'uuid', 'coalesce(released_at, until)', '28 days', 'true', 'false')
$$;

-- One step: looks at the next rows, deletes those that are due, and says where the next step starts. On a
-- table ordered by its key, a step without one old row ends the sweep: all later ones are younger.
CREATE OR REPLACE FUNCTION hushgate_sweep_rows(
    target text, before timestamptz, after text, most integer, OUT deleted bigint, OUT seen bigint, OUT
    last text, OUT finished boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
SET hushgate.erasing = on SET hushgate.sweeping = on SET lock_timeout = '1s' AS $$
DECLARE
    spec record;
    clock text;
    held text;
    ordered boolean;
    old bigint;
BEGIN
    SELECT * INTO spec FROM hushgate_retention_tables() AS s WHERE s.name = target;
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
    IF before > hushgate_retention_limit(target) THEN
        RAISE EXCEPTION 'retention of %: expected a moment not after %, got %', target,
            hushgate_retention_limit(target), before USING HINT = 'hushgate migrate stores the limits';
    END IF;
    PERFORM set_config('hushgate.swept_before', before::text, true);
    clock := CASE WHEN spec.clock ~ '[(]' THEN spec.clock ELSE format('t.%I', spec.clock) END;
    held := CASE WHEN EXISTS (SELECT FROM legal_holds h WHERE h.released_at IS NULL
                              AND (h.until IS NULL OR h.until > now()))
                 THEN spec.held ELSE 'false' END;
    ordered := spec.kind = 'timestamptz';
    EXECUTE format($sql$
        WITH looked AS MATERIALIZED (
            SELECT t.tableoid AS part, t.ctid AS place, t.%1$I AS position, %2$s AS at
            FROM %3$I t
            WHERE ($2::text IS NULL OR t.%1$I %4$s $2::%5$s) AND %6$s ORDER BY t.%1$I LIMIT $3
        ), gone AS (
            DELETE FROM %3$I t USING looked l
            WHERE t.tableoid = l.part AND t.ctid = l.place AND l.at < $1 AND (%7$s) AND NOT (%8$s)
            RETURNING 1
        )
        SELECT (SELECT count(*) FROM gone), count(*), max(position%9$s)::text,
               count(*) FILTER (WHERE at < $1)
        FROM looked
    $sql$, spec.ordering, clock, target, CASE WHEN ordered THEN '>=' ELSE '>' END,
        spec.kind, CASE WHEN ordered THEN format('t.%I < $1', spec.ordering) ELSE 'true' END, spec.ended,
        held, CASE WHEN spec.kind = 'uuid' THEN '::text' ELSE '' END)
    INTO deleted, seen, last, old USING before, after, most;
    finished := seen < most OR (NOT ordered AND spec.kind = 'bigint' AND old = 0);
    IF deleted > 0 AND target IN ('event_keys', 'duplicates', 'dead_letters', 'ai_decisions', 'checks') THEN
        INSERT INTO purged AS p (table_name, rows) VALUES (target, deleted)
            ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows + excluded.rows;
    END IF;
END $$;

-- How many rows are due, at most, and the time of the oldest, also where a row's end is the time that counts;
-- for people, who may not read every table.
CREATE OR REPLACE FUNCTION hushgate_retention_due(
    target text, before timestamptz, most integer, OUT due bigint, OUT held bigint, OUT oldest
    timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    spec record;
    clock text;
BEGIN
    SELECT * INTO spec FROM hushgate_retention_tables() AS s WHERE s.name = target;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'retention does not know table %', target;
    END IF;
    clock := CASE WHEN spec.clock ~ '[(]' THEN spec.clock ELSE format('t.%I', spec.clock) END;
    EXECUTE format('SELECT min(t.%I) FROM %I t', CASE target WHEN 'quarantine' THEN 'created_at'
        WHEN 'held_drafts' THEN 'created_at' WHEN 'conversations' THEN 'changed_at'
        WHEN 'legal_holds' THEN 'placed_at' ELSE spec.clock END, target) INTO oldest;
    EXECUTE format($sql$
        SELECT count(*) FILTER (WHERE NOT is_held), count(*) FILTER (WHERE is_held) FROM (
            SELECT %1$s AS is_held FROM %2$I t WHERE %3$s < $1 AND (%4$s) LIMIT $2) AS found
    $sql$, spec.held, target, clock, spec.ended) INTO due, held USING before, most;
END $$;
