-- Salts of the transparency log: they go with their rows.

-- A lock of a table, because any login can take an advisory lock and stop the log.
CREATE OR REPLACE FUNCTION hushgate_lock_log() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    LOCK TABLE audit_log_checkpoints IN SHARE ROW EXCLUSIVE MODE NOWAIT;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

CREATE OR REPLACE FUNCTION hushgate_forget_rows() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    limit_of_sweep text := nullif(current_setting('hushgate.swept_before', true), '');
    ids uuid[];
BEGIN
    IF current_setting('hushgate.sweeping', true) IS DISTINCT FROM 'on' OR limit_of_sweep IS NULL THEN
        RETURN NULL;
    END IF;
    IF EXISTS (SELECT FROM audit_log_checkpoints) THEN
        LOCK TABLE audit_log_checkpoints IN SHARE ROW EXCLUSIVE MODE;
    END IF;
    SELECT array_agg(l.subject_id) INTO ids FROM gone g
        JOIN audit_log_leaves l ON l.kind = TG_ARGV[0] AND l.subject_id = g.id WHERE l.kept_salt IS NOT NULL;
    IF ids IS NOT NULL THEN
        INSERT INTO audit_log_removals (id, kind, reason, before, subjects) VALUES (
            gen_random_uuid(), TG_ARGV[0], 'retention', limit_of_sweep::timestamptz, to_jsonb(ids));
        UPDATE audit_log_leaves SET salt = NULL, kept_salt = NULL
            WHERE kind = TG_ARGV[0] AND subject_id = ANY(ids);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION hushgate_forget_texts() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    erasure uuid := nullif(current_setting('hushgate.erasure', true), '');
    ids uuid[];
BEGIN
    IF current_setting('hushgate.erasing', true) IS DISTINCT FROM 'on' OR NOT EXISTS (
            SELECT FROM erasures e WHERE e.id = erasure AND e.confirmed_at IS NOT NULL
                AND e.started_at IS NOT NULL AND e.finished_at IS NULL) THEN
        RETURN NULL;
    END IF;
    IF EXISTS (SELECT FROM audit_log_checkpoints) THEN
        LOCK TABLE audit_log_checkpoints IN SHARE ROW EXCLUSIVE MODE;
    END IF;
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
END $$;

-- A month that was dropped at once leaves its salts; a salt goes only when its row is gone.
CREATE OR REPLACE FUNCTION hushgate_forget_dropped(most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
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
END $$;
