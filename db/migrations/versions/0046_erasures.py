"""Erasure of authors, conversations and accounts, in steps, with a tombstone for each decision.

Law: as 0001. Only a worker of this release calls the functions, and each works for a confirmed request only.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0046"
down_revision: str | Sequence[str] | None = "0045"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
PATH = "SET search_path = pg_catalog, {schema}, pg_temp"
DEFINER = "SECURITY DEFINER {path} SET hushgate.erasing = 'on' SET hushgate.sweeping = 'on'"

TOMBSTONE = """
    CREATE FUNCTION {schema}.hushgate_tombstone(snapshot jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE STRICT {path} AS $$
        SELECT (SELECT coalesce(jsonb_object_agg(part.key, part.value), '{{}}') FROM jsonb_each(snapshot) AS part
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
                    'intended_action'))) ELSE '{{}}' END
    $$
"""
URL_DECODED = """
    CREATE FUNCTION {schema}.hushgate_url_decoded(encoded text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT {path} AS $$
    BEGIN
        IF encoded !~ '[%+]' THEN
            RETURN encoded;
        END IF;
        RETURN convert_from(coalesce((
            SELECT string_agg(CASE WHEN part[1] ~ '^%[0-9a-fA-F]{{2}}$' THEN decode(substr(part[1], 2), 'hex')
                ELSE convert_to(part[1], 'UTF8') END, ''::bytea ORDER BY place)
            FROM regexp_matches(replace(encoded, '+', ' '), '(%[0-9a-fA-F]{{2}}|[^%]+|%)', 'g')
                WITH ORDINALITY AS found (part, place)), ''), 'UTF8');
    EXCEPTION WHEN character_not_in_repertoire THEN
        RETURN encoded;
    END $$
"""
# True of the query of a list, export or saved view in which one of the subjects is a whole value.
QUERY_NAMES = """
    CREATE FUNCTION {schema}.hushgate_query_names(query text, subjects text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE {path} AS $$
        SELECT coalesce(bool_or(hushgate_url_decoded(split_part(pair, '=', 2)) = ANY(subjects)), false)
        FROM regexp_split_to_table(coalesce(query, ''), '&') AS pair
    $$
"""
# Numbers, addresses and other words that tell one message from the rest: with a digit or @, and not short.
TELLING_WORDS = """
    CREATE FUNCTION {schema}.hushgate_telling_words(message text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE STRICT {path} AS $$
    BEGIN
        RETURN ARRAY(
            SELECT DISTINCT btrim(word, '._+-')
            FROM unnest(regexp_split_to_array(lower(message), '[^\\w@.+-]+')) AS word
            WHERE word ~ '[0-9@]' AND length(btrim(word, '._+-')) BETWEEN 6 AND 200);
    END $$
"""
# True of a query that names one of the subjects, or searches nearly the whole of an erased message or a telling
# word of one.
QUERY_FINDS = """
    CREATE FUNCTION {schema}.hushgate_query_finds(erasure uuid, query text, subjects text[]) RETURNS boolean
    LANGUAGE plpgsql STABLE {path} AS $$
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
    END $$
"""
# Also of a person who has lost all rights: what rights they had is not known.
HAS_RIGHTS = """
    CREATE FUNCTION {schema}.hushgate_has_rights(person uuid, account text) RETURNS boolean
    LANGUAGE sql STABLE {path} AS $$
        SELECT EXISTS (SELECT FROM person_roles r WHERE r.person_id = person AND r.user_id IN (account, '*'))
            OR NOT EXISTS (SELECT FROM person_roles r WHERE r.person_id = person)
    $$
"""
# Lines about holds and erasures name no person, and say what was done with the data of others: they stay.
LINE_IS_OF = """
    CREATE FUNCTION {schema}.hushgate_line_is_of(line access_log, account text) RETURNS boolean
    LANGUAGE sql STABLE {path} AS $$
        SELECT line.action NOT IN ('hold', 'erasure') AND NOT line.detail ? 'erased'
            AND CASE WHEN line.user_id IS NOT NULL THEN line.user_id = account
                ELSE hushgate_query_reaches(coalesce(line.detail ->> 'query', ''), account)
                    AND hushgate_has_rights(line.person_id, account) END
    $$
"""
LEAF_NAMES = """
    CREATE FUNCTION {schema}.hushgate_leaf_names(detail jsonb, subjects text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE {path} AS $$
        SELECT EXISTS (SELECT FROM jsonb_path_query(detail, 'strict $.**') AS leaf
                       WHERE jsonb_typeof(leaf) NOT IN ('object', 'array') AND leaf #>> '{{}}' = ANY(subjects))
    $$
"""
# True of a dead letter of the account whose field has the value; a payload that is no JSON names it in quotes.
PAYLOAD_NAMES = """
    CREATE FUNCTION {schema}.hushgate_payload_names(payload bytea, account text, field text, subject text)
    RETURNS boolean LANGUAGE plpgsql IMMUTABLE {path} AS $$
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
    END $$
"""
ADDED = """
    CREATE FUNCTION {schema}.hushgate_added(before jsonb, more jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE {path} AS $$
        SELECT coalesce(jsonb_object_agg(key, total), '{{}}') FROM (
            SELECT key, sum(value::bigint) AS total
            FROM (SELECT * FROM jsonb_each_text(before) UNION ALL SELECT * FROM jsonb_each_text(more)) AS each
            GROUP BY key HAVING sum(value::bigint) > 0) AS summed
    $$
"""
# The decisions that an erasure is about, without those already erased; with their conversations, and whether
# a conversation has no other customer, so that all of it goes.
SCOPE = """
    CREATE FUNCTION {schema}.hushgate_erasure_scope(erasure uuid)
    RETURNS TABLE (decision_id uuid, conversation_id text, whole boolean, held boolean)
    LANGUAGE sql STABLE SECURITY DEFINER {path} AS $$
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
    $$
"""
SOLE_CUSTOMER = """
    CREATE FUNCTION {schema}.hushgate_sole_customer(account text, conversation text, author text)
    RETURNS boolean LANGUAGE sql STABLE {path} AS $$
        SELECT conversation <> '' AND NOT EXISTS (
            SELECT FROM ai_decisions d WHERE d.user_id = account AND d.conversation_id = conversation
                AND d.author_id NOT IN (author, '') AND d.reason_code <> 'AGENT_MESSAGE')
    $$
"""
PREVIEW = """
    CREATE FUNCTION {schema}.hushgate_preview_erasure(erasure uuid) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER {path} AS $$
    DECLARE
        e erasures%ROWTYPE;
        ids uuid[];
        held_decisions bigint;
        conversations text[];
        counts jsonb;
        name text;
        found bigint;
    BEGIN
        SELECT * INTO STRICT e FROM erasures WHERE id = erasure AND finished_at IS NULL;
        SELECT coalesce(array_agg(decision_id) FILTER (WHERE NOT held), '{{}}'), count(*) FILTER (WHERE held),
               coalesce(array_agg(DISTINCT s.conversation_id) FILTER (WHERE whole AND NOT held), '{{}}')
            INTO ids, held_decisions, conversations FROM hushgate_erasure_scope(erasure) s;
        counts := jsonb_build_object('ai_decisions', cardinality(ids), 'held', held_decisions);
        ids := ids || ARRAY(SELECT a.id FROM answers a WHERE a.decision_id = ANY(ids));
        FOREACH name IN ARRAY ARRAY['messages', 'quarantine', 'held_drafts', 'outbox', 'escalations', 'answers',
                                    'retractions', 'decision_reviews', 'golden_items'] LOOP
            EXECUTE format('SELECT count(*) FROM %I t WHERE t.user_id = $1 AND t.decision_id = ANY($2)', name)
                INTO found USING e.user_id, ids;
            counts := counts || jsonb_build_object(name, found);
        END LOOP;
        SELECT counts || jsonb_build_object('outgoing_events', count(*)) INTO counts FROM outgoing_events o
        WHERE o.user_id = e.user_id AND (o.conversation_id = ANY(conversations)
            OR o.key = ANY(ids::text[]) OR o.body ->> 'decision_id' = ANY(ids::text[]));
        SELECT counts || jsonb_build_object('conversations', count(*)) INTO counts FROM conversations c
        WHERE c.user_id = e.user_id AND c.conversation_id = ANY(conversations);
        SELECT counts || jsonb_build_object('dead_letters', count(*)) INTO counts FROM dead_letters l
        WHERE l.raw <> '' AND hushgate_payload_names(l.raw, e.user_id, hushgate_erasure_field(e.kind), e.subject);
        SELECT counts || jsonb_build_object('access_log', count(*)) INTO counts FROM access_log l
        WHERE (l.user_id = e.user_id OR l.user_id IS NULL) AND hushgate_line_is_of(l, e.user_id)
            AND (e.kind = 'account' AND l.user_id = e.user_id AND l.detail ?| '{{query,conversation}}'
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
    END $$
"""
FIELD = """
    CREATE FUNCTION {schema}.hushgate_erasure_field(kind text) RETURNS text LANGUAGE sql IMMUTABLE {path} AS $$
        SELECT CASE kind WHEN 'author' THEN 'author_id' WHEN 'conversation' THEN 'conversation_id' END
    $$
"""
BEGIN = """
    CREATE FUNCTION {schema}.hushgate_begin_erasure(erasure uuid, newest_entry text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
    BEGIN
        UPDATE erasures SET phase = 'decisions', started_at = clock_timestamp(), until_entry = newest_entry,
            alive_at = now()
        WHERE id = erasure AND confirmed_at IS NOT NULL AND phase = 'previewed';
        IF NOT FOUND THEN
            RAISE EXCEPTION 'erasure %: expected one that is confirmed and not begun', erasure;
        END IF;
        INSERT INTO erasure_items (erasure_id, kind, value)
        SELECT id, 'conversation', subject FROM erasures WHERE id = erasure AND kind = 'conversation';
    END $$
"""
# Entry ids are pairs of numbers with the mark of their shard; one that is none counts by its decision's time
# alone. Newest names each shard of its time: of a shard that came later, every entry counts.
ENTRY_UNTIL = """
    CREATE FUNCTION {schema}.hushgate_entry_until(entry text, newest text) RETURNS boolean
    LANGUAGE sql IMMUTABLE {path} AS $$
        SELECT CASE WHEN entry ~ '^[0-9]+-[0-9]+(@[0-9]+/[0-9]+)?$' AND newest IS NOT NULL THEN coalesce((
            SELECT string_to_array(split_part(entry, '@', 1), '-')::numeric[]
                <= string_to_array(split_part(one, '@', 1), '-')::numeric[]
            FROM regexp_split_to_table(newest, ' ') AS one
            WHERE split_part(one, '@', 2) = split_part(entry, '@', 2)), true)
            ELSE false END
    $$
"""
# Everything beside the decision's own row that belongs to these decisions and answers. Safe to repeat.
COPIES = """
    CREATE FUNCTION {schema}.hushgate_erase_copies(account text, decisions uuid[], conversations text[])
    RETURNS jsonb LANGUAGE plpgsql {path} AS $$
    DECLARE
        counts jsonb := '{{}}';
        ids uuid[];
        places text[];
        gone bigint;
    BEGIN
        SELECT decisions || coalesce(array_agg(a.id), '{{}}'), conversations || coalesce(
            array_agg(DISTINCT a.conversation_id) FILTER (WHERE a.conversation_id <> ''), '{{}}')
            INTO ids, places FROM answers a WHERE a.decision_id = ANY(decisions);
        DELETE FROM quarantine t WHERE t.decision_id = ANY(ids);
        GET DIAGNOSTICS gone = ROW_COUNT;
        counts := counts || jsonb_build_object('quarantine', gone);
        DELETE FROM held_drafts t WHERE t.decision_id = ANY(ids);
        GET DIAGNOSTICS gone = ROW_COUNT;
        counts := counts || jsonb_build_object('held_drafts', gone);
        UPDATE decision_reviews t SET note = '' WHERE t.decision_id = ANY(ids) AND t.note <> '';
        GET DIAGNOSTICS gone = ROW_COUNT;
        counts := counts || jsonb_build_object('decision_reviews', gone);
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
        UPDATE answers t SET conversation_id = '', message_id = '', draft = NULL, checks = '{{}}',
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
    END $$
"""
# One step: the next decisions become tombstones, and their copies go. A held decision stays as it is.
ERASE_DECISIONS = """
    CREATE FUNCTION {schema}.hushgate_erase_decisions(
        erasure uuid, most integer, OUT counts jsonb, OUT finished boolean)
    LANGUAGE plpgsql {definer} AS $$
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
            SELECT count(*), coalesce(array_agg(id) FILTER (WHERE due), '{{}}'),
                coalesce(array_agg(DISTINCT conversation_id) FILTER (WHERE due), '{{}}'),
                coalesce(array_agg(message_text) FILTER (WHERE due), '{{}}'), min(created_at) FILTER (WHERE due),
                max(created_at), (array_agg(id ORDER BY created_at DESC, id DESC))[1]
            FROM looked $sql$, which)
        INTO seen, ids, places, texts, oldest, last_at, last_id
        USING erasure, e.user_id, e.subject, e.started_at, coalesce(e.position_at, '-infinity'),
            coalesce(e.position_id, '00000000-0000-0000-0000-000000000000'), most, e.until_entry;
        finished := seen < most;
        counts := '{{}}';
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
            counts := counts || hushgate_erase_copies(e.user_id, ids, places);
        END IF;
        UPDATE erasures SET position_at = coalesce(last_at, position_at), alive_at = now(),
            position_id = coalesce(last_id, position_id), erased = hushgate_added(erased, counts),
            phase_done = phase_done OR finished
        WHERE id = erasure;
    END $$
"""
# One step: the next lines of the access log. The last step also looks at jobs and saved views, which are few.
ERASE_QUERIES = """
    CREATE FUNCTION {schema}.hushgate_erase_queries(
        erasure uuid, most integer, OUT counts jsonb, OUT finished boolean)
    LANGUAGE plpgsql {definer} AS $$
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
        SELECT coalesce(array_agg(value), '{{}}') || e.subject INTO subjects
        FROM erasure_items WHERE erasure_id = erasure AND kind = 'conversation';
        SELECT count(*), max(id) INTO seen, last_line FROM (
            SELECT l.id FROM access_log l WHERE l.id > coalesce(e.position_line, 0) ORDER BY l.id LIMIT most) AS next;
        WITH lines AS MATERIALIZED (
            SELECT l.id, l.user_id, l.detail, l.detail ->> 'query' AS query FROM access_log l
            WHERE l.id > coalesce(e.position_line, 0) AND l.id <= last_line
                AND (l.user_id = e.user_id OR l.user_id IS NULL) AND hushgate_line_is_of(l, e.user_id)
        ), finding AS MATERIALIZED (
            SELECT query FROM (SELECT DISTINCT query FROM lines WHERE query <> '') AS each
            WHERE hushgate_query_finds(erasure, query, subjects)
        )
        UPDATE access_log l SET detail = '{{"erased": true}}' FROM lines
        WHERE l.id = lines.id AND (lines.query IN (SELECT query FROM finding)
            OR hushgate_leaf_names(lines.detail, subjects)
            OR e.kind = 'account' AND lines.user_id = e.user_id AND lines.detail ?| '{{query,conversation}}');
        GET DIAGNOSTICS gone = ROW_COUNT;
        counts := jsonb_build_object('access_log', gone);
        finished := seen < most;
        IF finished THEN
            counts := counts || hushgate_erase_filters(erasure, e.user_id, subjects);
        END IF;
        UPDATE erasures SET position_line = coalesce(last_line, position_line), alive_at = now(),
            erased = hushgate_added(erased, counts), phase_done = phase_done OR finished WHERE id = erasure;
    END $$
"""
# The decisions are erased by now: an export that starts later cannot contain them.
ERASE_FILTERS = """
    CREATE FUNCTION {schema}.hushgate_erase_filters(erasure uuid, account text, subjects text[]) RETURNS jsonb
    LANGUAGE plpgsql {path} AS $$
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
        SELECT coalesce(array_agg(j.id), '{{}}') INTO ended FROM jobs j
        WHERE j.kind = 'export' AND j.created_at >= oldest
            AND hushgate_query_reaches(coalesce(j.params ->> 'query', ''), account);
        UPDATE jobs j SET state = 'failed', finished_at = coalesce(j.finished_at, now()),
            error = 'A decision that this export may contain was erased. Request the export again.'
        WHERE j.id = ANY(ended) AND j.state IN ('running', 'done');
        DELETE FROM job_parts p WHERE p.job_id = ANY(ended);
        GET DIAGNOSTICS gone = ROW_COUNT;
        counts := jsonb_build_object('job_parts', gone);
        UPDATE jobs j SET params = j.params || '{{"query": ""}}' || CASE WHEN j.params ? 'note'
                THEN '{{"note": ""}}'::jsonb ELSE '{{}}' END,
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
    END $$
"""
QUERY_REACHES = """
    CREATE FUNCTION {schema}.hushgate_query_reaches(query text, account text) RETURNS boolean
    LANGUAGE sql IMMUTABLE {path} AS $$
        SELECT query !~ '(^|&)account=' OR hushgate_query_names(query, ARRAY[account])
    $$
"""
# The copies of decisions that are tombstones already: a person may have answered one meanwhile.
ERASE_AGAIN = """
    CREATE FUNCTION {schema}.hushgate_erase_again(
        erasure uuid, most integer, OUT counts jsonb, OUT finished boolean)
    LANGUAGE plpgsql {definer} AS $$
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
        SELECT coalesce(array_agg(value::uuid ORDER BY value), '{{}}') INTO ids FROM (
            SELECT i.value FROM erasure_items i WHERE i.erasure_id = erasure AND i.kind = 'decision'
                AND i.value > coalesce(e.position_id::text, '') ORDER BY i.value LIMIT most) AS next;
        INSERT INTO erasure_items SELECT erasure, 'answer', a.id::text FROM answers a
            WHERE a.decision_id = ANY(ids) ON CONFLICT DO NOTHING;
        counts := hushgate_erase_copies(e.user_id, ids, '{{}}');
        finished := cardinality(ids) < most;
        UPDATE erasures SET position_id = coalesce(ids[cardinality(ids)], position_id), alive_at = now(),
            erased = hushgate_added(erased, counts), phase_done = phase_done OR finished WHERE id = erasure;
    END $$
"""
ERASE_ROWS = """
    CREATE FUNCTION {schema}.hushgate_erase_rows(erasure uuid) RETURNS jsonb LANGUAGE plpgsql {definer} AS $$
    DECLARE
        e erasures%ROWTYPE;
        ids text[];
        places text[];
        left_over uuid[];
        counts jsonb := '{{}}';
        gone bigint;
    BEGIN
        SELECT * INTO e FROM erasures WHERE id = erasure AND confirmed_at IS NOT NULL
            AND phase IN ('rows', 'rows_again') FOR UPDATE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'erasure %: expected one that erases rows now', erasure;
        END IF;
        PERFORM set_config('hushgate.erasure', erasure::text, true);
        SELECT coalesce(array_agg(value) FILTER (WHERE kind IN ('decision', 'answer')), '{{}}'),
               coalesce(array_agg(value) FILTER (WHERE kind = 'conversation'), '{{}}')
            INTO ids, places FROM erasure_items WHERE erasure_id = erasure;
        -- rows whose decision retention has deleted
        SELECT coalesce(array_agg(DISTINCT r.decision_id), '{{}}') INTO left_over FROM (
            SELECT user_id, decision_id, conversation_id, created_at, NULL AS author_id FROM messages
            UNION ALL SELECT user_id, decision_id, conversation_id, created_at, NULL FROM quarantine
            UNION ALL SELECT user_id, decision_id, conversation_id, created_at, NULL FROM held_drafts
            UNION ALL SELECT user_id, decision_id, conversation_id, created_at, NULL FROM outbox
            UNION ALL SELECT user_id, decision_id, conversation_id, created_at, NULL FROM answers
            UNION ALL SELECT user_id, decision_id, conversation_id, created_at, NULL FROM retractions
            UNION ALL SELECT user_id, decision_id, conversation_id, opened_at, author_id FROM escalations
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
        -- relays wait from here on
        counts := counts || hushgate_erase_copies(e.user_id, left_over, ARRAY(
            SELECT DISTINCT m.conversation_id FROM messages m
            WHERE m.user_id = e.user_id AND m.decision_id = ANY(left_over)
            UNION SELECT o.conversation_id FROM outbox o
            WHERE o.user_id = e.user_id AND o.decision_id = ANY(left_over)));
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
    END $$
"""
# A reason without ids; one inside a longer word is another id.
WITHOUT = """
    CREATE FUNCTION {schema}.hushgate_without(reason text, subjects text[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE {path} AS $$
    DECLARE
        kept text := reason;
        one text;
    BEGIN
        FOREACH one IN ARRAY subjects LOOP
            IF one <> '' AND position(one in kept) > 0 THEN
                kept := regexp_replace(kept, '(?<![A-Za-z0-9])' || regexp_replace(one, '([^A-Za-z0-9])', '\\\\\\1', 'g')
                    || '(?![A-Za-z0-9])', '...', 'g');
            END IF;
        END LOOP;
        RETURN kept;
    END $$
"""
# What is signed: made from the row only, so that whoever signs can compare it. Names of streams are what the
# worker reported; names of tables are what the functions counted.
RECEIPT = """
    CREATE FUNCTION {schema}.hushgate_erasure_receipt(done erasures) RETURNS jsonb
    LANGUAGE sql IMMUTABLE {path} AS $$
        SELECT jsonb_build_object('version', 1, 'erasure', done.id, 'account', done.user_id, 'kind', done.kind,
            'subject_salt', encode(done.salt, 'hex'), 'subject_sha256', done.subject_hash,
            'requested_by', done.requested_by, 'requested_at', hushgate_utc_text(done.requested_at),
            'confirmed_by', done.confirmed_by, 'confirmed_at', hushgate_utc_text(done.confirmed_at),
            'started_at', hushgate_utc_text(done.started_at), 'finished_at', hushgate_utc_text(done.finished_at),
            'until_entry', done.until_entry, 'erased', done.erased, 'decisions_under_legal_hold', done.held)
    $$
"""
UTC_TEXT = """
    CREATE FUNCTION {schema}.hushgate_utc_text(moment timestamptz) RETURNS text
    LANGUAGE sql IMMUTABLE {path} AS $$
        SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')
    $$
"""
FINISH = """
    CREATE FUNCTION {schema}.hushgate_finish_erasure(erasure uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
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
        SELECT coalesce(array_agg(value), '{{}}') INTO places
        FROM erasure_items WHERE erasure_id = erasure AND kind = 'conversation';
        subjects := places || CASE done.kind WHEN 'account' THEN '{{}}' ELSE ARRAY[done.subject] END;
        UPDATE erasures e SET held = (SELECT count(*) FROM hushgate_erasure_scope(erasure) s WHERE s.held)
        WHERE e.id = erasure;
        UPDATE erasures e SET phase = 'finished', finished_at = now(), subject = NULL, preview = NULL
        WHERE e.id = erasure;
        UPDATE erasures e SET receipt = hushgate_erasure_receipt(e) WHERE e.id = erasure;
        -- one that is confirmed goes on, for messages since, and forgets its subject at its own end
        UPDATE erasures e SET phase = 'cancelled', finished_at = now(), subject = NULL, preview = NULL,
            reason = CASE e.kind WHEN 'account' THEN e.reason ELSE hushgate_without(e.reason, ARRAY[e.subject]) END
        WHERE e.user_id = done.user_id AND e.finished_at IS NULL AND e.confirmed_at IS NULL
            AND (done.kind = 'account' OR e.kind = done.kind AND e.subject = done.subject
                OR e.kind = 'conversation' AND e.subject = ANY(places));
        UPDATE erasures e SET reason = hushgate_without(e.reason, subjects)
        WHERE e.user_id = done.user_id AND e.reason <> hushgate_without(e.reason, subjects);
        UPDATE legal_holds h SET reason = hushgate_without(h.reason, subjects)
        WHERE h.user_id = done.user_id AND h.reason <> hushgate_without(h.reason, subjects)
            AND NOT (h.subject = ANY(subjects) AND h.released_at IS NULL AND (h.until IS NULL OR h.until > now()));
        DELETE FROM erasure_items WHERE erasure_id = erasure;
    END $$
"""
# People ask for an erasure and confirm it; salt, hash and times are made here.
REQUEST = """
    CREATE FUNCTION {schema}.hushgate_request_erasure(
        erasure uuid, account text, kind text, subject text, reason text, requested_by text)
    RETURNS SETOF erasures LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
    DECLARE
        salt CONSTANT bytea := uuid_send(gen_random_uuid());
    BEGIN
        RETURN QUERY INSERT INTO erasures AS e (id, user_id, kind, subject, salt, subject_hash, reason, requested_by)
        VALUES (erasure, account, hushgate_request_erasure.kind, hushgate_request_erasure.subject, salt,
            encode(sha256(salt || convert_to(hushgate_request_erasure.subject, 'UTF8')), 'hex'),
            hushgate_request_erasure.reason, hushgate_request_erasure.requested_by)
        RETURNING e.*;
    END $$
"""
CONFIRM = """
    CREATE FUNCTION {schema}.hushgate_confirm_erasure(erasure uuid, person text) RETURNS SETOF erasures
    LANGUAGE sql SECURITY DEFINER {path} AS $$
        UPDATE erasures e SET confirmed_at = clock_timestamp(), confirmed_by = person
        WHERE e.id = erasure AND e.phase = 'previewed' AND e.confirmed_at IS NULL AND person <> '' RETURNING e.*
    $$
"""
CANCEL = """
    CREATE FUNCTION {schema}.hushgate_cancel_erasure(erasure uuid) RETURNS SETOF erasures
    LANGUAGE sql SECURITY DEFINER {path} AS $$
        UPDATE erasures e SET phase = 'cancelled', finished_at = now(), subject = NULL
        WHERE e.id = erasure AND e.confirmed_at IS NULL AND e.phase IN ('requested', 'previewed') RETURNING e.*
    $$
"""
# Counts of streams, which no function here can count: never under the name of a table.
STREAM_COUNTS = """
    CREATE FUNCTION {schema}.hushgate_stream_counts(entries jsonb) RETURNS jsonb
    LANGUAGE sql STABLE {path} AS $$
        SELECT coalesce(jsonb_object_agg(key, greatest(0, least(value::bigint, 1000000000000))), '{{}}')
        FROM jsonb_each_text(entries) AS each
        WHERE key <> 'held' AND value ~ '^[0-9]{{1,13}}$' AND NOT EXISTS (
            SELECT FROM pg_class c WHERE c.relname = key AND c.relnamespace = '{schema}'::regnamespace)
    $$
"""
ADD_STREAM_COUNTS = """
    CREATE FUNCTION {schema}.hushgate_add_stream_counts(erasure uuid, entries jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
    BEGIN
        UPDATE erasures SET erased = hushgate_added(erased, hushgate_stream_counts(entries)), alive_at = now(),
            phase_done = true
        WHERE id = erasure AND confirmed_at IS NOT NULL AND phase IN ('streams', 'streams_again');
        IF NOT FOUND THEN
            RAISE EXCEPTION 'erasure %: expected one that erases entries of streams now', erasure;
        END IF;
    END $$
"""
STORE_PREVIEW = """
    CREATE FUNCTION {schema}.hushgate_store_preview(erasure uuid, entries jsonb) RETURNS void
    LANGUAGE sql SECURITY DEFINER {path} AS $$
        UPDATE erasures SET preview = hushgate_stream_counts(entries) || hushgate_preview_erasure(erasure),
            phase = 'previewed', alive_at = NULL
        WHERE id = erasure AND phase = 'requested'
    $$
"""
# The next phase in order, once the functions have done the work of this one; nobody can count what waits in a
# stream, so `waiting` ends by the worker's word.
NEXT_PHASE = """
    CREATE FUNCTION {schema}.hushgate_next_erasure_phase(erasure uuid, before text) RETURNS SETOF erasures
    LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
    DECLARE
        phases CONSTANT text[] := '{phases}';
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
    END $$
"""
SIGN = """
    CREATE FUNCTION {schema}.hushgate_sign_erasure(erasure uuid, signature text) RETURNS void
    LANGUAGE sql SECURITY DEFINER {path} AS $$
        UPDATE erasures e SET signature = hushgate_sign_erasure.signature
        WHERE e.id = erasure AND e.phase = 'finished' AND e.signature IS NULL
    $$
"""
FUNCTIONS = (
    TOMBSTONE, URL_DECODED, QUERY_NAMES, QUERY_REACHES, TELLING_WORDS, HAS_RIGHTS, LINE_IS_OF, LEAF_NAMES,
    PAYLOAD_NAMES, ADDED, FIELD, SOLE_CUSTOMER, SCOPE, PREVIEW, BEGIN, ENTRY_UNTIL, COPIES, ERASE_DECISIONS,
    ERASE_AGAIN, ERASE_ROWS, QUERY_FINDS, ERASE_FILTERS, ERASE_QUERIES, WITHOUT, UTC_TEXT, RECEIPT, FINISH, REQUEST,
    CONFIRM, CANCEL, STREAM_COUNTS, ADD_STREAM_COUNTS, STORE_PREVIEW, NEXT_PHASE, SIGN,
)  # fmt: skip
CALLED_BY_WORKERS = (
    "hushgate_erasure_scope",
    "hushgate_preview_erasure",
    "hushgate_begin_erasure",
    "hushgate_erase_decisions",
    "hushgate_erase_again",
    "hushgate_erase_rows",
    "hushgate_erase_queries",
    "hushgate_finish_erasure",
    "hushgate_store_preview",
    "hushgate_add_stream_counts",
    "hushgate_next_erasure_phase",
    "hushgate_sign_erasure",
)
CALLED_BY_PEOPLE = ("hushgate_request_erasure", "hushgate_confirm_erasure", "hushgate_cancel_erasure")
PHASES = (
    "requested", "previewed", "decisions", "conversations", "rows", "queries", "streams", "waiting",
    "decisions_again", "conversations_again", "copies_again", "rows_again", "queries_again", "streams_again",
    "finished", "cancelled",
)  # fmt: skip
WORKING = PHASES[PHASES.index("decisions") : PHASES.index("finished")]
GRANTS = (
    "GRANT SELECT ON erasures, erasure_items TO hushgate_worker",
    "GRANT UPDATE (alive_at) ON erasures TO hushgate_worker",
    "GRANT SELECT ON erasures TO hushgate_reviewer",
)


def upgrade() -> None:
    """Add the tables and the functions."""
    _create_erasures()
    op.create_table(
        "erasure_items",
        sa.Column("erasure_id", sa.Uuid(), nullable=False),
        sa.Column(
            "kind", sa.Text(), nullable=False, comment="decision, answer, conversation, word or exports"
        ),
        sa.Column("value", sa.Text(), nullable=False, comment="its id, the word, or a time"),
        sa.Column("text", sa.Text(), comment="message of the decision, to find searches for it"),
        sa.ForeignKeyConstraint(
            ["erasure_id"], ["erasures.id"], name=op.f("fk_erasure_items_erasure_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("erasure_id", "kind", "value", name=op.f("pk_erasure_items")),
        comment="what a running erasure found; deleted at its end",
    )
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    path = PATH.format(schema=schema)
    for function in FUNCTIONS:
        phases = "{" + ",".join(WORKING) + "}"
        op.execute(
            function.format(schema=schema, path=path, definer=DEFINER.format(path=path), phases=phases)
        )
    for function in FUNCTIONS:
        name = function.partition("{schema}.")[2].partition("(")[0]
        op.execute(f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC")
    for role, names in {"hushgate_worker": CALLED_BY_WORKERS, "hushgate_reviewer": CALLED_BY_PEOPLE}.items():
        for name in names:
            op.execute(f"GRANT EXECUTE ON FUNCTION {name} TO {role}")
    for statement in GRANTS:
        op.execute(statement)


def downgrade() -> None:
    """Drop them; tombstones stay."""
    for function in reversed(FUNCTIONS):
        op.execute(f"DROP FUNCTION {function.partition('{schema}.')[2].partition('(')[0]}")
    op.drop_table("erasure_items")
    op.drop_table("erasures")


def _create_erasures() -> None:
    text, known = sa.Text(), ", ".join(f"'{each}'" for each in PHASES)
    op.create_table(
        "erasures",
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUIDv7"),
        sa.Column("user_id", text, nullable=False, comment="the account"),
        sa.Column("kind", text, nullable=False, comment="author, conversation or account"),
        sa.Column("subject", text, comment="the id; null once the job has ended"),
        sa.Column("salt", sa.LargeBinary(), nullable=False, comment="of subject_hash"),
        sa.Column("subject_hash", text, nullable=False, comment="SHA-256 of salt and subject, hex"),
        sa.Column("reason", text, nullable=False, comment="why, in the words of the person"),
        sa.Column("requested_by", text, nullable=False, comment="login, or command line"),
        sa.Column("requested_at", TIME, server_default=sa.func.now(), nullable=False),
        sa.Column("preview", JSONB(), comment="rows per table and stream, and decisions under a hold"),
        sa.Column("confirmed_at", TIME, comment="null: nothing is erased yet"),
        sa.Column("confirmed_by", text),
        sa.Column("started_at", TIME, comment="messages of this time and before are erased"),
        sa.Column("until_entry", text, comment="newest entry of each shard when the job started"),
        sa.Column(
            "phase", text, server_default="requested", nullable=False, comment="a member of ErasurePhase"
        ),
        sa.Column(
            "phase_done",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="the work of the phase is done: the next one may begin",
        ),
        sa.Column("position_at", TIME, comment="created_at of the last decision looked at in this phase"),
        sa.Column("position_id", sa.Uuid(), comment="its id"),
        sa.Column(
            "position_line", sa.BigInteger(), comment="id of the last line of the access log looked at"
        ),
        sa.Column(
            "erased",
            JSONB(),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="rows per table and stream so far",
        ),
        sa.Column("alive_at", TIME, comment="heartbeat of the process that runs it"),
        sa.Column("finished_at", TIME),
        sa.Column("held", sa.BigInteger(), comment="decisions that a legal hold kept, at the end"),
        sa.Column("receipt", JSONB(), comment="what was erased, as it is signed"),
        sa.Column("signature", text, comment="Ed25519 of the receipt, base64; null: no key was configured"),
        sa.CheckConstraint(
            "kind IN ('author', 'conversation', 'account')", name=op.f("ck_erasures_kind_known")
        ),
        sa.CheckConstraint(f"phase IN ({known})", name=op.f("ck_erasures_phase_known")),
        sa.CheckConstraint(
            "num_nulls(confirmed_at, confirmed_by) IN (0, 2)", name=op.f("ck_erasures_confirmed_by_person")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_erasures")),
        comment="requests to erase an author, a conversation or an account, with their receipts",
    )
    op.create_index("ix_erasures_account", "erasures", ["user_id", "requested_at"])
    op.create_index(
        "ix_erasures_open", "erasures", ["requested_at"], postgresql_where=sa.text("finished_at IS NULL")
    )
