-- Drafts that wait for a person.

CREATE OR REPLACE FUNCTION hushgate_expire_held_drafts(
    account text, conversation text, message text, moment timestamptz) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    UPDATE held_drafts h SET expires_at = moment
    FROM ai_decisions d
    WHERE d.user_id = account AND d.conversation_id = conversation AND d.message_id = message
        AND h.decision_id = d.id AND h.expires_at > moment;
    DELETE FROM golden_set_items t
    WHERE t.user_id = account AND t.conversation_id = conversation AND t.recorded_at < moment
        AND NOT hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, t.author_id);
    DELETE FROM shadow_results r USING ai_decisions d
    WHERE d.user_id = account AND d.conversation_id = conversation AND d.created_at < moment
        AND r.decision_id = d.id AND NOT hushgate_is_held(d.user_id, d.id, d.conversation_id, d.author_id);
    DELETE FROM recordings r USING ai_decisions d
    WHERE d.user_id = account AND d.conversation_id = conversation AND d.created_at < moment
        AND r.decision_id = d.id AND NOT hushgate_is_held(d.user_id, d.id, d.conversation_id, d.author_id)
$$;
