-- Requests for erasure: their phases, counts and receipts.

-- People ask for an erasure and confirm it; salt, hash and times are made here.
CREATE OR REPLACE FUNCTION hushgate_request_erasure(
    erasure uuid, account text, kind text, subject text, reason text, requested_by text)
RETURNS SETOF erasures
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    salt CONSTANT bytea := uuid_send(gen_random_uuid());
BEGIN
    RETURN QUERY
    INSERT INTO erasures AS e (id, user_id, kind, subject, salt, subject_hash, reason, requested_by)
    VALUES (erasure, account, hushgate_request_erasure.kind, hushgate_request_erasure.subject, salt,
        encode(sha256(salt || convert_to(hushgate_request_erasure.subject, 'UTF8')), 'hex'),
        hushgate_request_erasure.reason, hushgate_request_erasure.requested_by)
    RETURNING e.*;
END $$;

CREATE OR REPLACE FUNCTION hushgate_confirm_erasure(erasure uuid, person text) RETURNS SETOF erasures
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    UPDATE erasures e SET confirmed_at = clock_timestamp(), confirmed_by = person
    WHERE e.id = erasure AND e.phase = 'previewed' AND e.confirmed_at IS NULL AND person <> '' RETURNING e.*
$$;

CREATE OR REPLACE FUNCTION hushgate_cancel_erasure(erasure uuid) RETURNS SETOF erasures
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    UPDATE erasures e SET phase = 'cancelled', finished_at = now(), subject = NULL
    WHERE e.id = erasure AND e.confirmed_at IS NULL AND e.phase IN ('requested', 'previewed') RETURNING e.*
$$;

CREATE OR REPLACE FUNCTION hushgate_begin_erasure(erasure uuid, newest_entry text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    UPDATE erasures SET phase = 'decisions', started_at = clock_timestamp(), until_entry = newest_entry,
        alive_at = now()
    WHERE id = erasure AND confirmed_at IS NOT NULL AND phase = 'previewed';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'erasure %: expected one that is confirmed and not begun', erasure;
    END IF;
    INSERT INTO erasure_items (erasure_id, kind, value)
    SELECT id, 'conversation', subject FROM erasures WHERE id = erasure AND kind = 'conversation';
END $$;

-- The next phase in order, once the functions have done the work of this one; what waits in a stream
-- cannot be counted here, so the worker ends the phase `waiting`.
CREATE OR REPLACE FUNCTION hushgate_next_erasure_phase(erasure uuid, before text) RETURNS SETOF erasures
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    phases CONSTANT text[] := '{decisions,conversations,rows,queries,streams,waiting,decisions_again,
        conversations_again,copies_again,rows_again,queries_again,streams_again}';
    place CONSTANT integer := array_position(phases, before);
BEGIN
    IF place IS NULL OR place = cardinality(phases) THEN
        RAISE EXCEPTION 'erasure: expected a phase that has a next one, got %', before;
    END IF;
    RETURN QUERY UPDATE erasures e SET phase = phases[place + 1], phase_done = false, position_at = NULL,
        position_id = NULL, position_line = NULL, alive_at = now()
    WHERE e.id = erasure AND e.phase = before AND e.confirmed_at IS NOT NULL AND e.started_at IS NOT NULL
        AND (e.phase_done OR e.phase = 'waiting')
    RETURNING e.*;
END $$;

-- Counts of streams, which no function here can count: never under the name of a table.
CREATE OR REPLACE FUNCTION hushgate_stream_counts(entries jsonb) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(key, greatest(0, least(value::bigint, 1000000000000))), '{}')
    FROM jsonb_each_text(entries) AS each
    WHERE key <> 'held' AND value ~ '^[0-9]{1,13}$' AND NOT EXISTS (
        SELECT FROM pg_class c WHERE c.relname = key AND c.relnamespace = '{schema}'::regnamespace)
$$;

CREATE OR REPLACE FUNCTION hushgate_added(before jsonb, more jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(key, total), '{}') FROM (
        SELECT key, sum(value::bigint) AS total
        FROM (SELECT * FROM jsonb_each_text(before) UNION ALL SELECT * FROM jsonb_each_text(more)) AS each
        GROUP BY key HAVING sum(value::bigint) > 0) AS summed
$$;

