-- Outgoing events and webhook endpoints.

CREATE OR REPLACE FUNCTION hushgate_store_event(
    account text, conversation text, event_type text, event_key text, content jsonb, moment timestamptz)
RETURNS bigint
LANGUAGE sql SET search_path = pg_catalog, {schema}, pg_temp AS $$
    INSERT INTO outgoing_events (
        user_id, conversation_id, type, key, body, created_at, streamed_at)
    VALUES (account, conversation, event_type, event_key, content, moment, moment)
    ON CONFLICT (user_id, type, key) DO NOTHING RETURNING id
$$;

CREATE OR REPLACE FUNCTION hushgate_rotate_secret(
    endpoint uuid, new_secret text, hint text, until timestamptz) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    UPDATE webhook_endpoints
    SET old_secret = secret, old_secret_until = until, secret = new_secret, secret_hint = hint
    WHERE id = endpoint
$$;
