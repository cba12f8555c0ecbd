-- Erasure of decisions and of what belongs to them.

CREATE OR REPLACE FUNCTION hushgate_erasure_field(kind text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT CASE kind WHEN 'author' THEN 'author_id' WHEN 'conversation' THEN 'conversation_id' END
$$;

-- True of a dead letter of the account whose field has the value; a payload that is no JSON has it in quotes.
CREATE OR REPLACE FUNCTION hushgate_payload_names(
    payload bytea, account text, field text, subject text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    body jsonb;
BEGIN
    BEGIN
        body := convert_from(payload, 'UTF8')::jsonb;
        IF jsonb_typeof(body -> 'data') = 'object' AND body ? 'specversion' THEN
            body := body -> 'data';
        END IF;
    EXCEPTION WHEN OTHERS THEN
        body := NULL;
    END;
    IF jsonb_typeof(body -> 'user_id') = 'string' AND body ->> 'user_id' <> account THEN
        RETURN false;
    END IF;
    IF field IS NULL THEN
        RETURN coalesce(body ->> 'user_id' = account, hushgate_in_payload(payload, account));
    END IF;
    IF jsonb_typeof(body -> field) = 'string' THEN
        RETURN body ->> field = subject;
    END IF;
    RETURN hushgate_in_payload(payload, subject)
        AND (jsonb_typeof(body -> 'user_id') = 'string' OR body IS NOT NULL
             OR hushgate_in_payload(payload, account));
END $$;

CREATE OR REPLACE FUNCTION hushgate_sole_customer(
    account text, conversation text, author text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT conversation <> '' AND NOT EXISTS (
        SELECT FROM ai_decisions d WHERE d.user_id = account AND d.conversation_id = conversation
            AND d.author_id NOT IN (author, '') AND d.reason_code <> 'AGENT_MESSAGE')
$$;

-- The decisions that an erasure is about, without those already erased; with their conversations, and
-- whether a conversation has no other customer, so that all of it goes.
CREATE OR REPLACE FUNCTION hushgate_erasure_scope(
    erasure uuid) RETURNS TABLE(decision_id uuid, conversation_id text, whole boolean, held boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    WITH e AS (SELECT * FROM erasures WHERE id = erasure AND finished_at IS NULL),
    own AS MATERIALIZED (
        SELECT d.id, d.conversation_id FROM e JOIN ai_decisions d ON d.user_id = e.user_id
            AND CASE e.kind WHEN 'author' THEN d.author_id = e.subject
                WHEN 'conversation' THEN d.conversation_id = e.subject ELSE true END
        WHERE NOT d.snapshot_json ? 'erased'
    ), sole AS MATERIALIZED (
        SELECT DISTINCT own.conversation_id FROM e, own
        WHERE e.kind <> 'author' OR hushgate_sole_customer(e.user_id, own.conversation_id, e.subject)
    )
    SELECT d.id, d.conversation_id, sole.conversation_id IS NOT NULL,
           hushgate_is_held(d.user_id, d.id, d.conversation_id, d.author_id)
    FROM e JOIN ai_decisions d ON d.user_id = e.user_id AND NOT d.snapshot_json ? 'erased'
    LEFT JOIN sole ON sole.conversation_id = d.conversation_id
    WHERE sole.conversation_id IS NOT NULL OR d.id IN (SELECT id FROM own)
$$;

-- Entry ids are pairs of numbers with the mark of their shard; other ids count by their decision's time
-- alone. Newest names each shard of its time: of a shard that came later, every entry counts.
CREATE OR REPLACE FUNCTION hushgate_entry_until(entry text, newest text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT CASE WHEN entry ~ '^[0-9]+-[0-9]+(@[0-9]+/[0-9]+)?$' AND newest IS NOT NULL THEN coalesce((
        SELECT string_to_array(split_part(entry, '@', 1), '-')::numeric[]
            <= string_to_array(split_part(one, '@', 1), '-')::numeric[]
        FROM regexp_split_to_table(newest, ' ') AS one
        WHERE split_part(one, '@', 2) = split_part(entry, '@', 2)), true)
        ELSE false END
$$;

CREATE OR REPLACE FUNCTION hushgate_tombstone(snapshot jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE STRICT SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT (SELECT coalesce(jsonb_object_agg(part.key, part.value), '{}') FROM jsonb_each(snapshot) AS part
            WHERE part.key IN ('entry_id', 'received_at', 'created_at', 'language', 'type', 'rules_version',
                'error_class', 'tokens', 'models', 'tokens_by_model', 'rechecked', 'quarantined'))
        || jsonb_build_object('erased', true, 'stages', (
            SELECT coalesce(jsonb_agg(jsonb_build_object('stage', one -> 'stage',
                'outcome', one -> 'outcome', 'duration_ms', one -> 'duration_ms') ORDER BY place), '[]')
            FROM jsonb_path_query(snapshot, '$.stages[*]') WITH ORDINALITY AS s (one, place)))
        || jsonb_build_object('attempts', (
            SELECT coalesce(jsonb_agg(jsonb_build_object('number', one -> 'number', 'stage', one -> 'stage',
                'outcome', one -> 'outcome', 'duration_ms', one -> 'duration_ms',
                'waited_s', one -> 'waited_s') ORDER BY place), '[]')
            FROM jsonb_path_query(snapshot, '$.attempts[*]') WITH ORDINALITY AS a (one, place)))
        || CASE jsonb_typeof(snapshot -> 'assessment') WHEN 'object' THEN jsonb_build_object('assessment', (
            SELECT jsonb_object_agg(part.key, part.value) FROM jsonb_each(snapshot -> 'assessment') AS part
            WHERE part.key IN ('policy', 'confidence', 'tier', 'action', 'support', 'relevance', 'measured',
                'intended_action'))) ELSE '{}' END
$$;

-- Everything beside the decision's own row that belongs to these decisions and answers. Safe to repeat.
CREATE OR REPLACE FUNCTION hushgate_erase_copies(
    account text, decisions uuid[], conversations text[]) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    counts jsonb := '{}';
    ids uuid[];
    places text[];
    gone bigint;
BEGIN
    SELECT decisions || coalesce(array_agg(a.id), '{}'), conversations || coalesce(
        array_agg(DISTINCT a.conversation_id) FILTER (WHERE a.conversation_id <> ''), '{}')
        INTO ids, places FROM answers a WHERE a.decision_id = ANY(decisions);
    DELETE FROM decision_comments t WHERE t.decision_id = ANY(ids);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('decision_comments', gone);
    UPDATE decision_assignments t SET done_at = now() WHERE t.decision_id = ANY(ids) AND t.done_at IS NULL;
    DELETE FROM quarantine t WHERE t.decision_id = ANY(ids);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('quarantine', gone);
    DELETE FROM held_drafts t WHERE t.decision_id = ANY(ids);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('held_drafts', gone);
    DELETE FROM unmoderated_texts t WHERE t.decision_id = ANY(ids);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('unmoderated_texts', gone);
    DELETE FROM customer_feedback t WHERE t.id = ANY(ids) OR t.decision_id = ANY(ids);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('customer_feedback', gone);
    UPDATE decision_reviews t SET note = '' WHERE t.decision_id = ANY(ids) AND t.note <> '';
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('decision_reviews', gone);
    DELETE FROM appeals t WHERE t.decision_id = ANY(ids);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('appeals', gone);
    DELETE FROM recordings t WHERE t.decision_id = ANY(ids) OR t.decision_id IN (
        SELECT d.id FROM ai_decisions d WHERE d.user_id = account AND d.conversation_id = ANY(places)
            AND NOT hushgate_is_held(d.user_id, d.id, d.conversation_id, d.author_id));
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('recordings', gone);
    UPDATE checks t SET verdict = NULL, conversation_id = '', author_id = ''
    WHERE t.decision_id = ANY(ids) AND t.verdict IS NOT NULL;
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('checks', gone);
    DELETE FROM shadow_results t WHERE t.decision_id = ANY(ids) OR t.decision_id IN (
        SELECT d.id FROM ai_decisions d WHERE d.user_id = account AND d.conversation_id = ANY(places)
            AND NOT hushgate_is_held(d.user_id, d.id, d.conversation_id, d.author_id));
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('shadow_results', gone);
    DELETE FROM golden_set_items t WHERE t.decision_id = ANY(ids)
        OR t.user_id = account AND t.conversation_id = ANY(places)
            AND NOT hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, t.author_id);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('golden_set_items', gone);
    DELETE FROM golden_items t WHERE t.decision_id = ANY(ids);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('golden_items', gone);
    UPDATE queue_items t SET done_at = now() WHERE t.decision_id = ANY(ids) AND t.done_at IS NULL;
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('queue_items', gone);
    -- until the commit no relay sends, and what one has sent is on its stream: all else is done before
    PERFORM pg_advisory_xact_lock(hashtextextended('hushgate outbox', 0)),
            pg_advisory_xact_lock(hashtextextended('hushgate outgoing events', 0));
    DELETE FROM outbox t
    WHERE t.user_id = account AND t.conversation_id = ANY(places) AND t.decision_id = ANY(ids);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('outbox', gone);
    DELETE FROM messages t
    WHERE t.user_id = account AND t.conversation_id = ANY(places) AND t.decision_id = ANY(ids);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('messages', gone);
    UPDATE answers t SET conversation_id = '', message_id = '', draft = NULL, checks = '{}',
        text = CASE WHEN t.text IS NOT NULL THEN '' END
    WHERE t.decision_id = ANY(ids) AND (t.conversation_id <> '' OR t.text <> '' OR t.draft IS NOT NULL);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('answers', gone);
    UPDATE escalations t SET conversation_id = '', message_id = '', author_id = '',
        closed_at = coalesce(t.closed_at, now()), closed_by = coalesce(t.closed_by, ''),
        cause = coalesce(t.cause, 'message_deleted')
    WHERE t.decision_id = ANY(ids) AND t.author_id || t.conversation_id <> '';
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('escalations', gone);
    UPDATE retractions t SET conversation_id = '', message_id = '',
        cancelled_at = CASE WHEN t.delivered_at IS NULL THEN coalesce(t.cancelled_at, now())
                       ELSE t.cancelled_at END
    WHERE t.decision_id = ANY(ids) AND t.conversation_id <> '';
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('retractions', gone);
    RETURN counts;
END $$;

-- One step: the next decisions become tombstones, and their copies go. A held decision stays as it is.
CREATE OR REPLACE FUNCTION hushgate_erase_decisions(
    erasure uuid, most integer, OUT counts jsonb, OUT finished boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
SET hushgate.erasing = on SET hushgate.sweeping = on AS $$
DECLARE
    e erasures%ROWTYPE;
    which text;
    seen bigint;
    ids uuid[];
    places text[];
    texts text[];
    oldest timestamptz;
    last_at timestamptz;
    last_id uuid;
    gone bigint;
BEGIN
    SELECT * INTO e FROM erasures WHERE id = erasure AND confirmed_at IS NOT NULL AND phase IN
        ('decisions', 'conversations', 'decisions_again', 'conversations_again') FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'erasure %: expected one that erases decisions now', erasure;
    END IF;
    PERFORM set_config('hushgate.erasure', erasure::text, true);
    which := CASE
        WHEN e.kind = 'conversation' OR starts_with(e.phase, 'conversations') THEN
            'd.conversation_id IN (SELECT i.value FROM erasure_items i
                WHERE i.erasure_id = $1 AND i.kind = ''conversation'') AND $3 IS NOT NULL'
        WHEN e.kind = 'author' THEN 'd.author_id = $3'
        ELSE '$3 IS NOT NULL' END;
    EXECUTE format($sql$
        WITH looked AS MATERIALIZED (
            SELECT d.created_at, d.id, d.conversation_id, d.message_text,
                NOT d.snapshot_json ? 'erased'
                AND NOT hushgate_is_held(d.user_id, d.id, d.conversation_id, d.author_id)
                AND (d.created_at <= $4 OR EXISTS (
                    SELECT FROM event_keys k WHERE k.user_id = d.user_id AND k.event_id = d.event_id
                        AND hushgate_entry_until(k.entry_id, $8))) AS due
            FROM ai_decisions d
            WHERE d.user_id = $2 AND %s AND (d.created_at, d.id) > ($5, $6)
            ORDER BY d.created_at, d.id LIMIT $7
        )
        SELECT count(*), coalesce(array_agg(id) FILTER (WHERE due), '{}'),
            coalesce(array_agg(DISTINCT conversation_id) FILTER (WHERE due), '{}'),
            coalesce(array_agg(message_text) FILTER (WHERE due), '{}'), min(created_at) FILTER (WHERE due),
            max(created_at), (array_agg(id ORDER BY created_at DESC, id DESC))[1]
        FROM looked $sql$, which)
    INTO seen, ids, places, texts, oldest, last_at, last_id
    USING erasure, e.user_id, e.subject, e.started_at, coalesce(e.position_at, '-infinity'),
        coalesce(e.position_id, '00000000-0000-0000-0000-000000000000'), most, e.until_entry;
    finished := seen < most;
    counts := '{}';
    IF cardinality(ids) > 0 THEN
        INSERT INTO erasure_items (erasure_id, kind, value, text)
            SELECT erasure, 'decision', each.id::text, each.text FROM unnest(ids, texts) AS each (id, text)
            ON CONFLICT DO NOTHING;
        INSERT INTO erasure_items SELECT DISTINCT erasure, 'word', word
            FROM unnest(texts) AS each (text), unnest(hushgate_telling_words(each.text)) AS word
            ON CONFLICT DO NOTHING;
        INSERT INTO erasure_items VALUES (erasure, 'exports', oldest::text) ON CONFLICT DO NOTHING;
        INSERT INTO erasure_items SELECT erasure, 'answer', a.id::text FROM answers a
            WHERE a.decision_id = ANY(ids) ON CONFLICT DO NOTHING;
        INSERT INTO erasure_items SELECT erasure, 'place', place FROM unnest(places) AS place
            WHERE place <> '' ON CONFLICT DO NOTHING;
        IF e.kind = 'author' THEN
            INSERT INTO erasure_items SELECT erasure, 'conversation', place FROM unnest(places) AS place
                WHERE hushgate_sole_customer(e.user_id, place, e.subject)
                    AND NOT hushgate_is_held(e.user_id, NULL, place, NULL)
                ON CONFLICT DO NOTHING;
        END IF;
        UPDATE ai_decisions d SET message_id = '', conversation_id = '', author_id = '', message_text = '',
            reason = 'Erased on request.', snapshot_json = hushgate_tombstone(d.snapshot_json)
        WHERE d.id = ANY(ids) AND d.created_at BETWEEN oldest AND last_at;
        GET DIAGNOSTICS gone = ROW_COUNT;
        counts := jsonb_build_object('ai_decisions', gone);
        UPDATE event_keys k SET conversation_id = NULL, message_id = NULL FROM ai_decisions d
        WHERE d.id = ANY(ids) AND d.created_at BETWEEN oldest AND last_at
            AND k.user_id = d.user_id AND k.event_id = d.event_id;
        counts := counts || hushgate_erase_copies(e.user_id, ids, places);
    END IF;
    UPDATE erasures SET position_at = coalesce(last_at, position_at), alive_at = now(),
        position_id = coalesce(last_id, position_id), erased = hushgate_added(erased, counts),
        phase_done = phase_done OR finished
    WHERE id = erasure;
END $$;

CREATE OR REPLACE FUNCTION hushgate_erase_rows(erasure uuid) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
SET hushgate.erasing = on SET hushgate.sweeping = on AS $$
DECLARE
    e erasures%ROWTYPE;
    ids text[];
    places text[];
    left_over uuid[];
    counts jsonb := '{}';
    gone bigint;
BEGIN
    SELECT * INTO e FROM erasures WHERE id = erasure AND confirmed_at IS NOT NULL
        AND phase IN ('rows', 'rows_again') FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'erasure %: expected one that erases rows now', erasure;
    END IF;
    PERFORM set_config('hushgate.erasure', erasure::text, true);
    SELECT coalesce(array_agg(value) FILTER (WHERE kind IN ('decision', 'answer')), '{}'),
           coalesce(array_agg(value) FILTER (WHERE kind = 'conversation'), '{}')
        INTO ids, places FROM erasure_items WHERE erasure_id = erasure;
    -- rows whose decision retention has deleted
    SELECT coalesce(array_agg(DISTINCT r.decision_id), '{}') INTO left_over FROM (
        SELECT user_id, decision_id, conversation_id, created_at, NULL AS author_id FROM messages
        UNION ALL SELECT user_id, decision_id, conversation_id, created_at, NULL FROM quarantine
        UNION ALL SELECT user_id, decision_id, conversation_id, created_at, NULL FROM held_drafts
        UNION ALL SELECT user_id, decision_id, conversation_id, created_at, NULL FROM outbox
        UNION ALL SELECT user_id, decision_id, conversation_id, created_at, NULL FROM answers
        UNION ALL SELECT user_id, decision_id, conversation_id, created_at, NULL FROM retractions
        UNION ALL SELECT user_id, decision_id, conversation_id, opened_at, author_id FROM escalations
        UNION ALL SELECT user_id, decision_id, conversation_id, created_at, author_id FROM shadow_results
        UNION ALL SELECT user_id, decision_id, conversation_id, created_at, author_id FROM recordings
        UNION ALL SELECT user_id, decision_id, conversation_id, created_at, author_id FROM checks
        UNION ALL SELECT user_id, decision_id, conversation_id, created_at, author_id FROM appeals
        UNION ALL SELECT user_id, id, conversation_id, created_at, author_id FROM customer_feedback
        UNION ALL SELECT user_id, decision_id, conversation_id, decided_at, author_id FROM unmoderated_texts
    ) AS r
    WHERE r.user_id = e.user_id AND r.created_at <= e.started_at AND (e.kind = 'account'
            OR r.conversation_id = ANY(places) OR e.kind = 'author' AND r.author_id = e.subject)
        AND r.conversation_id <> ''
        AND NOT hushgate_is_held(r.user_id, r.decision_id, r.conversation_id, r.author_id);
    UPDATE dead_letters l SET raw = '', got = ''
    WHERE l.raw <> '' AND (l.created_at <= e.started_at OR hushgate_entry_until(l.entry_id, e.until_entry))
        AND (hushgate_payload_names(l.raw, e.user_id, hushgate_erasure_field(e.kind), e.subject)
            OR EXISTS (SELECT FROM unnest(places) AS place
                       WHERE hushgate_payload_names(l.raw, e.user_id, 'conversation_id', place)))
        AND NOT hushgate_payload_is_held(l.raw);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('dead_letters', gone);
    UPDATE legal_holds h SET subject = ''
    WHERE h.user_id = e.user_id AND (h.released_at IS NOT NULL OR h.until <= now()) AND h.subject <> ''
        AND (e.kind = 'account' OR h.kind = 'author' AND e.kind = 'author' AND h.subject = e.subject
            OR h.kind = 'conversation' AND h.subject = ANY(places));
    IF e.kind = 'account' THEN
        DELETE FROM documents d WHERE d.user_id = e.user_id;
        GET DIAGNOSTICS gone = ROW_COUNT;
        counts := counts || jsonb_build_object('documents', gone);
    END IF;
    DELETE FROM subject_notes t
    WHERE t.user_id = e.user_id AND (e.kind = 'account'
            OR t.kind = 'author' AND e.kind = 'author' AND t.subject = e.subject
            OR t.kind = 'conversation' AND t.subject = ANY(places))
        AND NOT hushgate_is_held(t.user_id, NULL, CASE t.kind WHEN 'conversation' THEN t.subject END,
        CASE t.kind WHEN 'author' THEN t.subject END);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('subject_notes', gone);
    DELETE FROM subject_tags t
    WHERE t.user_id = e.user_id AND (e.kind = 'account'
            OR t.kind = 'author' AND e.kind = 'author' AND t.subject = e.subject
            OR t.kind = 'conversation' AND t.subject = ANY(places))
        AND NOT hushgate_is_held(t.user_id, NULL, CASE t.kind WHEN 'conversation' THEN t.subject END,
        CASE t.kind WHEN 'author' THEN t.subject END);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('subject_tags', gone);
    UPDATE event_keys k SET conversation_id = NULL, message_id = NULL
    WHERE k.user_id = e.user_id AND k.message_id IS NOT NULL AND k.created_at <= e.started_at
        AND (e.kind = 'account' OR k.conversation_id = ANY(places))
        AND NOT hushgate_is_held(k.user_id, k.decision_id, k.conversation_id, NULL);
    -- relays wait from here on
    counts := counts || hushgate_erase_copies(e.user_id, left_over, ARRAY(
        SELECT DISTINCT m.conversation_id FROM messages m
        WHERE m.user_id = e.user_id AND m.decision_id = ANY(left_over)
        UNION SELECT o.conversation_id FROM outbox o
        WHERE o.user_id = e.user_id AND o.decision_id = ANY(left_over)));
    DELETE FROM golden_set_items t
    WHERE t.user_id = e.user_id AND t.created_at <= e.started_at AND (e.kind = 'account'
            OR t.conversation_id = ANY(places) OR e.kind = 'author' AND t.author_id = e.subject
            OR e.kind = 'conversation' AND t.conversation_id = e.subject)
        AND NOT hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, t.author_id);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('golden_set_items',
        gone + coalesce((counts ->> 'golden_set_items')::bigint, 0));
    DELETE FROM outgoing_events o
    WHERE o.user_id = e.user_id AND NOT hushgate_event_is_held(o.user_id, o.conversation_id, o.body) AND (
        o.created_at <= e.started_at AND (e.kind = 'account' OR o.conversation_id = ANY(places))
        OR o.key = ANY(ids) OR o.body ->> 'decision_id' = ANY(ids));
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('outgoing_events', gone);
    DELETE FROM conversations c
    WHERE c.user_id = e.user_id AND c.changed_at <= e.started_at
        AND (e.kind = 'account' OR c.conversation_id = ANY(places))
        AND NOT hushgate_is_held(c.user_id, NULL, c.conversation_id, NULL);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('conversations', gone);
    IF e.kind = 'account' THEN
        DELETE FROM webhook_endpoints w WHERE w.user_id = e.user_id;
        GET DIAGNOSTICS gone = ROW_COUNT;
        counts := counts || jsonb_build_object('webhook_endpoints', gone);
    END IF;
    UPDATE erasures SET erased = hushgate_added(erased, counts), alive_at = now(), phase_done = true
    WHERE id = erasure;
    RETURN counts;
END $$;

-- The copies of decisions that are tombstones already: a person may have answered one meanwhile.
CREATE OR REPLACE FUNCTION hushgate_erase_again(
    erasure uuid, most integer, OUT counts jsonb, OUT finished boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
SET hushgate.erasing = on SET hushgate.sweeping = on AS $$
DECLARE
    e erasures%ROWTYPE;
    ids uuid[];
BEGIN
    SELECT * INTO e FROM erasures
    WHERE id = erasure AND confirmed_at IS NOT NULL AND phase = 'copies_again' FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'erasure %: expected one that erases copies again', erasure;
    END IF;
    PERFORM set_config('hushgate.erasure', erasure::text, true);
    SELECT coalesce(array_agg(value::uuid ORDER BY value), '{}') INTO ids FROM (
        SELECT i.value FROM erasure_items i WHERE i.erasure_id = erasure AND i.kind = 'decision'
            AND i.value > coalesce(e.position_id::text, '') ORDER BY i.value LIMIT most) AS next;
    INSERT INTO erasure_items SELECT erasure, 'answer', a.id::text FROM answers a
        WHERE a.decision_id = ANY(ids) ON CONFLICT DO NOTHING;
    counts := hushgate_erase_copies(e.user_id, ids, CASE WHEN cardinality(ids) < most THEN ARRAY(
        SELECT i.value FROM erasure_items i WHERE i.erasure_id = erasure AND i.kind = 'place') ELSE '{}' END);
    finished := cardinality(ids) < most;
    UPDATE erasures SET position_id = coalesce(ids[cardinality(ids)], position_id), alive_at = now(),
        erased = hushgate_added(erased, counts), phase_done = phase_done OR finished WHERE id = erasure;
END $$;