CREATE OR REPLACE FUNCTION hushgate_add_stream_counts(erasure uuid, entries jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    UPDATE erasures SET erased = hushgate_added(erased, hushgate_stream_counts(entries)), alive_at = now(),
        phase_done = true
    WHERE id = erasure AND confirmed_at IS NOT NULL AND phase IN ('streams', 'streams_again');
    IF NOT FOUND THEN
        RAISE EXCEPTION 'erasure %: expected one that erases entries of streams now', erasure;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION hushgate_preview_erasure(erasure uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    e erasures%ROWTYPE;
    ids uuid[];
    held_decisions bigint;
    conversations text[];
    touched text[];
    counts jsonb;
    name text;
    found bigint;
BEGIN
    SELECT * INTO STRICT e FROM erasures WHERE id = erasure AND finished_at IS NULL;
    SELECT coalesce(array_agg(decision_id) FILTER (WHERE NOT held), '{}'), count(*) FILTER (WHERE held),
           coalesce(array_agg(DISTINCT s.conversation_id) FILTER (WHERE whole AND NOT held), '{}'),
           coalesce(array_agg(DISTINCT s.conversation_id)
               FILTER (WHERE NOT held AND s.conversation_id <> ''), '{}')
        INTO ids, held_decisions, conversations, touched FROM hushgate_erasure_scope(erasure) s;
    counts := jsonb_build_object('ai_decisions', cardinality(ids), 'held', held_decisions);
    ids := ids || ARRAY(SELECT a.id FROM answers a WHERE a.decision_id = ANY(ids));
    FOREACH name IN ARRAY ARRAY['messages', 'quarantine', 'held_drafts', 'decision_comments', 'outbox',
                                'escalations', 'answers', 'retractions', 'decision_reviews',
                                'golden_items', 'appeals', 'checks', 'unmoderated_texts'] LOOP
        EXECUTE format('SELECT count(*) FROM %I t WHERE t.user_id = $1 AND t.decision_id = ANY($2)', name)
            INTO found USING e.user_id, ids;
        counts := counts || jsonb_build_object(name, found);
    END LOOP;
    SELECT counts || jsonb_build_object('customer_feedback', count(*)) INTO counts FROM customer_feedback t
    WHERE t.user_id = e.user_id AND (t.id = ANY(ids) OR t.decision_id = ANY(ids));
    FOREACH name IN ARRAY ARRAY['recordings', 'shadow_results', 'golden_set_items'] LOOP
        EXECUTE format('SELECT count(*) FROM %I t WHERE t.user_id = $1
                AND (t.decision_id = ANY($2) OR t.conversation_id = ANY($3) OR $4 = ''account''
                    OR $4 = ''author'' AND t.author_id = $5
                    OR $4 = ''conversation'' AND t.conversation_id = $5)
                AND NOT hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, t.author_id)', name)
            INTO found USING e.user_id, ids, touched, e.kind, e.subject;
        counts := counts || jsonb_build_object(name, found);
    END LOOP;
    SELECT counts || jsonb_build_object('outgoing_events', count(*)) INTO counts FROM outgoing_events o
    WHERE o.user_id = e.user_id AND (o.conversation_id = ANY(conversations)
        OR o.key = ANY(ids::text[]) OR o.body ->> 'decision_id' = ANY(ids::text[]));
    SELECT counts || jsonb_build_object('subject_notes', count(*)) INTO counts FROM subject_notes t
    WHERE t.user_id = e.user_id AND (e.kind = 'account'
            OR t.kind = 'author' AND e.kind = 'author' AND t.subject = e.subject
            OR t.kind = 'conversation' AND t.subject = ANY(conversations))
        AND NOT hushgate_is_held(t.user_id, NULL, CASE t.kind WHEN 'conversation' THEN t.subject END,
        CASE t.kind WHEN 'author' THEN t.subject END);
    SELECT counts || jsonb_build_object('subject_tags', count(*)) INTO counts FROM subject_tags t
    WHERE t.user_id = e.user_id AND (e.kind = 'account'
            OR t.kind = 'author' AND e.kind = 'author' AND t.subject = e.subject
            OR t.kind = 'conversation' AND t.subject = ANY(conversations))
        AND NOT hushgate_is_held(t.user_id, NULL, CASE t.kind WHEN 'conversation' THEN t.subject END,
        CASE t.kind WHEN 'author' THEN t.subject END);
    SELECT counts || jsonb_build_object('conversations', count(*)) INTO counts FROM conversations c
    WHERE c.user_id = e.user_id AND c.conversation_id = ANY(conversations);
    SELECT counts || jsonb_build_object('dead_letters', count(*)) INTO counts FROM dead_letters l
    WHERE l.raw <> '' AND hushgate_payload_names(l.raw, e.user_id, hushgate_erasure_field(e.kind), e.subject);
    SELECT counts || jsonb_build_object('access_log', count(*)) INTO counts FROM access_log l
    WHERE (l.user_id = e.user_id OR l.user_id IS NULL) AND hushgate_line_is_of(l, e.user_id)
        AND (e.kind = 'account' AND l.user_id = e.user_id AND l.detail ?| '{query,conversation}'
            OR hushgate_query_names(l.detail ->> 'query', conversations || e.subject)
            OR hushgate_leaf_names(l.detail, conversations || e.subject));
    SELECT counts || jsonb_build_object('saved_views', count(*)) INTO counts FROM saved_views v
    WHERE hushgate_query_names(v.query, conversations || e.subject)
        AND hushgate_query_reaches(v.query, e.user_id) AND hushgate_has_rights(v.person_id, e.user_id);
    IF e.kind = 'account' THEN
        SELECT counts || jsonb_build_object('documents', count(*)) INTO counts FROM documents t
        WHERE t.user_id = e.user_id;
        SELECT counts || jsonb_build_object('webhook_endpoints', count(*)) INTO counts
        FROM webhook_endpoints t WHERE t.user_id = e.user_id;
    END IF;
    RETURN counts;
END $$;

CREATE OR REPLACE FUNCTION hushgate_store_preview(erasure uuid, entries jsonb) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    UPDATE erasures SET preview = hushgate_stream_counts(entries) || hushgate_preview_erasure(erasure),
        phase = 'previewed', alive_at = NULL
    WHERE id = erasure AND phase = 'requested'
$$;

-- A reason without the ids; an id inside a longer word is another id.
CREATE OR REPLACE FUNCTION hushgate_without(reason text, subjects text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    kept text := reason;
    one text;
BEGIN
    FOREACH one IN ARRAY subjects LOOP
        IF one <> '' AND position(one in kept) > 0 THEN
            kept := regexp_replace(kept, '(?<![A-Za-z0-9])'
                || regexp_replace(one, '([^A-Za-z0-9])', '\\\1', 'g') || '(?![A-Za-z0-9])', '...', 'g');
        END IF;
    END LOOP;
    RETURN kept;
END $$;

CREATE OR REPLACE FUNCTION hushgate_utc_text(moment timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')
$$;

-- What is signed: made from the row only, so that the signing worker can compare it. Counts of streams
-- are what the worker reported, counts of tables what the functions counted.
CREATE OR REPLACE FUNCTION hushgate_erasure_receipt(done erasures) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT jsonb_build_object('version', 1, 'erasure', done.id, 'account', done.user_id, 'kind', done.kind,
        'subject_salt', encode(done.salt, 'hex'), 'subject_sha256', done.subject_hash,
        'requested_by', done.requested_by, 'requested_at', hushgate_utc_text(done.requested_at),
        'confirmed_by', done.confirmed_by, 'confirmed_at', hushgate_utc_text(done.confirmed_at),
        'started_at', hushgate_utc_text(done.started_at), 'finished_at', hushgate_utc_text(done.finished_at),
        'until_entry', done.until_entry, 'erased', done.erased, 'decisions_under_legal_hold', done.held)
$$;

CREATE OR REPLACE FUNCTION hushgate_finish_erasure(erasure uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    done erasures%ROWTYPE;
    places text[];
    subjects text[];
BEGIN
    SELECT * INTO done FROM erasures e WHERE e.id = erasure AND e.phase = 'streams_again' AND e.phase_done
        AND e.confirmed_at IS NOT NULL AND e.started_at IS NOT NULL FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'erasure %: expected one that has only to be finished', erasure;
    END IF;
    SELECT coalesce(array_agg(value), '{}') INTO places
    FROM erasure_items WHERE erasure_id = erasure AND kind = 'conversation';
    subjects := places || CASE done.kind WHEN 'account' THEN '{}' ELSE ARRAY[done.subject] END;
    UPDATE erasures e SET held = (SELECT count(*) FROM hushgate_erasure_scope(erasure) s WHERE s.held)
    WHERE e.id = erasure;
    UPDATE erasures e SET phase = 'finished', finished_at = now(), subject = NULL, preview = NULL
    WHERE e.id = erasure;
    UPDATE erasures e SET receipt = hushgate_erasure_receipt(e) WHERE e.id = erasure;
    -- a confirmed request goes on, for messages since, and forgets its subject at its own end
    UPDATE erasures e SET phase = 'cancelled', finished_at = now(), subject = NULL, preview = NULL,
        reason = CASE e.kind WHEN 'account' THEN e.reason
                 ELSE hushgate_without(e.reason, ARRAY[e.subject]) END
    WHERE e.user_id = done.user_id AND e.finished_at IS NULL AND e.confirmed_at IS NULL
        AND (done.kind = 'account' OR e.kind = done.kind AND e.subject = done.subject
            OR e.kind = 'conversation' AND e.subject = ANY(places));
    UPDATE erasures e SET reason = hushgate_without(e.reason, subjects)
    WHERE e.user_id = done.user_id AND e.reason <> hushgate_without(e.reason, subjects);
    UPDATE legal_holds h SET reason = hushgate_without(h.reason, subjects)
    WHERE h.user_id = done.user_id AND h.reason <> hushgate_without(h.reason, subjects)
        AND NOT (h.subject = ANY(subjects) AND h.released_at IS NULL
                 AND (h.until IS NULL OR h.until > now()));
    DELETE FROM erasure_items WHERE erasure_id = erasure;
END $$;

CREATE OR REPLACE FUNCTION hushgate_sign_erasure(erasure uuid, signature text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    UPDATE erasures e SET signature = hushgate_sign_erasure.signature
    WHERE e.id = erasure AND e.phase = 'finished' AND e.signature IS NULL
$$;
