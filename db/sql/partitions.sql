-- Monthly partitions of ai_decisions.

CREATE OR REPLACE FUNCTION hushgate_ensure_partitions(today date, months integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    made integer := 0;
    first date;
    name text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('hushgate partitions', 0));
    FOR step IN 0..months LOOP
        first := (date_trunc('month', today::timestamp) + make_interval(months => step))::date;
        name := 'ai_decisions_' || to_char(first, 'YYYY_MM');
        IF to_regclass(format('{schema}.%I', name)) IS NULL THEN
            EXECUTE format(
                'CREATE TABLE {schema}.%I PARTITION OF {schema}.ai_decisions FOR VALUES FROM (%L) TO (%L)',
                name, first::text || ' 00:00+00', ((first + interval '1 month')::date)::text || ' 00:00+00');
            made := made + 1;
        END IF;
    END LOOP;
    RETURN made;
END $$;

-- Pages that were merged; 0 where the index was dropped.
CREATE OR REPLACE FUNCTION hushgate_merge_texts() RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT coalesce(sum(gin_clean_pending_list(relid)), 0)::bigint
    FROM pg_partition_tree(to_regclass('{schema}.ix_ai_decisions_text')) WHERE isleaf
$$;

-- A month with held rows stays; hushgate_sweep_rows deletes its other rows.
CREATE OR REPLACE FUNCTION hushgate_drop_partitions(before date) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    dropped integer := 0;
    child record;
    gone bigint;
    held boolean;
BEGIN
    IF before > current_date - 28 THEN
        RAISE EXCEPTION 'retention: expected a day at least 28 days ago, got %', before;
    END IF;
    IF before > hushgate_retention_limit('ai_decisions') THEN
        RAISE EXCEPTION 'retention of %: expected a moment not after %, got %', 'ai_decisions',
            hushgate_retention_limit('ai_decisions'), before
            USING HINT = 'hushgate migrate stores the limits';
    END IF;
    PERFORM set_config('lock_timeout', '1s', true);
    FOR child IN
        SELECT n.nspname, c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE i.inhparent = 'ai_decisions'::regclass
          AND CASE WHEN c.relname ~ '^ai_decisions_[0-9]{4}_[0-9]{2}$'
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
        INSERT INTO audit_log_removals (id, kind, reason, since, before)
        SELECT gen_random_uuid(), 'decision', 'retention', month.since, month.before
        FROM (SELECT start AT TIME ZONE 'UTC' AS since,
                (start + interval '1 month') AT TIME ZONE 'UTC' AS before
            FROM (SELECT to_date(right(child.relname, 7), 'YYYY_MM')::timestamp AS start) AS first) AS month
        WHERE EXISTS (SELECT FROM audit_log_leaves l WHERE l.kind = 'decision' AND l.kept_salt IS NOT NULL
            AND l.subject_at >= month.since AND l.subject_at < month.before);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END $$;

-- Retention deletes whole months, after every export that was requested then. The function asks for
-- itself: another trigger would wait for every reader of the audit, and everyone behind it.
CREATE OR REPLACE FUNCTION hushgate_end_exports() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    IF current_setting('hushgate.sweeping', true) = 'on' THEN RETURN NULL; END IF;
    LOCK TABLE jobs IN SHARE ROW EXCLUSIVE MODE;
    UPDATE jobs SET state = 'failed', finished_at = coalesce(finished_at, now()),
        error = 'A decision that this export may contain was erased. Request the export again.'
    WHERE kind = 'export' AND state IN ('running', 'done') AND created_at >= OLD.created_at;
    DELETE FROM job_parts p USING jobs j
    WHERE j.id = p.job_id AND j.kind = 'export' AND j.created_at >= OLD.created_at;
    RETURN NULL;
END $$;
