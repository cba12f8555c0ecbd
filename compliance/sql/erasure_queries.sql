-- Erasure of queries: lists, exports and saved views that name a person or a message.

CREATE OR REPLACE FUNCTION hushgate_url_decoded(encoded text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    IF encoded !~ '[%+]' THEN
        RETURN encoded;
    END IF;
    RETURN convert_from(coalesce((
        SELECT string_agg(CASE WHEN part[1] ~ '^%[0-9a-fA-F]{2}$' THEN decode(substr(part[1], 2), 'hex')
            ELSE convert_to(part[1], 'UTF8') END, ''::bytea ORDER BY place)
        FROM regexp_matches(replace(encoded, '+', ' '), '(%[0-9a-fA-F]{2}|[^%]+|%)', 'g')
            WITH ORDINALITY AS found (part, place)), ''), 'UTF8');
EXCEPTION WHEN character_not_in_repertoire THEN
    RETURN encoded;
END $$;

-- True of the query of a list, export or saved view in which one of the subjects is a whole value.
CREATE OR REPLACE FUNCTION hushgate_query_names(query text, subjects text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT coalesce(bool_or(hushgate_url_decoded(split_part(pair, '=', 2)) = ANY(subjects)), false)
    FROM regexp_split_to_table(coalesce(query, ''), '&') AS pair
$$;

CREATE OR REPLACE FUNCTION hushgate_query_reaches(query text, account text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT query !~ '(^|&)account=' OR hushgate_query_names(query, ARRAY[account])
$$;

-- Numbers, addresses and other words that tell one message from the rest: with a digit or @, and not
-- short.
CREATE OR REPLACE FUNCTION hushgate_telling_words(message text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE STRICT SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    RETURN ARRAY(
        SELECT DISTINCT btrim(word, '._+-')
        FROM unnest(regexp_split_to_array(lower(message), '[^\w@.+-]+')) AS word
        WHERE word ~ '[0-9@]' AND length(btrim(word, '._+-')) BETWEEN 6 AND 200);
END $$;

-- True of a query that names one of the subjects, or searches nearly the whole of an erased message or a
-- telling word of one.
CREATE OR REPLACE FUNCTION hushgate_query_finds(erasure uuid, query text, subjects text[]) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    pair text;
    searched text;
    words text[];
BEGIN
    FOREACH pair IN ARRAY string_to_array(coalesce(query, ''), '&') LOOP
        searched := hushgate_url_decoded(split_part(pair, '=', 2));
        IF searched = ANY(subjects) THEN
            RETURN true;
        END IF;
        IF starts_with(pair, 'text=') AND length(searched) > 2 THEN
            words := hushgate_telling_words(searched);
            IF EXISTS (
                SELECT FROM erasure_items i
                WHERE i.erasure_id = erasure AND i.kind = 'word' AND i.value = ANY(words)
            ) OR EXISTS (
                SELECT FROM erasure_items i WHERE i.erasure_id = erasure AND i.kind = 'decision'
                    AND length(i.text) BETWEEN length(searched) AND length(searched) * 5 / 4
                    AND position(lower(searched) in lower(i.text)) > 0
            ) THEN
                RETURN true;
            END IF;
        END IF;
    END LOOP;
    RETURN false;
END $$;

-- Also of a person who has lost all rights: what rights they had is not known.
CREATE OR REPLACE FUNCTION hushgate_has_rights(person uuid, account text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT EXISTS (SELECT FROM person_roles r WHERE r.person_id = person AND r.user_id IN (account, '*'))
        OR NOT EXISTS (SELECT FROM person_roles r WHERE r.person_id = person)
$$;

CREATE OR REPLACE FUNCTION hushgate_leaf_names(detail jsonb, subjects text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT EXISTS (SELECT FROM jsonb_path_query(detail, 'strict $.**') AS leaf
                   WHERE jsonb_typeof(leaf) NOT IN ('object', 'array') AND leaf #>> '{}' = ANY(subjects))
$$;

-- Lines about holds and erasures stay: they name no person, and say what was done with the data of others.
CREATE OR REPLACE FUNCTION hushgate_line_is_of(line access_log, account text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT line.action NOT IN ('hold', 'erasure') AND NOT line.detail ? 'erased'
        AND CASE WHEN line.user_id IS NOT NULL THEN line.user_id = account
            ELSE hushgate_query_reaches(coalesce(line.detail ->> 'query', ''), account)
                AND hushgate_has_rights(line.person_id, account) END
$$;

CREATE OR REPLACE FUNCTION hushgate_erase_filters(erasure uuid, account text, subjects text[]) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    counts jsonb;
    oldest timestamptz;
    ended uuid[];
    gone bigint;
BEGIN
    SELECT min(value::timestamptz) INTO oldest FROM erasure_items
    WHERE erasure_id = erasure AND kind = 'exports';
    DELETE FROM erasure_items WHERE erasure_id = erasure AND kind = 'exports';
    LOCK TABLE jobs IN SHARE ROW EXCLUSIVE MODE;
    SELECT coalesce(array_agg(j.id), '{}') INTO ended FROM jobs j
    WHERE j.kind = 'export' AND j.created_at >= oldest
        AND hushgate_query_reaches(coalesce(j.params ->> 'query', ''), account);
    UPDATE jobs j SET state = 'failed', finished_at = coalesce(j.finished_at, now()),
        error = 'A decision that this export may contain was erased. Request the export again.'
    WHERE j.id = ANY(ended) AND j.state IN ('running', 'done');
    DELETE FROM job_parts p WHERE p.job_id = ANY(ended);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := jsonb_build_object('job_parts', gone);
    UPDATE jobs j SET params = j.params || '{"query": ""}' || CASE WHEN j.params ? 'note'
            THEN '{"note": ""}'::jsonb ELSE '{}' END,
        error = CASE WHEN j.finished_at IS NULL THEN 'What it was about was erased.' ELSE j.error END,
        state = CASE WHEN j.finished_at IS NULL THEN 'failed' ELSE j.state END,
        finished_at = coalesce(j.finished_at, now())
    WHERE hushgate_query_reaches(j.params ->> 'query', account) AND hushgate_has_rights(j.person_id, account)
        AND hushgate_query_finds(erasure, j.params ->> 'query', subjects);
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := counts || jsonb_build_object('jobs', gone);
    DELETE FROM saved_views v
    WHERE hushgate_query_reaches(v.query, account) AND hushgate_has_rights(v.person_id, account)
        AND hushgate_query_finds(erasure, v.query, subjects);
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN counts || jsonb_build_object('saved_views', gone);
END $$;

-- One step: the next lines of the access log. The last step also looks at the few jobs and saved views.
CREATE OR REPLACE FUNCTION hushgate_erase_queries(
    erasure uuid, most integer, OUT counts jsonb, OUT finished boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
SET hushgate.erasing = on SET hushgate.sweeping = on AS $$
DECLARE
    e erasures%ROWTYPE;
    subjects text[];
    seen bigint;
    last_line bigint;
    gone bigint;
BEGIN
    SELECT * INTO e FROM erasures WHERE id = erasure AND confirmed_at IS NOT NULL
        AND phase IN ('queries', 'queries_again') FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'erasure %: expected one that erases queries now', erasure;
    END IF;
    PERFORM set_config('hushgate.erasure', erasure::text, true);
    SELECT coalesce(array_agg(value), '{}') || e.subject INTO subjects
    FROM erasure_items WHERE erasure_id = erasure AND kind = 'conversation';
    SELECT count(*), max(id) INTO seen, last_line FROM (
        SELECT l.id FROM access_log l WHERE l.id > coalesce(e.position_line, 0)
        ORDER BY l.id LIMIT most) AS next;
    WITH lines AS MATERIALIZED (
        SELECT l.id, l.user_id, l.detail, l.detail ->> 'query' AS query FROM access_log l
        WHERE l.id > coalesce(e.position_line, 0) AND l.id <= last_line
            AND (l.user_id = e.user_id OR l.user_id IS NULL) AND hushgate_line_is_of(l, e.user_id)
    ), finding AS MATERIALIZED (
        SELECT query FROM (SELECT DISTINCT query FROM lines WHERE query <> '') AS each
        WHERE hushgate_query_finds(erasure, query, subjects)
    )
    UPDATE access_log l SET detail = '{"erased": true}' FROM lines
    WHERE l.id = lines.id AND (lines.query IN (SELECT query FROM finding)
        OR hushgate_leaf_names(lines.detail, subjects)
        OR e.kind = 'account' AND lines.user_id = e.user_id AND lines.detail ?| '{query,conversation}');
    GET DIAGNOSTICS gone = ROW_COUNT;
    counts := jsonb_build_object('access_log', gone);
    finished := seen < most;
    IF finished THEN
        counts := counts || hushgate_erase_filters(erasure, e.user_id, subjects);
    END IF;
    UPDATE erasures SET position_line = coalesce(last_line, position_line), alive_at = now(),
        erased = hushgate_added(erased, counts), phase_done = phase_done OR finished WHERE id = erasure;
END $$;
