-- Which rows a legal hold covers.

-- The time inside a UUIDv7.
CREATE OR REPLACE FUNCTION hushgate_uuid_time(id uuid) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT to_timestamp(
        ('x' || lpad(left(replace(id::text, '-', ''), 12), 16, '0'))::bit(64)::bigint / 1000.0)
$$;

-- The ways in which JSON may write a text, with its quotes.
CREATE OR REPLACE FUNCTION hushgate_json_forms(subject text) RETURNS bytea[]
LANGUAGE plpgsql IMMUTABLE STRICT SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    whole text := to_json(subject)::text;
    escaped text := '';
    each text;
    code integer;
BEGIN
    FOREACH each IN ARRAY string_to_array(whole, NULL) LOOP
        code := ascii(each);
        escaped := escaped || CASE
            WHEN code < 128 THEN each
            WHEN code < 65536 THEN '\u' || lpad(to_hex(code), 4, '0')
            ELSE '\u' || to_hex(55296 + ((code - 65536) >> 10))
                 || '\u' || to_hex(56320 + ((code - 65536) & 1023)) END;
    END LOOP;
    RETURN ARRAY[convert_to(whole, 'UTF8'), convert_to(escaped, 'UTF8')];
END $$;

CREATE OR REPLACE FUNCTION hushgate_in_payload(payload bytea, subject text) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT coalesce(bool_or(position(form in payload) > 0), false)
    FROM unnest(hushgate_json_forms(subject)) AS form
$$;

-- True of a row that a hold in force covers. A person's answer belongs to the decision that it answers.
CREATE OR REPLACE FUNCTION hushgate_is_held(
    account text, decision uuid, conversation text, author text) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    subject_id uuid := decision;
    found record;
BEGIN
    IF NOT EXISTS (SELECT FROM legal_holds h WHERE h.user_id = account AND h.released_at IS NULL
                   AND (h.until IS NULL OR h.until > now())) THEN
        RETURN false;
    END IF;
    SELECT coalesce((SELECT a.decision_id FROM answers a WHERE a.id = decision), decision)
        INTO subject_id;
    SELECT d.conversation_id, d.author_id INTO found FROM ai_decisions d
    WHERE d.id = subject_id AND d.user_id = account
        AND d.created_at BETWEEN hushgate_uuid_time(subject_id) - interval '2 milliseconds'
                             AND hushgate_uuid_time(subject_id) + interval '2 milliseconds';
    RETURN EXISTS (
        SELECT FROM legal_holds h
        WHERE h.user_id = account AND h.released_at IS NULL AND (h.until IS NULL OR h.until > now())
            AND CASE h.kind
                WHEN 'decision' THEN h.subject = subject_id::text
                WHEN 'conversation' THEN
                    h.subject IN (nullif(conversation, ''), nullif(found.conversation_id, ''))
                ELSE h.subject IN (nullif(author, ''), nullif(found.author_id, '')) END);
END $$;

CREATE OR REPLACE FUNCTION hushgate_event_is_held(account text, conversation text, body jsonb) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    decision uuid;
BEGIN
    IF body ->> 'decision_id' ~ '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$' THEN
        decision := body ->> 'decision_id';
    END IF;
    RETURN hushgate_is_held(account, decision, conversation, body ->> 'author_id');
END $$;

-- True of a payload that names what a hold covers; a dead letter has no columns for it.
CREATE OR REPLACE FUNCTION hushgate_payload_is_held(payload bytea) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM legal_holds h
        WHERE h.kind <> 'decision' AND h.released_at IS NULL AND (h.until IS NULL OR h.until > now())
            AND hushgate_in_payload(payload, h.user_id) AND hushgate_in_payload(payload, h.subject))
$$;
