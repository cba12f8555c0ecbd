-- Sample data.

-- A restored backup clears these columns to repeat what may not have been sent: they stay set.
CREATE OR REPLACE FUNCTION hushgate_keep_sample_in() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'outbox' THEN
        NEW.delivered_at := coalesce(NEW.delivered_at, now());
    ELSIF TG_TABLE_NAME = 'retractions' THEN
        NEW.not_before := 'infinity';
    ELSE
        NEW.streamed_at := coalesce(NEW.streamed_at, now());
        NEW.fanned_out_at := coalesce(NEW.fanned_out_at, now());
        NEW.withdrawn := 'sample';
    END IF;
    RETURN NEW;
END $$;

-- Tables are found by their column, so that no table can be forgotten. The access log says who added and
-- removed the samples, receipts say what was erased. A legal hold prevents the removal: NULL. Spans with
-- samples are counted again, without them.
CREATE OR REPLACE FUNCTION hushgate_remove_sample() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
SET hushgate.erasing = on AS $$
DECLARE
    sample CONSTANT text := 'hushgate-sample';
    ids uuid[];
    first_day timestamptz;
    grains text[];
    starts timestamptz[];
    counted text;
    target record;
    gone bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('hushgate sample data', 0)),
            pg_advisory_xact_lock(hashtextextended('ai_rules:' || sample, 0));
    IF EXISTS (SELECT FROM legal_holds h WHERE h.user_id = sample AND h.released_at IS NULL
               AND (h.until IS NULL OR h.until > now())) THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(d.id), date_trunc('day', min(d.created_at), 'UTC') INTO ids, first_day
        FROM ai_decisions d WHERE d.user_id = sample;
    DELETE FROM dead_letters l
        WHERE position(convert_to(sample, 'UTF8') in l.raw) > 0
            AND hushgate_payload_names(l.raw, sample, NULL, NULL);
    GET DIAGNOSTICS gone = ROW_COUNT;
    INSERT INTO purged AS p (table_name, rows) SELECT 'dead_letters', gone WHERE gone > 0
        ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows + excluded.rows;
    SELECT array_agg(s.grain), array_agg(s.start) INTO grains, starts
        FROM (SELECT DISTINCT c.grain, c.start FROM figure_counts c
              WHERE c.user_id = sample AND c.start >= first_day) AS s;
    FOREACH counted IN ARRAY ARRAY['figure_counts', 'figure_spreads', 'figure_parts', 'figure_spans'] LOOP
        EXECUTE format('DELETE FROM %I f WHERE (f.grain, f.start) IN (SELECT * FROM unnest($1, $2))', counted)
            USING grains, starts;
    END LOOP;
    FOR target IN
        SELECT c.oid::regclass AS name, c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = '{schema}'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            AND a.attname = 'user_id' AND NOT a.attisdropped AND c.relname NOT IN ('access_log', 'erasures')
        ORDER BY c.relname
    LOOP
        EXECUTE format('DELETE FROM %s WHERE user_id = $1', target.name) USING sample;
        GET DIAGNOSTICS gone = ROW_COUNT;
        IF gone > 0 AND target.relname IN ('event_keys', 'duplicates', 'ai_decisions') THEN
            INSERT INTO purged AS p (table_name, rows) VALUES (target.relname, gone)
                ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows + excluded.rows;
        END IF;
    END LOOP;
    DELETE FROM queues q WHERE q.definition -> 'accounts' = jsonb_build_array(sample)
        AND NOT EXISTS (SELECT FROM queue_items i WHERE i.queue_id = q.id);
    RETURN coalesce(cardinality(ids), 0);
END $$;
